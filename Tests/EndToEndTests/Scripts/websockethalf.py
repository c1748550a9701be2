#!/usr/bin/env python3
"""A WebSocket client behind a decrypted tunnel that ends its side of TLS first, or that reads nothing.

usage: websockethalf.py --proxy PORT --authority HOST:PORT --ca FILE count|flood

`count` sends 3 MiB and close_notify, and prints what the origin tells then. `flood` reads nothing of what the origin sends
until it is killed. Standard library only.
"""
import argparse
import base64
import signal
import socket
import ssl


class Client:
    """TLS over a socket of which either direction can be ended alone."""

    def __init__(self, options, path):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(300)
        self.socket.connect(('127.0.0.1', options.proxy))
        self.socket.sendall(f'CONNECT {options.authority} HTTP/1.1\r\nHost: {options.authority}\r\n\r\n'.encode())
        self.head(lambda: self.socket.recv(1), b'200')
        context = ssl.create_default_context(cafile=options.ca)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        host = options.authority.rsplit(':', 1)[0]
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname=host)
        self.perform(self.tls.do_handshake)
        self.write((
            f'GET {path} HTTP/1.1\r\nHost: {options.authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
            'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: '
            f'{base64.b64encode(bytes(16)).decode()}\r\n\r\n').encode())
        self.head(lambda: self.perform(lambda: self.tls.read(1)), b'101')

    @staticmethod
    def head(read, status):
        data = b''
        while not data.endswith(b'\r\n\r\n'):
            data += read()
        assert data.split(b' ')[1] == status, data

    def flush(self):
        if data := self.outgoing.read():
            self.socket.sendall(data)

    def perform(self, action):
        while True:
            try:
                result = action()
                self.flush()
                return result
            except ssl.SSLWantReadError:
                self.flush()
                if data := self.socket.recv(1 << 16):
                    self.incoming.write(data)
                else:
                    self.incoming.write_eof()

    def write(self, data):
        for start in range(0, len(data), 1 << 14):
            self.perform(lambda: self.tls.write(data[start:start + (1 << 14)]))

    def finish(self):
        """Sends close_notify, and goes on reading."""
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass
        self.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--proxy', type=int, required=True)
    parser.add_argument('--authority', required=True)
    parser.add_argument('--ca', required=True)
    parser.add_argument('what', choices=['count', 'flood'])
    options = parser.parse_args()
    client = Client(options, '/' + options.what)
    if options.what == 'flood':
        print('open', flush=True)
        signal.pause()
        return
    client.write(bytes(3 << 20))
    client.finish()
    told = b''
    while not told.endswith(b'%d' % (3 << 20)):
        told += client.perform(lambda: client.tls.read(1000))
    print(told.decode())


main()
