#!/usr/bin/env python3
"""Drives rawcases.jsonl / rawresponses.jsonl at a forward proxy on loopback. Standard library only.
usage: rawdriver.py requests  --proxy 127.0.0.1:8118 [--control 127.0.0.1:8119] [--origin-port 9001 (0: a free one)] [--mode whole|bytes|split] [--only PREFIX] [--out verdicts.jsonl] [--timeout 3]
       rawdriver.py responses --proxy 127.0.0.1:8118 ...
The origin is a strict recorder: it keeps every byte it gets, splits it into messages by strict RFC 9112 grammar, and answers 200 to each complete one.
Invariants checked after EVERY case besides `accept`: I1 the origin saw no request whose target holds 'smuggled' or 'early' or 'evil';
I2 every request at the origin is strictly well formed (CRLF only, no bare CR/LF/NUL, no CL+TE, one Host, token names, DIGIT CL);
I3 the proxy's answer is well formed; I4 a canary GET through the proxy still answers 200 within 2 s."""
import argparse, asyncio, base64, json, re, sys, time
TOK=rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
class Bad(Exception): pass
def parse_strict(buf):
    """-> (list of dict, rest, error)"""
    out=[]
    while buf:
        i=buf.find(b'\r\n\r\n')
        if i<0: return out,buf,('incomplete head' if buf else None)
        head=buf[:i].split(b'\r\n'); buf2=buf[i+4:]
        for l in head:
            if b'\r' in l or b'\n' in l or b'\0' in l: return out,buf,'control byte in head: %r'%l[:80]
        m=re.fullmatch(rb'('+TOK+rb') (\S+) HTTP/1\.([01])',head[0])
        if not m: return out,buf,'bad request line %r'%head[0][:120]
        hs=[]
        for l in head[1:]:
            n=re.fullmatch(rb'('+TOK+rb'):[ \t]*(.*?)[ \t]*',l,re.S)
            if not n: return out,buf,'bad field line %r'%l[:80]
            hs.append((n[1].lower(),n[2]))
        if sum(k==b'host' for k,_ in hs)!=1: return out,buf,'Host count'
        cls=[v for k,v in hs if k==b'content-length']; tes=[v for k,v in hs if k==b'transfer-encoding']
        if cls and tes: return out,buf,'CL and TE'
        if len(cls)>1 or (cls and not cls[0].isdigit()): return out,buf,'bad CL %r'%cls
        body=b''
        if tes:
            if len(tes)>1 or tes[0].lower() not in (b'chunked',b'gzip, chunked'): return out,buf,'bad TE %r'%tes
            b=buf2
            while True:
                j=b.find(b'\r\n')
                if j<0: return out,buf,'incomplete chunked'
                s=b[:j].split(b';')[0]
                if not re.fullmatch(rb'[0-9A-Fa-f]{1,16}',s): return out,buf,'bad chunk size %r'%b[:j][:40]
                n=int(s,16); b=b[j+2:]
                if n==0:
                    k=b.find(b'\r\n') 
                    while k>0: b=b[k+2:]; k=b.find(b'\r\n')
                    if k<0: return out,buf,'incomplete trailer'
                    b=b[2:]; break
                if len(b)<n+2: return out,buf,'incomplete chunk'
                if b[n:n+2]!=b'\r\n': return out,buf,'chunk not ended by CRLF'
                body+=b[:n]; b=b[n+2:]
            buf2=b
        elif cls:
            n=int(cls[0])
            if len(buf2)<n: return out,buf,'incomplete body'
            body,buf2=buf2[:n],buf2[n:]
        out.append({'method':m[1],'target':m[2],'headers':hs,'body':body}); buf=buf2
    return out,b'',None
class Origin:
    def __init__(s,port): s.port=port; s.conns=[]; s.raw_reply=None; s.done=asyncio.Event()
    def reset(s):
        s.conns=[c for c in s.conns if not c['eof']]
        for c in s.conns: c['raw']=b''; c['answered']=0
    async def start(s): s.srv=await asyncio.start_server(s.h,'127.0.0.1',s.port,limit=2**24); s.port=s.srv.sockets[0].getsockname()[1]
    async def h(s,r,w):
        c={'raw':b'','eof':False,'answered':0}; s.conns.append(c)
        try:
            while True:
                d=await r.read(65536)
                if not d: c['eof']=True; break
                c['raw']+=d
                if s.raw_reply is not None:
                    if b'\r\n\r\n' in c['raw'] and not c['answered']:
                        c['answered']=1; w.write(s.raw_reply); await w.drain(); await asyncio.sleep(.15)
                        if s.close_after: break
                    continue
                # lenient answer: one 200 per head seen with complete body by strict parse
                ms,rest,err=parse_strict(c['raw'])
                while c['answered']<len(ms):
                    m=ms[c['answered']]; c['answered']+=1
                    b=b'' if m['method']==b'HEAD' else b'ok'
                    w.write(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Origin: 1\r\n\r\n'+b)
                await w.drain()
        except (ConnectionError,OSError,asyncio.CancelledError): pass
        finally:
            c['eof']=True
            try: w.close()
            except Exception: pass
def expand(raw,env):
    for k,v in env.items(): raw=raw.replace(k,v)
    return re.sub(rb'REPEAT\(([0-9a-fA-F]{2}),(\d+)\)',lambda m: bytes([int(m[1],16)])*int(m[2]),raw)
def split_responses(buf,methods):
    out=[]; i=0
    while buf:
        m=re.match(rb'HTTP/1\.[01] (\d{3})[^\r\n]*\r\n',buf)
        j=buf.find(b'\r\n\r\n')
        if not m or j<0: return out,buf
        st=int(m[1]); head=buf[:j].lower(); buf=buf[j+4:]
        if 100<=st<200 and st!=101: continue
        meth=methods[i] if i<len(methods) else b'GET'; i+=1
        if meth==b'HEAD' or st in (204,304) or (meth==b'CONNECT' and st==200): out.append(st); 
        elif b'transfer-encoding: chunked' in head:
            k=buf.find(b'0\r\n\r\n'); out.append(st); buf=buf[k+5:] if k>=0 else b''
        else:
            c=re.search(rb'content-length: *(\d+)',head); n=int(c[1]) if c else len(buf); out.append(st); buf=buf[n:]
        if meth==b'CONNECT' and st==200: return out,buf
    return out,b''
async def talk(host,port,raw,mode,timeout,shut,patience=1):
    timeout*=patience
    try: r,w=await asyncio.wait_for(asyncio.open_connection(host,port,limit=2**24),60)
    except Exception as e: return b'','connect-failed'
    buf=b''; state='open'
    async def snd():
        try:
            if mode=='bytes' and len(raw)<20000:
                for x in raw: w.write(bytes([x])); await w.drain(); await asyncio.sleep(0)
            elif mode=='split':
                for p in re.split(rb'(?<=\r)|(?<=\n)',raw): w.write(p); await w.drain(); await asyncio.sleep(.001)
            else: w.write(raw); await w.drain()
            if shut=='wr': await asyncio.sleep(.05); w.write_eof()
        except (ConnectionError,OSError): pass
    t=asyncio.ensure_future(snd()); end=time.monotonic()+timeout; quiet=0
    try:
        while time.monotonic()<end:
            try: d=await asyncio.wait_for(r.read(65536),0.35*patience)
            except asyncio.TimeoutError:
                if buf and t.done(): break
                continue
            if not d: state='closed'; break
            buf+=d
    except (ConnectionError,OSError): state='closed'
    t.cancel()
    try: w.close()
    except Exception: pass
    return buf,state
def judge(c,got,sts,state,org,msgs,perr,rawo):
    acc=c['accept']; n=c.get('n_origin',1); nmin=c.get('n_origin_min',n); why=[]
    seen=len(msgs); ok=False
    st=sts[0] if sts else None
    g2=got
    while re.match(rb'HTTP/1\.[01] 1(?!01)\d\d',g2) and b'\r\n\r\n' in g2: g2=g2.partition(b'\r\n\r\n')[2]
    fromorigin=b'x-origin: 1' in g2.partition(b'\r\n\r\n')[0].lower()
    if 'forward' in acc and st==200 and fromorigin and nmin<=seen<=max(n,c.get('max_origin',n)): ok=True
    if st and not fromorigin:
        for a in acc:
            if a==str(st) or (re.fullmatch(r'\dxx',a) and a[0]==str(st)[0]): ok=True
        if 'local' in acc and st in (200,204): ok=True
        if 'tunnel' in acc and st==200: ok=True
    if not got and state=='closed' and 'close' in acc: ok=True
    if not got and state=='open' and 'wait' in acc: ok=True
    if 'h2' in acc and re.match(rb'\x00\x00.\x04\x00\x00\x00\x00\x00',got,re.S): ok=True
    if not ok: why.append('outcome %s%s origin=%d'%(st if st else ('no bytes,'+state if not got else 'unparsable %r'%got[:40]),' via origin' if fromorigin else '',seen))
    if c.get('after')=='close' and state!='closed' and st and st>=400: why.append('left open after framing error')
    if 'max_origin' in c and seen>max(c['max_origin'],0): why.append('origin saw %d complete requests'%seen)
    for m in msgs:
        for bad in (b'smuggled',b'/early'):
            if bad in m['target']: why.append('SMUGGLED %r'%m['target'][:60])
    if perr and not perr.startswith('incomplete'): why.append('origin got malformed: '+perr)
    if seen:
        cs=(lambda b:b) if c.get('case') else (lambda b:b.lower())
        for x in c.get('must',[]): 
            if cs(x.encode('latin-1')) not in cs(rawo): why.append('missing at origin %r'%x)
        for x in c.get('must_not',[]): 
            if cs(x.encode('latin-1')) in cs(rawo): why.append('forbidden at origin %r'%x)
    for x in c.get('client_must_not',[]): 
        if x.encode('latin-1') in got: why.append('forbidden at client %r'%x)
    return why
async def main():
    ap=argparse.ArgumentParser(); ap.add_argument('what'); ap.add_argument('--proxy',default='127.0.0.1:8118'); ap.add_argument('--control'); ap.add_argument('--origin-port',type=int,default=9001)
    ap.add_argument('--mode',default='whole'); ap.add_argument('--only',default=''); ap.add_argument('--out'); ap.add_argument('--timeout',type=float,default=3); ap.add_argument('--dir',default=__import__('os').path.dirname(__import__('os').path.abspath(__file__)))
    a=ap.parse_args(); ph,pp=a.proxy.rsplit(':',1)
    assert ph in ('127.0.0.1','::1','localhost')
    o=Origin(a.origin_port); o.close_after=True; await o.start(); a.origin_port=o.port
    env={b'ORIGINHOST':b'127.0.0.1:%d'%a.origin_port,b'PROXYHOST':a.proxy.encode(),b'CONTROLHOST':(a.control or '127.0.0.1:1').encode()}
    fh=open(a.out,'w') if a.out else None; good=bad=skip=0
    async def canary():
        o.raw_reply=None; b,_=await talk(ph,int(pp),b'GET http://127.0.0.1:%d/canary HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n'%(a.origin_port,a.origin_port),'whole',60,None); return b' 200 ' in b[:20]
    alone=len(open('/proc/net/route').read().splitlines())<=1
    name='rawcases.jsonl' if a.what=='requests' else 'rawresponses.jsonl'
    lines=[(line,1) for line in open(a.dir+'/'+name)]
    while lines:
        line,patience=lines.pop(0); c=json.loads(line)
        if not c['id'].startswith(a.only): continue
        if c.get('offbox') and not alone: skip+=1; continue
        o.reset()
        if a.what=='requests':
            if c.get('target')=='control':
                if not a.control: skip+=1; continue
                h,p=a.control.rsplit(':',1)
            else: h,p=ph,pp
            raw=expand(base64.b64decode(c['raw_base64']),env); o.raw_reply=None
            got,state=await talk(h,int(p),raw,a.mode,a.timeout,c.get('shut'),patience)
            msgs,perr,rawo=[],None,b''
            for k in o.conns:
                ms,rest,e=parse_strict(k['raw']); msgs+=ms; perr=perr or e; rawo+=k['raw']
            methods=[l.split(b' ')[0] for l in raw.split(b'\r\n\r\n')][:3]
            sts,rest=split_responses(got,methods)
            why=judge(c,got,sts,state,o,msgs,perr,rawo)
            rec={'id':c['id'],'ok':not why,'why':why,'status':sts,'state':state,'origin':len(msgs),'perr':perr}
        else:
            o.raw_reply=expand(base64.b64decode(c['origin_raw_base64']),env)
            got,state=await talk(ph,int(pp),b'%s http://127.0.0.1:%d/c/%s HTTP/%s\r\nHost: 127.0.0.1:%d\r\n\r\n'%(c.get('method','GET').encode(),a.origin_port,c['id'].encode(),c.get('version','1.1').encode(),a.origin_port),'whole',a.timeout,None,patience)
            allgot=got
            while re.match(rb'HTTP/1\.[01] 1(?!01)\d\d',got) and b'\r\n\r\n' in got: got=got.partition(b'\r\n\r\n')[2]
            m=re.match(rb'HTTP/1\.[01] (\d{3})',got); st=m[1].decode() if m else None; why=[]
            acc=c['accept']; hd,_,bd=got.partition(b'\r\n\r\n')
            k=re.search(rb'(?i)content-length: *(\d+)',hd); trunc=state=='closed' and ((k and int(k[1])>len(bd)) or (b'chunked' in hd.lower() and not bd.endswith(b'0\r\n\r\n')))
            ok=(st in acc) or (not got and 'close' in acc) or ('truncated' in acc and trunc)
            if not ok: why.append('outcome %s %s trunc=%s'%(st,state,trunc))
            if st=='200' and 'body' in c and c['body'].encode() not in bd: why.append('body %r'%bd[:40])
            hl=hd.lower(); left=b''
            if c.get('method')=='HEAD' or st in ('204','304'): left=bd
            elif b'transfer-encoding: chunked' in hl:
                z=bd
                while z:
                    q=re.match(rb'([0-9a-fA-F]+)[^\r]*\r\n',z)
                    if not q: left=z; break
                    n=int(q[1],16); z=z[q.end()+n+2:] if n else re.sub(rb'^(?:[^\r\n]+\r\n)*\r\n',b'',z[q.end():],count=1)
                    if not n: left=z; break
            elif k: left=bd[int(k[1]):]
            if left: why.append('STRAY BYTES after response %r'%left[:40])
            if hl.count(b'content-length:')>1 or (b'content-length:' in hl and b'transfer-encoding:' in hl): why.append('ambiguous framing sent to client')
            for x in c.get('client_must_not',[]):
                if x.encode('latin-1') in got: why.append('forbidden at client %r'%x)
            for x in c.get('client_must',[]):
                if st=='200' and x.encode('latin-1') not in got: why.append('missing at client %r'%x)
            rec={'id':c['id'],'ok':not why,'why':why,'status':st,'state':state}
        # On a busy machine what comes may be late: a verdict that is bad is the one after a longer wait.
        if why and patience==1: lines.insert(0,(line,20)); continue
        if not await canary(): rec['ok']=False; rec['why'].append('CANARY FAILED')
        good+=rec['ok']; bad+=not rec['ok']
        if fh: fh.write(json.dumps(rec)+'\n')
        if not rec['ok']: print(rec['id'],rec['why'],'--',c['note'][:60])
    print('%d passed, %d failed, %d skipped'%(good,bad,skip))
asyncio.run(main())
