#!/usr/bin/env python3
"""A name server that misbehaves on demand: the first label of a name says how it is answered. Standard library only.

usage: nameserver.py ADDRESS   (its port 53, UDP and TCP; prints a line when it is ready)

  nxdomain, servfail        that error
  silent                    no answer at all until SIGUSR1 comes, and then that there is no such name
  late                      127.0.0.1, a second late
  many                      400 addresses, 127.0.0.1 among them
  loop                      an alias of an alias of itself
  brief                     127.0.0.1, with a time to live of 0
  turning                   198.51.100.1 when it is first asked for, and then 127.0.0.1
  at-A-B-C-D-or-E-F-G-H     these addresses

The labels after it make other names with the same answer: silent.7.test.
"""
import signal
import socket
import socketserver
import struct
import sys
import threading
import time

A, CNAME = 1, 5
SO_RCVBUFFORCE = 33
NXDOMAIN, SERVFAIL = 3, 2
turned = set()
may_answer = threading.Event()


def encoded(name):
    return b''.join(bytes([len(label)]) + label.encode() for label in name.split('.')) + b'\0'


def question(query):
    labels, offset = [], 12
    while query[offset]:
        labels.append(query[offset + 1:offset + 1 + query[offset]].decode('latin-1'))
        offset += 1 + query[offset]
    kind, _ = struct.unpack('>HH', query[offset + 1:offset + 5])
    return '.'.join(labels).lower(), kind, query[12:offset + 5]


def record(name, kind, data, seconds=60):
    return encoded(name) + struct.pack('>HHIH', kind, 1, seconds, len(data)) + data


def addresses(name, how):
    if how == 'many':
        return ['127.0.%d.%d' % (1 + number // 200, 1 + number % 200) for number in range(399)] + ['127.0.0.1']
    if how.startswith('at-'):
        return [part.replace('-', '.') for part in how[3:].split('-or-')]
    if how == 'turning' and name not in turned:
        turned.add(name)
        return ['198.51.100.1']
    return ['127.0.0.1']


def answer(query):
    name, kind, asked = question(query)
    how = name.split('.')[0]
    code, records = 0, []
    if how == 'silent':
        may_answer.wait()
        code = NXDOMAIN
    if how == 'late':
        time.sleep(1)
    if how == 'loop':
        records = [record(name, CNAME, encoded('again.' + name)), record('again.' + name, CNAME, encoded(name))]
    elif how in ('nxdomain', 'servfail'):
        code = NXDOMAIN if how == 'nxdomain' else SERVFAIL
    elif kind == A and not code:
        seconds = 0 if how == 'brief' else 60
        records = [record(name, A, socket.inet_aton(address), seconds) for address in addresses(name, how)]
    head = query[:2] + struct.pack('>HHHHH', 0x8180 | code, 1, len(records), 0, 0)
    return head + asked + b''.join(records)


class UDP(socketserver.BaseRequestHandler):
    def handle(self):
        query, listener = self.request
        reply = answer(query)
        if len(reply) > 512:
            # Truncated: the client asks again by TCP.
            reply = query[:2] + struct.pack('>HHHHH', 0x8380, 1, 0, 0, 0) + question(query)[2]
        listener.sendto(reply, self.client_address)


class TCP(socketserver.StreamRequestHandler):
    def handle(self):
        while True:
            size = self.rfile.read(2)
            if len(size) < 2:
                return
            reply = answer(self.rfile.read(struct.unpack('>H', size)[0]))
            self.wfile.write(struct.pack('>H', len(reply)) + reply)


class UDPServer(socketserver.ThreadingUDPServer):
    daemon_threads = True

    def server_bind(self):
        # Hundreds of questions may come at once, and none is to be lost; beyond the system's limit on buffers.
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20)
        super().server_bind()


class TCPServer(socketserver.ThreadingTCPServer):
    daemon_threads = True


def main():
    place = (sys.argv[1], 53)
    signal.signal(signal.SIGUSR1, lambda *_: may_answer.set())
    servers = [UDPServer(place, UDP), TCPServer(place, TCP)]
    threading.Thread(target=servers[1].serve_forever, daemon=True).start()
    print('ready', flush=True)
    servers[0].serve_forever()


main()
