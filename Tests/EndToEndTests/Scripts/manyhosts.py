#!/usr/bin/env python3
"""Shakes hands with many hosts of one proxy, each through a CONNECT tunnel of its own, verifying the certificates.

usage: manyhosts.py PORT CAFILE COUNT [--threads N]

Then once more with the first host and the last. It prints one line of JSON: how many hosts were good, how many public keys
and serial numbers their certificates had, whether the first and the last had the same certificate again, and milliseconds:
of a handshake with its CONNECT, and of a mapped URL that was asked for every 5 ms meanwhile. Standard library only.
"""
import argparse
import hashlib
import json
import socket
import ssl
import statistics
import threading
import time


def shake(port, context, host):
    with socket.create_connection(("127.0.0.1", port), 60) as raw:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            part = raw.recv(4096)
            if not part:
                raise OSError("closed")
            head += part
        if not head.startswith(b"HTTP/1.1 200 "):
            raise OSError(head.decode("latin-1"))
        with context.wrap_socket(raw, server_hostname=host) as stream:
            return stream.getpeercert(True)


def public_key(certificate):
    """The point of a P-256 key, which stands behind its length and the number of unused bits."""
    at = certificate.index(b"\x03\x42\x00\x04")
    return certificate[at + 3:at + 68]


class Canary(threading.Thread):
    """Asks for a mapped URL again and again."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.times, self.ends = port, [], threading.Event()

    def run(self):
        with socket.create_connection(("127.0.0.1", self.port), 60) as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while not self.ends.wait(0.005):
                start = time.monotonic()
                stream.sendall(b"GET http://canary.test/x HTTP/1.1\r\nHost: canary.test\r\n\r\n")
                if not stream.recv(65536).startswith(b"HTTP/1.1 200 "):
                    return
                self.times.append((time.monotonic() - start) * 1000)


def spread(times):
    times = sorted(times)
    return {"count": len(times), "median": round(statistics.median(times), 3),
            "p99": round(times[len(times) * 99 // 100], 3), "max": round(times[-1], 3)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("authority")
    parser.add_argument("count", type=int)
    parser.add_argument("--threads", type=int, default=4)
    options = parser.parse_args()
    context = ssl.create_default_context(cafile=options.authority)
    hosts = [f"host-{number}.many.test" for number in range(options.count)]
    found, times, next_host, lock = {}, [], iter(hosts), threading.Lock()

    def work():
        while True:
            with lock:
                host = next(next_host, None)
            if host is None:
                return
            start = time.monotonic()
            certificate = shake(options.port, context, host)
            with lock:
                times.append((time.monotonic() - start) * 1000)
                found[host] = certificate

    canary = Canary(options.port)
    canary.start()
    workers = [threading.Thread(target=work, daemon=True) for _ in range(options.threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    canary.ends.set()
    canary.join()
    again = [shake(options.port, context, host) == found[host] for host in (hosts[-1], hosts[0])]
    print(json.dumps({
        "hosts": len(found), "keys": len({public_key(one) for one in found.values()}),
        "certificates": len({hashlib.sha256(one).digest() for one in found.values()}),
        "lastIsKept": again[0], "firstIsKept": again[1],
        "handshake": spread(times), "canary": spread(canary.times or [0])}))


main()
