#!/usr/bin/env python3
"""Sends a TLS ClientHello of a kind through a CONNECT tunnel, and prints what comes back.

usage: clienthello.py PORT AUTHORITY CASE [--tls]

Prints `certificate NAME…` (of the certificate's subject alternative names),
`alert NUMBER`, `closed`, or `silent` after 15 seconds; ` late` behind what took more than four. It speaks TLS 1.2, which has the certificate in the clear, with the
name of the authority unless the case says otherwise. With --tls the connection with the proxy is TLS itself. Standard
library only.
"""
import os
import socket
import ssl
import struct
import sys
import time


def extension(number, data):
    return struct.pack('>HH', number, len(data)) + data


def server_name(*names):
    entries = b''.join(struct.pack('>BH', 0, len(name)) + name for name in names)
    return extension(0, struct.pack('>H', len(entries)) + entries)


def hello(names, version=0x0303, ciphers=(0xc02b, 0xc02f, 0xc009), more=b''):
    """A ClientHello (RFC 5246 §7.4.1.2)."""
    extensions = b''
    if names:
        extensions += server_name(*names)
    extensions += extension(10, struct.pack('>HHH', 4, 23, 29)) + extension(11, b'\x01\x00')
    extensions += extension(13, struct.pack('>HHHH', 6, 0x0403, 0x0804, 0x0401)) + more
    body = struct.pack('>H', version) + os.urandom(32) + b'\x00'
    body += struct.pack('>H', 2 * len(ciphers)) + b''.join(struct.pack('>H', cipher) for cipher in ciphers)
    body += b'\x01\x00' + struct.pack('>H', len(extensions)) + extensions
    return b'\x01' + struct.pack('>I', len(body))[1:] + body


def edited(at, new, length=0):
    """Puts bytes in the place of `length` others and corrects the message's own length; counted in its body."""
    def edit(message):
        body = message[4:]
        body = body[:at] + new + body[at + (length or len(new)):]
        return b'\x01' + struct.pack('>I', len(body))[1:] + body
    return edit


# What is wrong in a ClientHello: version 2, random 32, session id 1, ciphers 2 + 6, compression 2, extensions 2 + …
INVALID = {
    'version-0300': edited(0, b'\x03\x00'), 'version-0200': edited(0, b'\x02\x00'),
    'session-id-long': edited(34, b'\x21' + bytes(33), 1), 'session-id-beyond': edited(34, b'\xff'),
    'ciphers-none': edited(35, b'\x00\x00', 8), 'ciphers-odd': edited(35, b'\x00\x05' + b'\xc0' * 5, 8),
    'ciphers-beyond': edited(35, b'\xff\xfe'),
    'compression-none': edited(43, b'\x00', 2), 'compression-deflate': edited(43, b'\x01\x01'),
    'extensions-short': edited(45, b'\x00\x01'), 'extensions-beyond': edited(45, b'\xff\xff'),
    'truncated': lambda message: b'\x01' + struct.pack('>I', len(message) - 14)[1:] + message[4:-10],
    'trailing': lambda message: b'\x01' + struct.pack('>I', len(message))[1:] + message[4:] + bytes(4),
    'length-beyond': lambda message: message[:1] + b'\xff\xff\xff' + message[4:],
    'server-hello': lambda message: b'\x02' + message[1:],
    'finished-first': lambda message: b'\x14\x00\x00\x0c' + bytes(12),
    'empty-message': lambda message: b'\x01\x00\x00\x00',
    'name-list-short': edited(51, b'\x00\x01'), 'name-type': edited(53, b'\x01'),
    'name-length-beyond': edited(54, b'\xff\xff'),
}


def records(message, size=16384):
    return b''.join(
        b'\x16\x03\x01' + struct.pack('>H', len(message[at:at + size])) + message[at:at + size]
        for at in range(0, len(message), size))


def alternative_names(certificate):
    """The entries of subjectAltName (RFC 5280 §4.2.1.6), which is short enough here for lengths of one byte."""
    at = certificate.index(b'\x06\x03\x55\x1d\x11') + 5
    if certificate[at] == 1:
        at += 3
    # An octet string, and in it a sequence.
    at, end = at + 4, at + 4 + certificate[at + 3]
    while at < end:
        size = certificate[at + 1]
        yield certificate[at + 2:at + 2 + size].decode('latin-1')
        at += 2 + size


def answer(stream, deadline):
    data = b''
    while True:
        at, handshake = 0, b''
        while at + 5 <= len(data):
            kind, _, size = struct.unpack('>BHH', data[at:at + 5])
            if at + 5 + size > len(data):
                break
            body = data[at + 5:at + 5 + size]
            at += 5 + size
            if kind == 21 and len(body) == 2:
                return f'alert {body[1]}'
            if kind == 22:
                handshake += body
        at = 0
        while at + 4 <= len(handshake):
            size = int.from_bytes(handshake[at + 1:at + 4], 'big')
            if at + 4 + size <= len(handshake) and handshake[at] == 11:
                # The first certificate's length stands behind the list's.
                first = int.from_bytes(handshake[at + 7:at + 10], 'big')
                leaf = handshake[at + 10:at + 10 + first]
                return 'certificate ' + ' '.join(alternative_names(leaf))
            at += 4 + size
        stream.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            part = stream.recv(65536)
        except TimeoutError:
            return 'silent'
        except OSError:
            return 'closed'
        if not part:
            return 'closed'
        data += part


def main():
    port, authority, case = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    host = authority.rsplit(':', 1)[0].encode()
    stream = socket.create_connection(('127.0.0.1', port), 60)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if '--tls' in sys.argv:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        stream = context.wrap_socket(stream)
    early = records(hello((host,))) if case == 'early' else b''
    stream.sendall(f'CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n'.encode() + early)
    head = b''
    while not head.endswith(b'\r\n\r\n'):
        byte = stream.recv(1)
        if not byte:
            break
        head += byte
    if not head.startswith(b'HTTP/1.1 200 '):
        print('refused', head.split(b'\r\n')[0].decode('latin-1'))
        return
    start = time.monotonic()
    names = {
        'no-name': (), 'other-name': (b'other.test',), 'listed-name': (b'listed.test',), 'address': (b'127.0.0.1',),
        'upper-case': (host.upper(),), 'root-dot': (host + b'.',), 'underscore': (b'a_b.' + host,),
        'nul': (host + b'\x00.evil.test',), 'long-name': (b'a' * 300,), 'two-names': (host, b'other.test'),
        'empty-name': (b'',),
    }.get(case, (b'other.test',) if case.startswith('other-name') else (host,))
    message = hello(names)
    if case == 'tls10':
        message = hello(names, 0x0301)
    elif case == 'tls11':
        message = hello(names, 0x0302)
    elif case == 'weak':
        message = hello(names, ciphers=(0x0004, 0x0005, 0x000a, 0x002f, 0x0035, 0x0003))
    elif case == 'weak-ephemeral':
        # NULL, RC4, 3DES and CBC, all with a key exchange that could be had.
        message = hello(names, ciphers=(0xc006, 0xc007, 0xc008, 0xc009, 0xc00a, 0xc023, 0xc024, 0x00ff))
    elif case == 'padding':
        message = hello(names, more=extension(21, bytes(16000)))
    elif case == 'large':
        message = hello(names, more=b''.join(extension(0x6a6a + 0x1010 * at, bytes(15000)) for at in range(4)))
    elif case == 'grease':
        ech = b'\x00\x00\x01\x00\x01\x07\x00\x20' + os.urandom(32) + b'\x00\x90' + os.urandom(144)
        message = hello(
            names, ciphers=(0x0a0a, 0xc02b, 0xc02f), more=extension(0x1a1a, b'') + extension(0xfe0d, ech))
    elif case in INVALID:
        message = INVALID[case](message)
    pieces = [records(message)]
    empty, warning = b'\x16\x03\x01\x00\x00', b'\x15\x03\x01\x00\x02\x01\x5a'
    if case in ('records', 'other-name-split'):
        pieces = [records(message, 1)]
    elif case == 'other-name-halves':
        pieces = [records(message, len(message) // 2 + 1)]
    elif case == 'other-name-type':
        pieces = [records(message[:1]), records(message[1:])]
    elif case in ('few-empty-records', 'other-name-empty'):
        pieces = [empty * 3 + records(message[:50]) + empty * 3 + records(message[50:])]
    elif case in ('warning', 'other-name-warning'):
        pieces = [warning + pieces[0]]
    elif case == 'other-name-bytes':
        pieces = [bytes([byte]) for byte in records(message, 3)]
    elif case == 'bytes':
        pieces = [bytes([byte]) for byte in pieces[0]]
    elif case == 'sslv2':
        pieces = [b'\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10' + bytes(39)]
    elif case == 'http':
        pieces = [b'GET / HTTP/1.1\r\nHost: x\r\n\r\n']
    elif case == 'ssh':
        pieces = [b'SSH-2.0-OpenSSH_9.9\r\n']
    elif case == 'empty-records':
        pieces = [b'\x16\x03\x01\x00\x00' * 40 + pieces[0]]
    elif case == 'early-data':
        pieces = [b'\x17\x03\x03\x00\x10' + bytes(16) + pieces[0]]
    elif case in ('silence', 'ended', 'early'):
        pieces = []
    try:
        if case == 'slow':
            # One byte at a time, much slower than the proxy waits for a handshake.
            for byte in pieces[0]:
                stream.sendall(bytes([byte]))
                stream.settimeout(0.5)
                try:
                    if not stream.recv(1, socket.MSG_PEEK):
                        break
                except TimeoutError:
                    pass
        else:
            for piece in pieces:
                stream.sendall(piece)
        if case == 'ended':
            stream.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    print(answer(stream, start + 60) + (' late' if time.monotonic() - start > 30 else ''))


main()
