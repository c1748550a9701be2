#!/usr/bin/env python3
"""A TLS origin for tests: one thread a connection.

usage: tlsorigin.py [--cert CHAIN --key KEY] [--tls1 | --tls12] [--next CHAIN --next-key KEY]
                    [--client-cert optional|required --trust FILE] [--greeting TEXT] [--life SECONDS]

Without a certificate it speaks HTTP in the clear. It prints its port, then what happens: `name HOST`, `handshake VERSION`,
`resumed` where that was an earlier session's, `certificate` where the client has shown one, `request PATH`, and what the
paths below tell. /close ends the connection with its answer, /next after putting the other certificate in force; /secure
has a Strict-Transport-Security field; /kept has its query as Cache-Control, and ends the connection. After /gone each
connection is ended in the middle of its handshake. /ws echoes WebSocket messages; /flood sends 256 MiB after its 101, /count
reads to the end and tells the sum; /bad-accept, /no-accept and /no-upgrade have a 101 that is not valid. /cut ends a body
that the connection's end delimits without close_notify, /ended with it; /short ends a body before its Content-Length. Every
other path answers with 200 and the greeting. Standard library only.
"""
import argparse
import base64
import hashlib
import os
import socket
import ssl
import struct
import sys
import threading


def say(*words):
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def receive(stream, count):
    parts = []
    while count:
        part = stream.recv(min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def read_head(stream, rest=b""):
    data = rest
    while b"\r\n\r\n" not in data:
        part = stream.recv(65536)
        if not part:
            return None, b""
        data += part
    head, rest = data.split(b"\r\n\r\n", 1)
    return head.decode("latin-1"), rest


def unmask(data, key):
    if not data:
        return data
    pad = -len(data) % 4
    mask = key * ((len(data) + pad) // 4)
    number = int.from_bytes(data + bytes(pad), "big") ^ int.from_bytes(mask, "big")
    return number.to_bytes(len(data) + pad, "big")[:len(data)]


class Reader:
    """A stream whose first bytes were read already."""

    def __init__(self, stream, rest):
        self.stream, self.rest = stream, rest

    def recv(self, limit):
        if self.rest:
            part, self.rest = self.rest[:limit], self.rest[limit:]
            return part
        return self.stream.recv(limit)


def switch(stream, head, rest):
    """Answers a WebSocket handshake (RFC 6455 §4.2.2)."""
    fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    fields = {name.lower(): value for name, value in fields.items()}
    accept = base64.b64encode(hashlib.sha1(
        (fields["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
    say("early", str(len(rest)))
    answer = ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              f"Sec-WebSocket-Accept: {accept}\r\n")
    if "sec-websocket-extensions" in fields:
        answer += "Sec-WebSocket-Extensions: " + fields["sec-websocket-extensions"] + "\r\n"
    stream.sendall((answer + "\r\n").encode())


def flood(stream):
    try:
        for _ in range(256):
            stream.sendall(bytes(1 << 20))
        say("flooded")
    except OSError:
        say("broken")


def count(stream, rest):
    total = len(rest)
    while True:
        part = stream.recv(1 << 18)
        if not part:
            break
        total += len(part)
    stream.sendall(b"counted %d" % total)


def invalid(stream, path):
    fields = {
        "/bad-accept": "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: c2hvcnQ=\r\n",
        "/no-accept": "Upgrade: websocket\r\nConnection: Upgrade\r\n",
        "/no-upgrade": "Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
    }[path]
    stream.sendall(f"HTTP/1.1 101 Switching Protocols\r\n{fields}\r\nsecret".encode())
    try:
        say("after", str(len(stream.recv(65536))))
    except OSError:
        say("after", "0")


def echo(stream, rest):
    reader = Reader(stream, rest)
    while True:
        first, second = receive(reader, 2)
        size = second & 127
        if size == 126:
            size = struct.unpack(">H", receive(reader, 2))[0]
        elif size == 127:
            size = struct.unpack(">Q", receive(reader, 8))[0]
        key = receive(reader, 4)
        data = unmask(receive(reader, size), key)
        if first & 15 == 9:
            first = first & 0xf0 | 10
        out = bytes([first])
        if size < 126:
            out += bytes([size])
        elif size < 65536:
            out += bytes([126]) + struct.pack(">H", size)
        else:
            out += bytes([127]) + struct.pack(">Q", size)
        stream.sendall(out + data)
        if first & 15 == 8:
            return


def serve(stream, options):
    rest = b""
    while True:
        head, rest = read_head(stream, rest)
        if head is None:
            return True
        path = head.split(" ")[1]
        say("request", path)
        if path in ("/ws", "/flood", "/count"):
            switch(stream, head, rest)
            if path == "/ws":
                echo(stream, rest)
            elif path == "/flood":
                flood(stream)
            else:
                count(stream, rest)
            return True
        if path in ("/bad-accept", "/no-accept", "/no-upgrade"):
            invalid(stream, path)
            return True
        if path in ("/cut", "/ended"):
            stream.sendall(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nConnection: close\r\n\r\nfirst part")
            return path == "/ended"
        if path == "/short":
            stream.sendall(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 50\r\n\r\nfirst part")
            return False
        body, more = options.greeting.encode(), b""
        if path in ("/close", "/next", "/gone"):
            more = b"Connection: close\r\n"
        elif path.startswith("/kept?"):
            more = b"ETag: \"1\"\r\nConnection: close\r\nCache-Control: %s\r\n" % path[6:].encode()
        elif path == "/secure":
            more = b"Strict-Transport-Security: max-age=31536000; includeSubDomains; preload\r\n"
        if path == "/next":
            stream.context.load_cert_chain(options.next, options.next_key)
        options.gone = options.gone or path == "/gone"
        stream.sendall(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (more, len(body)) + body)
        if b"Connection: close" in more:
            return True


def connection(raw, context, options):
    if not context:
        return plain(raw, options)
    raw.settimeout(300)
    if options.gone:
        raw.recv(65536)
        return raw.close()
    try:
        stream = context.wrap_socket(raw, server_side=True)
    except (OSError, ssl.SSLError) as error:
        say("failed", str(error))
        raw.close()
        return
    say("handshake", stream.version())
    if stream.session_reused:
        say("resumed")
    if stream.getpeercert():
        say("certificate")
    try:
        ends_well = serve(stream, options)
        if not ends_well:
            return os.close(stream.detach())
        stream.unwrap()
    except (OSError, EOFError, ValueError):
        pass
    linger(stream)


def plain(stream, options):
    stream.settimeout(300)
    try:
        serve(stream, options)
    except (OSError, EOFError, ValueError):
        pass
    linger(stream)


def linger(stream):
    """Ends the output and reads on to the peer's end: a close with bytes unread resets what the peer has not read yet."""
    try:
        # This leaves TLS too.
        stream.shutdown(socket.SHUT_WR)
        stream.settimeout(300)
        while stream.recv(1 << 18):
            pass
    except OSError:
        pass
    stream.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cert")
    parser.add_argument("--key")
    parser.add_argument("--tls1", action="store_true")
    parser.add_argument("--tls12", action="store_true")
    parser.add_argument("--next")
    parser.add_argument("--next-key")
    parser.add_argument("--client-cert")
    parser.add_argument("--trust")
    parser.add_argument("--greeting", default="from the origin")
    parser.add_argument("--life", type=int, default=900)
    options = parser.parse_args()
    options.gone = False
    context = None
    if options.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # The faults are the point of it.
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.load_cert_chain(options.cert, options.key)
        if options.tls1:
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
        if options.tls12:
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        if options.client_cert:
            context.load_verify_locations(options.trust)
            context.verify_mode = ssl.CERT_REQUIRED if options.client_cert == "required" else ssl.CERT_OPTIONAL
        context.sni_callback = lambda _, name, __: say("name", name or "none")
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Timer(options.life, lambda: os._exit(0)).start()
    say(str(listener.getsockname()[1]))
    while True:
        raw, _ = listener.accept()
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=connection, args=(raw, context, options), daemon=True).start()


main()
