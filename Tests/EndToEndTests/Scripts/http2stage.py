"""A proxy with a map of https rules, an origin behind it, and the bookkeeping of cases. Standard library only."""
import os
import re
import select
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.parse

from http2wire import Closed, Wire

HOST = "h.test"
TEXT = "the map's own answer"


class Origin:
    """An HTTP/1.1 origin of threads that keeps what it got; the path says what it does."""

    def __init__(self, identity=None):
        """`identity`: the files of a certificate and its key, for TLS."""
        self.context = None
        if identity:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*identity)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.heads, self.bodies, self.ended, self.lock = [], [], 0, threading.Lock()
        self.users = {}
        self.stop_reading, self.gate = threading.Event(), threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            while self.exchange(connection):
                pass
        except OSError:
            pass
        finally:
            connection.close()

    def line(self, connection):
        line = b""
        while not line.endswith(b"\r\n"):
            byte = connection.recv(1)
            if not byte:
                if line:
                    raise ConnectionError
                return None
            line += byte
        return line

    def exact(self, connection, count):
        data = bytearray()
        while len(data) < count:
            piece = connection.recv(min(1 << 16, count - len(data)))
            if not piece:
                raise ConnectionError
            data += piece
        return bytes(data)

    def body(self, connection, fields):
        if "content-length" in fields:
            return self.exact(connection, int(fields["content-length"])), []
        if "transfer-encoding" not in fields:
            return b"", []
        data = bytearray()
        while True:
            line = self.line(connection)
            if line is None:
                raise ConnectionError
            size = int(line.split(b";")[0], 16)
            if size == 0:
                trailers = []
                while (line := self.line(connection)) != b"\r\n":
                    trailers.append(line)
                return bytes(data), trailers
            data += self.exact(connection, size)
            self.line(connection)

    def exchange(self, connection):
        lines = []
        while (line := self.line(connection)) not in (None, b"\r\n"):
            lines.append(line)
        if not lines:
            return False
        head = b"".join(lines)
        with self.lock:
            self.heads.append(head)
        method, target, _ = lines[0].decode("latin-1").split(" ")
        url = urllib.parse.urlsplit(target)
        query = dict(urllib.parse.parse_qsl(url.query, encoding="latin-1"))
        fields = {name.strip().lower(): value.strip()
                  for name, _, value in (line.decode("latin-1").partition(":") for line in lines[1:])}
        return self.answer(connection, url.path, query, method, head, fields)

    def answer(self, connection, path, query, method, head, fields):
        count = int(query.get("n", 0))
        if path == "/hang":
            # Only the end of the connection ends it.
            while connection.recv(1 << 16):
                pass
            with self.lock:
                self.ended += 1
            return False
        if path == "/big":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % count)
            piece = bytes(1 << 16)
            try:
                for start in range(0, count, len(piece)):
                    connection.sendall(piece[:count - start])
            except OSError:
                with self.lock:
                    self.ended += 1
                return False
            return True
        if path in ("/stored", "/gated"):
            return self.storable(connection, path, count, query.get("cc", "max-age=86400"), method, fields)
        if path == "/mine":
            return self.personal(connection, fields)
        if path == "/unread":
            # Takes a body only when told to.
            self.stop_reading.wait(300)
            data, _ = self.body(connection, fields)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%d" % (len(str(len(data))), len(data)))
            return True
        if path == "/early":
            # Answers before the body has come, with the status `n`.
            connection.sendall(b"HTTP/1.1 %d Early\r\nContent-Length: 5\r\n\r\nearly" % (count or 403))
            while connection.recv(1 << 16):
                pass
            return False
        if path == "/early-chunked":
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n0\r\n\r\n")
            while connection.recv(1 << 16):
                pass
            return False
        data, trailers = self.body(connection, fields)
        with self.lock:
            self.bodies.append((data, trailers))
        if path == "/raw":
            connection.sendall(query["r"].encode("latin-1"))
            return False
        reply = head + data + b"".join(trailers) if path == "/echo" else b"ok"
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
                           % (len(reply), b"" if method == "HEAD" else reply))
        return True


    def personal(self, connection, fields):
        """What may be stored, and says whose the connection is that it comes over; a 304 that fits nothing, when told to."""
        if fields.get("authorization", "").startswith("NTLM "):
            self.users[connection] = fields["authorization"][5:]
        if "if-none-match" in fields:
            self.gate.wait(300)
            connection.sendall(b'HTTP/1.1 304 Not Modified\r\nETag: "another"\r\n\r\n')
            return True
        user = self.users.get(connection, "nobody")
        age = 60 if self.gate.is_set() else 0
        connection.sendall((f"HTTP/1.1 200 OK\r\nContent-Length: {len(user)}\r\nETag: \"one\"\r\n"
                            f"Cache-Control: max-age={age}\r\n\r\n{user}").encode())
        return True

    def storable(self, connection, path, count, directives, method, fields):
        """A response with an entity tag that may be stored; /gated gives it when it is told to."""
        if path == "/gated":
            self.gate.wait(300)
        tag = f'"{count}"'
        if fields.get("if-none-match") == tag:
            connection.sendall(f"HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\nX-Fresh: 1\r\n\r\n".encode())
            return True
        connection.sendall((f"HTTP/1.1 200 OK\r\nContent-Length: {count}\r\nETag: {tag}\r\n"
                            f"Cache-Control: {directives}\r\n\r\n").encode())
        if method != "HEAD":
            connection.sendall(pattern(count))
        return True


def pattern(count):
    """So many bytes of which none can stand in for another."""
    return b"".join(b"%07x " % n for n in range(count // 8 + 1))[:count]


class Stage:
    def __init__(self, binary, *options, is_secure=False):
        """`is_secure`: whether the origin speaks TLS, so that what no rule answers is stored."""
        self.folder = tempfile.mkdtemp(prefix="subproxy-h2-")
        identity = (f"{self.folder}/origin.pem", f"{self.folder}/origin-key.pem") if is_secure else None
        if identity:
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                 "2", "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}", "-keyout", identity[1], "-out",
                 identity[0]], check=True, capture_output=True)
        self.origin = Origin(identity)
        self.origin_port = self.origin.port if identity else 443
        self.identity = identity
        with open(f"{self.folder}/big.bin", "wb") as file:
            file.truncate(100_000_000)
        with open(f"{self.folder}/page.html", "w") as file:
            file.write("<p>page</p>" * 200)
        with open(f"{self.folder}/m.yaml", "w") as file:
            file.write(f"""substitutions:
  https://{HOST}/: {{ text: "{TEXT}" }}
  https://{HOST}/big: {{ file: big.bin, methods: [GET, HEAD, POST, PUT] }}
  https://{HOST}/page: {{ file: page.html, methods: [GET, HEAD, POST, PUT] }}
  https://{HOST}/empty: {{ text: "" }}
  https://{HOST}/moved: {{ redirect: "https://{HOST}/page" }}
  https://{HOST}/blocked: {{ block: true }}
  https://{HOST}/absent: {{ text: "absent", status: 404 }}
  https://{HOST}/o/: {{ forward: "http://127.0.0.1:{self.origin.port}/" }}
""")
            ports = [self.origin_port] + self.add(file)
            file.write(f"intercept: [{HOST}]\n" if identity else "")
        if identity:
            options += ("--origin-ca", identity[0], "--connect-ports", ",".join(map(str, [443] + ports)))
            for port in ports:
                options += ("--resolve", f"{HOST}:{port}:127.0.0.1")
        self.command = [binary, "--map", f"{self.folder}/m.yaml", "--listen", "127.0.0.1:0", "--ca-dir",
                        f"{self.folder}/ca", *options]
        self.start()

    def add(self, map):
        """Writes more of the map; the ports of further origins of HOST."""
        return []

    def start(self):
        self.messages = []
        with open(f"{self.folder}/log", "a") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=subprocess.PIPE, text=True, env={**os.environ, "NOTIFY_SOCKET": ""})
        while True:
            line = self.process.stderr.readline()
            if not line:
                raise SystemExit("the proxy has not started: " + "".join(self.messages))
            self.messages.append(line)
            if found := re.search(r"listening on http://127.0.0.1:(\d+)", line):
                self.port = int(found[1])
                break
        threading.Thread(target=self.gather, args=(self.process,), daemon=True).start()
        # The authority is made at first need.
        wait(lambda: self.good() or True, 60, OSError, AssertionError)

    def gather(self, process):
        for line in process.stderr:
            self.messages.append(line)

    @property
    def authority(self):
        return f"{self.folder}/ca/ca.pem"

    def wire(self, **options):
        options.setdefault("origin_port", self.origin_port)
        if not os.path.exists(self.authority):
            with socket.create_connection(("127.0.0.1", self.port)) as plain:
                plain.sendall(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n".encode())
                plain.recv(100)
        return Wire(self.port, HOST, self.authority, **options)

    def good(self):
        """A good request on a connection of its own is answered."""
        with self.wire(origin_port=443) as wire:
            response = wire.get()
            assert (response.status, response.body) == (200, TEXT.encode()), (response.status, response.body)

    @property
    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024

    @property
    def descriptors(self):
        """How many are open, but for connections to the origin: as many are kept as were needed at a time."""
        folder, open_ = f"/proc/{self.process.pid}/fd", []
        for name in os.listdir(folder):
            try:
                open_.append(os.readlink(f"{folder}/{name}"))
            except OSError:
                pass
        with open("/proc/net/tcp") as file:
            rows = [row.split() for row in file.readlines()[1:]]
        kept = {f"socket:[{row[9]}]" for row in rows if int(row[2].split(":")[1], 16) == self.origin.port}
        return sum(target not in kept for target in open_)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.origin.listener.close()
        shutil.rmtree(self.folder)


def wait(condition, seconds=300, *ignored):
    """Waits until something holds; whether it does."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return True
        except ignored:
            pass
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)


def run(stage, cases, only=None):
    """Runs each case, and a good request after each; prints what failed, and the counts."""
    failures, passed = [], 0
    for name, case in cases:
        if only and only not in name:
            continue
        try:
            case(stage)
            assert stage.process.poll() is None, f"the proxy has ended: {''.join(stage.messages[-5:])}"
            stage.good()
            passed += 1
        except Exception as error:
            text = f"{type(error).__name__} {error}"
            place = traceback.extract_tb(error.__traceback__)[-1]
            failures.append(f"{name}: {text} ({os.path.basename(place.filename)}:{place.lineno})")
            if stage.process.poll() is not None:
                break
    for failure in failures:
        print("FAILED", failure)
    print(f"{passed} passed, {len(failures)} failed")
    return not failures


def main(cases, *options, is_secure=False):
    """`PROGRAM BINARY [WORD]`: runs the cases, or those whose names contain the word."""
    stage = Stage(sys.argv[1], *options, is_secure=is_secure)
    try:
        is_good = run(stage, cases, *sys.argv[2:3])
    finally:
        stage.stop()
    sys.exit(0 if is_good else 1)
