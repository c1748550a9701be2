#!/usr/bin/env python3
"""Compares what a WebSocket client gets from an echo with and without a proxy between, byte for byte, for frames of all kinds:
good, broken, in pieces.

usage: websocketcompare.py --proxy PORT --url http[s]://HOST:PORT/PATH [--ca FILE] [--absolute]

The origin listens on the URL's port of 127.0.0.1. An https URL goes through CONNECT and TLS, unless --absolute has it asked
of the proxy in absolute-form. Prints `equal` and the number of cases, or what differs. Standard library only.
"""
import argparse
import base64
import os
import random
import select
import socket
import ssl
import struct
import urllib.parse

CASES = []


def frame(code, data=b'', last=True, reserved=0, size=None):
    """A client's frame, masked with a key that the case decides (RFC 6455 §5.2)."""
    first, size = code | (0x80 if last else 0) | reserved << 4, len(data) if size is None else size
    head = (struct.pack('>BB', first, 0x80 | size) if size < 126 else
            struct.pack('>BBH', first, 0xfe, size) if size < 65536 else struct.pack('>BBQ', first, 0xff, size))
    key = b'\x12\x34\x56\x78'
    pad = -len(data) % 4
    number = int.from_bytes(data + bytes(pad), 'big') ^ int.from_bytes(key * ((len(data) + pad) // 4), 'big')
    return head + key + number.to_bytes(len(data) + pad, 'big')[:len(data)]


CLOSE = frame(8, struct.pack('>H', 1000))


def case(name, *frames, chop=None, ends=True):
    """`chop`: how many bytes go out at a time."""
    CASES.append((name, b''.join(frames) + (CLOSE if ends else b''), chop))


def text(count):
    return ('grüße, 世界 🙂 ' * (count // 20 + 1)).encode()[:count]


random.seed(11)
# Messages of all sizes, whole and in pieces.
for size in (0, 1, 125, 126, 127, 128, 65535, 65536):
    case(f'text of {size}', frame(1, b'*' * size))
    case(f'binary of {size}', frame(2, random.randbytes(size)))
case('text of 65536 in pieces', frame(1, text(65536)), chop=997)
case('binary of 65536 in pieces', frame(2, random.randbytes(65536)), chop=997)
# Control frames.
for data in (b'', b'hello', random.randbytes(125), random.randbytes(126)):
    case(f'ping of {len(data)}', frame(9, data))
    case(f'pong of {len(data)}, which nobody asked for', frame(10, data))
case('ping byte by byte', frame(9, random.randbytes(125)), chop=1)
case('ten pings', *(frame(9, bytes([n])) for n in range(10)))
# What only endpoints may judge: reserved bits and codes, and messages in odd orders.
for reserved in range(1, 8):
    case(f'reserved bits {reserved}', frame(1, b'hello'), frame(1, b'bits', reserved=reserved), frame(9))
for code in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15):
    case(f'code {code}', frame(1, b'hello'), frame(code, b'unknown'), frame(9), chop=7)
pieces = [frame(1, b'one', last=False), frame(0, b'two', last=False), frame(0, b'three')]
case('a message in fragments', *pieces)
case('a message in fragments, byte by byte', *pieces, chop=1)
case('fragments with pings between', pieces[0], frame(9, b'a'), pieces[1], frame(9, b'b'), pieces[2])
case('a fragmented ping', frame(9, b'one', last=False), frame(9, b'two'))
case('a fragment that continues nothing', frame(0, b'lost'), frame(1, b'hello'))
case('a message within a message', pieces[0], frame(2, b'other'), pieces[2])
case('empty fragments', frame(1, last=False), frame(0, last=False), frame(0))
for data in ('κόσμε'.encode(), b'\xce\xba\xed\xa0\x80edited', b'\xf4\x90\x80\x80', b'\xff\xfe', b'\xc0\xaf', b'\x00\x7f\xef\xbf\xbf'):
    case(f'text {data.hex()}', frame(1, data))
    case(f'text {data.hex()} in fragments', frame(1, data[:1], last=False), frame(0, data[1:]), chop=1)
# The end.
case('an empty close', frame(8), ends=False)
case('a close of 1 byte', frame(8, b'\x03'), ends=False)
case('a close with a long reason', frame(8, struct.pack('>H', 1000) + b'*' * 123), ends=False)
case('a close that is too long', frame(8, struct.pack('>H', 1000) + b'*' * 124), ends=False)
case('a close whose reason is no text', frame(8, struct.pack('>H', 1000) + b'\xce\xba\xed\xa0\x80'), ends=False)
case('frames behind the close', CLOSE, frame(1, b'late'), frame(9), ends=False)
for code in (0, 999, *range(1000, 1017), 1100, 2000, 2999, 3000, 3999, 4000, 4999, 5000, 65535):
    case(f'close {code}', frame(8, struct.pack('>H', code) + b'reason'), ends=False)
# Much.
case('1 MiB of text', frame(1, text(1 << 20)))
case('4 MiB in fragments of 4 KiB', *(frame(2 if n == 0 else 0, random.randbytes(4096), n == 1023) for n in range(1024)))
case('1 MiB in pieces', frame(2, random.randbytes(1 << 20)), chop=1300)
for size in (0, 16, 1024, 16384):
    case(f'300 messages of {size}', *(frame(2, random.randbytes(size)) for _ in range(300)))


def head(stream):
    data = b''
    while not data.endswith(b'\r\n\r\n'):
        byte = stream.recv(1)
        if not byte:
            raise SystemExit(f'closed: {data}')
        data += byte
    return data.decode('latin-1')


def connect(options, url, through):
    port = options.proxy if through else url.port
    stream = socket.create_connection(('127.0.0.1', port), 60)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    is_absolute = through and (options.absolute or url.scheme == 'http')
    if through and not is_absolute:
        stream.sendall(f'CONNECT {url.netloc} HTTP/1.1\r\nHost: {url.netloc}\r\n\r\n'.encode())
        answer = head(stream)
        assert answer.startswith('HTTP/1.1 200 '), answer
    if url.scheme == 'https' and not is_absolute:
        # Without the proxy it is the origin's own certificate, which is not what is tested here.
        context = ssl.create_default_context(cafile=options.ca)
        if not through:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        stream = context.wrap_socket(stream, server_hostname=url.hostname)
    stream.sendall((
        f'GET {options.url if is_absolute else url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: Upgrade\r\n'
        'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: '
        f'{base64.b64encode(bytes(16)).decode()}\r\n\r\n').encode())
    answer = head(stream)
    assert answer.startswith('HTTP/1.1 101 '), answer
    return stream


def transcript(options, url, through, sent, chop):
    """All that comes back, up to the end."""
    stream = connect(options, url, through)
    # One thread for both ways: OpenSSL's connections are not for two.
    stream.setblocking(False)
    got, at, size = [], 0, chop or len(sent)
    while True:
        try:
            data = stream.recv(1 << 18)
            if not data:
                break
            got.append(data)
            continue
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except ConnectionResetError:
            # What the client had sent was too late to be read; how far it got before is chance.
            break
        if at < len(sent):
            try:
                at += stream.send(sent[at:at - at % size + size])
                continue
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass
            except OSError:
                # The other side has ended; what it said before is still to be read.
                at = len(sent)
                continue
        if not any(select.select([stream], [stream] if at < len(sent) else [], [], 60)):
            raise SystemExit(f'nothing came for a minute behind {len(b"".join(got))} bytes')
    stream.close()
    return b''.join(got)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--proxy', type=int, required=True)
    parser.add_argument('--url', required=True)
    parser.add_argument('--ca')
    parser.add_argument('--absolute', action='store_true')
    options = parser.parse_args()
    url = urllib.parse.urlsplit(options.url)
    differences = []
    for name, sent, chop in CASES:
        # Bytes that arrive behind the end of their reader reset the connection, which may overtake the answer, without
        # the proxy too: what differs by that does not differ every time.
        for _ in range(4):
            without, with_ = (transcript(options, url, through, sent, chop) for through in (False, True))
            if without == with_ and without:
                break
        if without != with_ or not without:
            differences.append(f'{name}: {len(without)} bytes {without[:40]}, through the proxy {len(with_)} {with_[:40]}')
    if differences:
        raise SystemExit('\n'.join(differences))
    print('equal', len(CASES))


main()
