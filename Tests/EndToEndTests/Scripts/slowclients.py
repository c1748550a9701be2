#!/usr/bin/env python3
"""Many slow clients of a proxy, and a good one beside them.

usage: slowclients.py KIND COUNT PROXY-PORT ORIGIN-PORT SECONDS

KIND is what the slow ones do: heads (a byte of a request's head, once a second), bodies (a byte of a body),
readers (take a few bytes of a large response). They come by and by, within a second or two. The good client asks for a
mapped URL and for one of the origin's in turn, a second by itself and then so many seconds beside them. Prints `alone p99 MILLISECONDS`,
`beside p99 MILLISECONDS`, and with heads `answered COUNT` and
`longest MILLISECONDS`: how many slow ones were answered with 408, and how long the last of them was waited for; at the
end `samples COUNT`, how many requests the good client had beside them. Standard library only.
"""
import os
import resource
import select
import socket
import sys
import time

kind, count, proxy, origin = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
# Takes connections and bytes in, as far as the kernel does, and never answers.
sink = socket.create_server(("127.0.0.1", 0), backlog=1024)
requests = {
    "heads": "GET http://mapped.test/x HTTP/1.1\r\nHost: mapped.test\r\nX-Slow: ",
    "bodies": f"PUT http://127.0.0.1:{sink.getsockname()[1]}/ HTTP/1.1\r\nHost: a\r\nContent-Length: 8192\r\n\r\n",
    "readers": "GET http://mapped.test/file HTTP/1.1\r\nHost: mapped.test\r\n\r\n",
}
ARRIVALS = 50
LIFE = float(sys.argv[5])


def get(url):
    with socket.create_connection(("127.0.0.1", proxy)) as client:
        client.sendall(f"GET {url} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while part := client.recv(65536):
            data += part
        if not data.startswith(b"HTTP/1.1 200 "):
            raise SystemExit(f"{url}: {data[:200]}")


def good_client(seconds, delays):
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(delays) < 300:
        for url in ("http://mapped.test/x", f"http://127.0.0.1:{origin}/"):
            start = time.monotonic()
            get(url)
            delays.append(time.monotonic() - start)
        time.sleep(0.002)


def arrive(group):
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", proxy))
    client.sendall(requests[kind].encode())
    client.setblocking(False)
    group.append((client, time.monotonic()))


resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


def percentile(delays):
    return int(1000 * sorted(delays)[len(delays) * 99 // 100])


alone_delays, beside_delays = [], []
good_client(1.0, alone_delays)
print(f"alone p99 {percentile(alone_delays)}", flush=True)
start = time.monotonic()
# A process of its own, since threads here wait for each other.
counted, counting = os.pipe()
beside = os.fork()
if beside == 0:
    good_client(LIFE, beside_delays)
    print(f"beside p99 {percentile(beside_delays)}", flush=True)
    os.write(counting, str(len(beside_delays)).encode())
    os._exit(0)
os.close(counting)
is_over = False
# Each group has its turn once a second.
groups = [[] for _ in range(50)]
arrived = answered = turn = 0
longest = 0.0
while arrived < count or not is_over or (kind == "heads" and any(groups) and time.monotonic() - start < 600):
    is_over = is_over or os.waitpid(beside, os.WNOHANG)[0] == beside
    turn = (turn + 1) % len(groups)
    for _ in range(min(max(1, count // ARRIVALS), count - arrived)):
        arrive(groups[turn])
        arrived += 1
    kept = []
    for client, since in groups[turn]:
        try:
            if kind == "readers":
                client.recv(5)
            else:
                client.send(b"x")
        except OSError:
            # Nothing there, no room, or the proxy has closed: what it said is read below.
            pass
        if kind == "heads":
            poll = select.poll()
            poll.register(client, select.POLLIN)
            if poll.poll(0):
                data = client.recv(65536)
                answered += data.startswith(b"HTTP/1.1 408 ")
                longest = max(longest, time.monotonic() - since)
                client.close()
                continue
        kept.append((client, since))
    groups[turn] = kept
    time.sleep(0.02)
if kind == "heads":
    print(f"answered {answered} longest {int(1000 * longest)}")
print(f"samples {os.read(counted, 32).decode()}")
