"""An origin, or a parent proxy, that sends what nobody asked for behind each response, and clients that ask on through the proxy.

Prints a port for each client. Once the file --proxy has the proxy's port, ROUNDS times for each delay a client asks at
its port for a URL of its own, waits until the bytes behind the response were sent, and asks for the next URL. Since
nobody else uses its port, they never cross a request on the wire. At the end all URLs are
asked for again, so that what is stored shows. Prints "N wrong of M", and how many came from the store.
"""
import argparse
import itertools
import socket
import ssl
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("--cert")
parser.add_argument("--key")
parser.add_argument("--host", default="127.0.0.1")
parser.add_argument("--proxy", required=True, help="a file that will have the proxy's port")
parser.add_argument("--rounds", type=int, default=10)
parser.add_argument("--clients", type=int, default=8)
parser.add_argument("--delays", default="0,1,20,100,200", help="milliseconds")
options = parser.parse_args()

LATE = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nCache-Control: max-age=600\r\n\r\nwrong",
    b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
    b"\r\n",
    b"wrong",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: max-age=600\r\n\r\n5\r\nwrong\r\n0\r\n\r\n",
]
sent = {}
sent_lock = threading.Lock()
scheme = "https" if options.cert else "http"


def event(path):
    with sent_lock:
        return sent.setdefault(path, threading.Event())


def read_head(connection, buffer):
    while b"\r\n\r\n" not in buffer:
        got = connection.recv(65536)
        if not got:
            return None, b""
        buffer += got
    head, _, rest = buffer.partition(b"\r\n\r\n")
    return head, rest


def serve(connection):
    # Else the kernel holds the late bytes back until the next request acknowledges the response.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        if options.cert:
            connection = context.wrap_socket(connection, server_side=True)
        buffer = b""
        while True:
            head, buffer = read_head(connection, buffer)
            if head is None:
                return
            # A parent proxy is asked in absolute-form.
            path = "/" + head.split(b" ")[1].decode().removeprefix("http://").split("/", 1)[1]
            body = b"" if head.startswith(b"HEAD ") else path.encode()
            # /d<milliseconds>/k<kind>/...
            _, delay, kind, _ = path.split("/", 3)
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: %d\r\n\r\n" % len(path) + body)
            time.sleep(int(delay[1:]) / 1000)
            try:
                connection.sendall(LATE[int(kind[1:])])
            finally:
                event(path).set()
    except OSError:
        pass
    finally:
        connection.close()


def ask(connection, port, path, method="GET"):
    target = f"{scheme}://{options.host}:{port}{path}"
    connection.sendall(f"{method} {target} HTTP/1.1\r\nHost: {options.host}:{port}\r\n\r\n".encode())
    head, body = read_head(connection, b"")
    if head is None:
        return 0, "", ""
    fields = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:])
    length = int(fields.get("Content-Length", 0)) if method == "GET" else 0
    while len(body) < length:
        got = connection.recv(65536)
        if not got:
            break
        body += got
    return int(head.split(b" ")[1]), body.decode("latin-1"), fields.get("Cache-Status", "")


def connect():
    connection = socket.create_connection(("127.0.0.1", proxy_port))
    connection.settimeout(300)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def client(port, work):
    connection = connect()
    for path in work:
        # A response to HEAD is not stored, and its connection is kept as well.
        method = "HEAD" if path.endswith("0") else "GET"
        status, body, _ = ask(connection, port, path, method)
        if status != 200 or method == "GET" and body != path:
            failures.append((path, method, status, body))
        if not event(path).wait(60):
            failures.append((path, "the origin never sent it"))


if options.cert:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.cert, options.key)
listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(options.clients)]
ports = [listener.getsockname()[1] for listener in listeners]
print(*ports, flush=True)


def accept(listener):
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


for listener in listeners:
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
deadline = time.monotonic() + 300
proxy_port = 0
while not proxy_port and time.monotonic() < deadline:
    try:
        proxy_port = int(open(options.proxy).read() or 0)
    except (FileNotFoundError, ValueError):
        time.sleep(0.02)

failures = []
paths = [
    f"/d{delay}/k{number % len(LATE)}/{number}"
    for number, delay in itertools.product(range(options.rounds), options.delays.split(","))
]
shares = [paths[index :: options.clients] for index in range(options.clients)]
threads = [threading.Thread(target=client, args=pair) for pair in zip(ports, shares)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

connection = connect()
hits = 0
for port, path in ((port, path) for port, share in zip(ports, shares) for path in share):
    if path.endswith("0"):
        continue
    status, body, cache_status = ask(connection, port, path)
    hits += "hit" in cache_status
    if status != 200 or body != path:
        failures.append((path, "again", status, body, cache_status))
for failure in failures[:10]:
    print("wrong:", *failure)
print(f"{len(failures)} wrong of {len(paths)}, {hits} stored", flush=True)
