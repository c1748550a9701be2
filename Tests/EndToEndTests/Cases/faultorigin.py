#!/usr/bin/env python3
"""Misbehaving origin on 127.0.0.1:PORT (standard library). The path picks the fault:
/ok /big?n=BYTES /bigchunked?n= /trickle?n=&ms= /hang /hangbody /hanghead /reset?n= /short?n=&cl= /halfclose /noread (never reads the request body)
/slowread?ms= /manyheaders?n= /bighdr?n= /1xx?n= /gzipbomb?mb= /flap (closes every second connection) /echo (request head and body length as text)
/etag?v= (304 on match) /vary?h= /cc?v=CACHE-CONTROL (counter in the body) . Bounded: it exits after --life seconds.
With --port 0 the port is a free one; the first line of output is the port."""
import asyncio,struct,socket,sys,urllib.parse,zlib,time,argparse
hits={}
async def h(r,w):
    try:
        head=await r.readuntil(b'\r\n\r\n'); line=head.split(b'\r\n')[0].decode('latin-1').split(' ')
        u=urllib.parse.urlsplit(line[1]); q=dict(urllib.parse.parse_qsl(u.query)); p=u.path; n=int(q.get('n',0)); ms=int(q.get('ms',100))/1000
        hd={k.strip().lower():v.strip() for k,_,v in (l.partition(':') for l in head.decode('latin-1').split('\r\n')[1:] if l)}
        hits[p]=hits.get(p,0)+1
        if p not in('/noread',) and 'content-length' in hd:
            left=int(hd['content-length'])
            while left>0:
                if p=='/slowread': await asyncio.sleep(ms)
                d=await r.read(min(left,65536 if p!='/slowread' else 1024))
                if not d: break
                left-=len(d)
        def out(b): w.write(b)
        def resp(b,extra=b'',st=b'200 OK'): out(b'HTTP/1.1 '+st+b'\r\nContent-Length: %d\r\n'%len(b)+extra+b'\r\n'+(b'' if line[0]=='HEAD' else b))
        if p=='/big':
            out(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n'%n); z=bytes(65536)
            for i in range(0,n,65536): out(z[:min(65536,n-i)]); await w.drain()
        elif p=='/bigchunked':
            out(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
            for i in range(0,n,65536): out(b'10000\r\n'+bytes(65536)+b'\r\n'); await w.drain()
            out(b'0\r\n\r\n')
        elif p=='/trickle':
            out(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n'%n)
            for _ in range(n): out(b'x'); await w.drain(); await asyncio.sleep(ms)
        elif p=='/hang': await asyncio.sleep(3600)
        elif p=='/hanghead': out(b'HTTP/1.1 200 OK\r\nContent-Le'); await w.drain(); await asyncio.sleep(3600)
        elif p=='/hangbody': out(b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello'); await w.drain(); await asyncio.sleep(3600)
        elif p=='/noread': await asyncio.sleep(3600)
        elif p=='/reset':
            out(b'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n'+b'x'*n); await w.drain(); await asyncio.sleep(.05)
            w.get_extra_info('socket').setsockopt(socket.SOL_SOCKET,socket.SO_LINGER,struct.pack('ii',1,0)); w.transport.abort(); return
        elif p=='/short': out(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n'%int(q.get('cl',10))+b'x'*n); await w.drain(); return
        elif p=='/halfclose': out(b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello'); await w.drain(); w.write_eof(); await asyncio.sleep(3600)
        elif p=='/manyheaders': resp(b'ok',b''.join(b'X-%d: v\r\n'%i for i in range(n)))
        elif p=='/bighdr': resp(b'ok',b'X-Big: '+b'a'*n+b'\r\n')
        elif p=='/1xx': out(b'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'*n); resp(b'ok')
        elif p=='/gzipbomb':
            c=zlib.compressobj(9,zlib.DEFLATED,31); b=b''.join(c.compress(bytes(1<<20)) for _ in range(int(q.get('mb',100))))+c.flush(); resp(b,b'Content-Encoding: gzip\r\n')
        elif p=='/flap' and hits[p]%2: return
        elif p=='/etag':
            e=b'"'+q.get('v','1').encode()+b'"'
            if hd.get('if-none-match','').encode()==e: out(b'HTTP/1.1 304 Not Modified\r\nETag: '+e+b'\r\n\r\n')
            else: resp(b'body %d'%hits[p],b'ETag: '+e+b'\r\nCache-Control: max-age=0\r\n')
        elif p=='/vary': resp((hd.get(q.get('h','').lower(),'none')+' %d'%hits[p]).encode(),b'Cache-Control: max-age=60\r\nVary: '+q.get('h','').encode()+b'\r\n')
        elif p=='/cc': resp(b'%d'%hits[p],b'Cache-Control: '+q.get('v','').encode()+b'\r\n'+(b'Set-Cookie: s=%d\r\n'%hits[p] if 'sc' in q else b''))
        elif p=='/echo': resp(head)
        else: resp(b'ok %d'%hits[p],b'X-Origin: 1\r\n')
        await w.drain()
    except (asyncio.IncompleteReadError,ConnectionError,OSError,asyncio.LimitOverrunError): pass
    finally:
        try: w.close()
        except Exception: pass
async def main():
    ap=argparse.ArgumentParser(); ap.add_argument('--port',type=int,default=9002); ap.add_argument('--life',type=float,default=600); a=ap.parse_args()
    s=await asyncio.start_server(h,'127.0.0.1',a.port,limit=1<<20); print(s.sockets[0].getsockname()[1],flush=True)
    try: await asyncio.sleep(a.life)
    finally: s.close()
asyncio.run(main())
