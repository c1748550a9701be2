#!/usr/bin/env python3
"""A WebSocket client that sends messages of all kinds through a proxy to an echo, and compares what comes back.

usage: websocket.py --proxy PORT --url http[s]://HOST:PORT/PATH [--ca FILE] [--absolute] [--large BYTES] [--small COUNT]

An https URL goes through CONNECT and TLS, unless --absolute has it asked of the proxy in absolute-form. Prints `equal` and
how much was compared, or fails. Standard library only.
"""
import argparse
import base64
import os
import random
import socket
import ssl
import struct
import urllib.parse


def receive(stream, count):
    parts = []
    while count:
        part = stream.recv(min(count, 1 << 20))
        if not part:
            raise EOFError('the connection was closed')
        parts.append(part)
        count -= len(part)
    return b''.join(parts)


def head(stream):
    data = b''
    while not data.endswith(b'\r\n\r\n'):
        data += receive(stream, 1)
    return data.decode('latin-1')


def masked(data, key):
    if not data:
        return data
    pad = -len(data) % 4
    mask = key * ((len(data) + pad) // 4)
    number = int.from_bytes(data + bytes(pad), 'big') ^ int.from_bytes(mask, 'big')
    return number.to_bytes(len(data) + pad, 'big')[:len(data)]


def frame(code, data, last=True):
    """A client's frame (RFC 6455 §5.2)."""
    first = code | (0x80 if last else 0)
    size = len(data)
    if size < 126:
        out = struct.pack('>BB', first, 0x80 | size)
    elif size < 65536:
        out = struct.pack('>BBH', first, 0x80 | 126, size)
    else:
        out = struct.pack('>BBQ', first, 0x80 | 127, size)
    key = os.urandom(4)
    return out + key + masked(data, key)


def read_frame(stream):
    first, size = struct.unpack('>BB', receive(stream, 2))
    if size == 126:
        size = struct.unpack('>H', receive(stream, 2))[0]
    elif size == 127:
        size = struct.unpack('>Q', receive(stream, 8))[0]
    return first & 15, bool(first & 0x80), receive(stream, size)


def check(holds, what):
    if not holds:
        raise SystemExit('differs: ' + what)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--proxy', type=int, required=True)
    parser.add_argument('--url', required=True)
    parser.add_argument('--ca')
    parser.add_argument('--absolute', action='store_true')
    parser.add_argument('--large', type=int, default=1 << 20)
    parser.add_argument('--small', type=int, default=1000)
    options = parser.parse_args()
    url = urllib.parse.urlsplit(options.url)
    stream = socket.create_connection(('127.0.0.1', options.proxy), 60)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    target = options.url
    if url.scheme == 'https' and not options.absolute:
        authority = f'{url.hostname}:{url.port or 443}'
        stream.sendall(f'CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n'.encode())
        answer = head(stream)
        check(answer.startswith('HTTP/1.1 200 '), answer)
        stream = ssl.create_default_context(cafile=options.ca).wrap_socket(stream, server_hostname=url.hostname)
        target = url.path
    key = base64.b64encode(os.urandom(16)).decode()
    # The first message comes with the request, long before the 101.
    stream.sendall((
        f'GET {target} HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
        f'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n'
        'Sec-WebSocket-Extensions: x-test; a="1, 2"\r\n\r\n').encode() + frame(1, b'early'))
    answer = head(stream)
    check(answer.startswith('HTTP/1.1 101 '), answer)
    check('sec-websocket-extensions: x-test; a="1, 2"\r\n' in answer.lower(), 'the extensions')
    check(read_frame(stream) == (1, True, b'early'), 'the first message')
    count = 5
    random.seed(7)
    for size in (0, 1, 125, 126, 65535, 65536, 300000):
        data = random.randbytes(size)
        stream.sendall(frame(2, data))
        check(read_frame(stream) == (2, True, data), f'{size} bytes')
        count += size
    text = 'grüße, 世界 🙂'.encode()
    stream.sendall(frame(1, text))
    check(read_frame(stream) == (1, True, text), 'text')
    # A message in pieces with a ping between them (§5.4).
    pieces = [frame(1, b'one ', last=False), frame(9, b'ping'), frame(0, b'two ', last=False), frame(0, b'three')]
    for piece in pieces:
        stream.sendall(piece)
    wanted = [(1, False, b'one '), (10, True, b'ping'), (0, False, b'two '), (0, True, b'three')]
    check([read_frame(stream) for _ in wanted] == wanted, 'fragments')
    done = 0
    while done < options.small:
        group = min(500, options.small - done)
        data = [bytes([random.randrange(256)]) for _ in range(group)]
        stream.sendall(b''.join(frame(2, byte) for byte in data))
        check([read_frame(stream)[2] for _ in data] == data, 'small frames')
        done += group
    large = random.randbytes(options.large)
    stream.sendall(frame(2, large))
    check(read_frame(stream) == (2, True, large), 'the large frame')
    stream.sendall(frame(8, struct.pack('>H', 1000) + b'bye'))
    check(read_frame(stream) == (8, True, struct.pack('>H', 1000) + b'bye'), 'the closing frame')
    check(stream.recv(1) == b'', 'the end')
    print('equal', count + done + options.large)


main()
