#!/usr/bin/env python3
"""Clients of a proxy that go on asking until SIGTERM, and then say how it went. Standard library only.

usage: steady-clients.py PORT

Some connect anew for each request, some keep their connection as long as the proxy does, and one reads a large response
slowly. Prints `asking` after the first answers, and at the end a line of JSON: how many requests of each kind were
answered, how many connections those had that keep them, the longest request in seconds, and what failed.
"""
import json
import signal
import socket
import sys
import threading
import time

port = int(sys.argv[1])
LARGE = 8 << 20
stopped = threading.Event()
lock = threading.Lock()
answered = {"new": 0, "kept": 0, "large": 0}
failures = []
kept = 0
longest = 0.0


def ask(stream, client, path, length, pace=0.0):
    """Whether the connection can go on."""
    client.sendall(f"GET http://steady.test/{path} HTTP/1.1\r\nHost: steady.test\r\n\r\n".encode())
    status = stream.readline()
    if not status.startswith(b"HTTP/1.1 200 "):
        raise OSError(f"{path}: {status!r}")
    goes_on = True
    while (line := stream.readline()) not in (b"\r\n", b""):
        goes_on = goes_on and line.lower() != b"connection: close\r\n"
    rest = length
    while rest:
        part = stream.read(min(rest, 1 << 18))
        if not part:
            raise OSError(f"{path}: {rest} bytes are missing")
        rest -= len(part)
        time.sleep(pace)
    return goes_on


def go_on(kind, path, length, pace=0.0):
    global longest, kept
    while not stopped.is_set():
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
                stream = client.makefile("rb")
                with lock:
                    kept += kind == "kept"
                goes_on = True
                while goes_on and not stopped.is_set():
                    start = time.monotonic()
                    goes_on = ask(stream, client, path, length, pace) and kind == "kept"
                    with lock:
                        answered[kind] += 1
                        longest = max(longest, time.monotonic() - start)
        except OSError as error:
            with lock:
                failures.append(f"{kind}: {error!r}")
            time.sleep(0.05)


signal.signal(signal.SIGTERM, lambda *_: stopped.set())
kinds = [("new", "x", 6)] * 3 + [("kept", "x", 6)] * 3 + [("large", "large", LARGE, 0.05)]
threads = [threading.Thread(target=go_on, args=kind) for kind in kinds]
for thread in threads:
    thread.start()
while not (answered["new"] and answered["kept"] or failures):
    time.sleep(0.01)
print("asking", flush=True)
while not stopped.wait(0.2):
    pass
for thread in threads:
    thread.join()
print(
    json.dumps(
        {
            **answered,
            "connections kept": kept,
            "longest": round(longest, 2),
            "failed": len(failures),
            "failures": failures[:5],
        }
    )
)
