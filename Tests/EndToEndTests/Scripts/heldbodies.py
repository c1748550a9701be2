"""Requests whose bodies are held while an origin or a source of the map is asked, and are replayed to another one: over
HTTP/2 and HTTP/1.1, of many sizes, with and without Content-Length, the origin up, down, failing at once and midway.

Each answer comes whole, and ends its stream, without the client's being waited for: the silence timeout is ten minutes. An
origin that answers has got the whole body.
"""
import json
import socket
import struct
import sys
import time

from http2stage import HOST, Origin, Stage, run
from http2wire import *

MEBIBYTE = 1 << 20
# An archive compares bodies of up to 1 MiB, and 256 KiB are held for the others.
SIZES = [0, 1, 1 << 16, MEBIBYTE, MEBIBYTE + 1]
# Those that are sent without Content-Length too.
UNTOLD = [0, 1, MEBIBYTE + 1]
# Where the body passes, in whatever pieces it comes: more than any buffer takes.
LONG = {("/text", "up"): [8 * MEBIBYTE], ("/first/any", "up"): [8 * MEBIBYTE], ("/first/any", "down"): [8 * MEBIBYTE],
        ("/no-file", "up"): [8 * MEBIBYTE]}
# The limit of a body in memory.
BUFFER = 1 << 18
ELSEWHERE = "/elsewhere"
LIMIT = "limits: { body: 16MiB, bytes: 16MiB }"
# When an origin is asked that fails, the place answers: path, rule, and the answer to a body, None for one of the
# origin's failure.
FIRST = [
    ("/text", "text: stand-in", lambda body: (200, b"stand-in")),
    ("/file", "file: small.txt", lambda body: (200, b"small")),
    ("/used", "template: { text: '[{{{request.body}}}]' }, " + LIMIT, lambda body: (200, b"[" + body + b"]")),
    ("/unused", "template: { text: page }", lambda body: (200, b"page")),
    ("/rows", "sqlite: a.db, seed: a.sql, writes: memory, resource: t, " + LIMIT, lambda body: (
        201 if len(body) > 10 else 400, None)),
    ("/turn-used", "answers: [{ template: { text: '[{{{request.body}}}]' }, " + LIMIT + " }]",
     lambda body: (200, b"[" + body + b"]")),
    ("/turn-unused", "answers: [{ text: turn }]", lambda body: (200, b"turn")),
    # Asked of the origin that is up; what is more than may be held is not.
    (ELSEWHERE, f'forward: "https://{HOST}:UP/other"', lambda body: (200, b"ok") if len(body) <= BUFFER else None),
    ("/first/any", None, lambda body: (200, b"any")),
    ("/first/told", None, lambda body: (200, b"told") if len(body) > MEBIBYTE else None),
    ("/first/refused", None, lambda body: (200, b"refused") if len(body) > MEBIBYTE else (404, None)),
]
# What is missing is the origin's: path, rule, whether it is missing for a body.
MISSING = [
    ("/no-file", "file: nix.txt, missing: forward", lambda body: True),
    ("/no-template", "template: nix.txt, missing: forward", lambda body: True),
    ("/no-rows", "sqlite: nix.db, writes: file, resource: t, missing: forward", lambda body: True),
    ("/told", None, lambda body: len(body) <= MEBIBYTE),
    ("/part", None, lambda body: True),
]


class Failing(Origin):
    """Fails as `way` says: `midway` closes the connection when half of the body has come, or at its beginning where its length is not told; `late` answers 503 to the whole
    one, `early` before it has come."""

    def __init__(self, identity, way):
        self.way = way
        super().__init__(identity)

    def answer(self, connection, path, query, method, head, fields):
        refusal = b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"
        if self.way == "late":
            self.body(connection, fields)
            connection.sendall(refusal)
            return True
        if self.way == "early":
            connection.sendall(refusal.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            while connection.recv(1 << 16):
                pass
            return False
        half = int(fields.get("content-length", 0)) // 2
        while half > 0 and (piece := connection.recv(min(half, 1 << 16))):
            half -= len(piece)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False


def entry(url, text, method="POST", sent=None, status=200, fields=()):
    data = {"postData": {"mimeType": "text/plain", "text": sent}} if sent else {}
    return {
        "startedDateTime": "2026-01-01T00:00:00Z", "time": 1,
        "request": {"method": method, "url": url, "headers": [], **data},
        "response": {"status": status, "statusText": "", "redirectURL": "", "headers": list(fields),
                     "content": {"size": len(text), "mimeType": "text/plain", "text": text}}}


class HeldStage(Stage):
    def add(self, map):
        self.down = socket.socket()
        # Taken, and nobody listens.
        self.down.bind(("127.0.0.1", 0))
        ways = {way: Failing(self.identity, way) for way in ["midway", "late", "early"]}
        self.places = {"up": self.origin_port, "down": self.down.getsockname()[1],
                       **{way: origin.port for way, origin in ways.items()}}
        entries = {"any": [], "refused": [], "plain": []}
        for port in self.places.values():
            base = f"https://{HOST}:{port}"
            for path, rule, _ in FIRST + MISSING:
                when = "" if rule and "missing" in rule else ", when: origin-fails"
                if rule:
                    rule = rule.replace(":UP/", f":{self.origin_port}/")
                    map.write(f'  "{base}{path}": {{ {rule}{when}, methods: [GET, POST] }}\n')
            entries["any"] += [entry(f"{base}/first/any", "any"), entry(f"{base}/first/told", "told", sent="b")]
            entries["refused"] += [entry(f"{base}/first/refused", "refused", sent="b")]
            part = {"name": "Content-Range", "value": "bytes 0-3/9"}
            entries["plain"] += [entry(f"{base}/told", "told", sent="b"),
                                 entry(f"{base}/part", "part", method="GET", status=206, fields=[part])]
        map.write("archives:\n")
        for name, options in [("any", ", when: origin-fails, urls: [URLS]"), ("plain", ", urls: [URLS]"),
                              ("refused", ", when: origin-fails, missing: 404, urls: [URLS]")]:
            urls = ", ".join(json.dumps(each["request"]["url"]) for each in entries[name])
            map.write(f"  - {{ file: {name}.har{options.replace('URLS', urls)} }}\n")
            with open(f"{self.folder}/{name}.har", "w") as file:
                json.dump({"log": {"version": "1.2", "entries": entries[name]}}, file)
        with open(f"{self.folder}/small.txt", "w") as file:
            file.write("small")
        with open(f"{self.folder}/a.sql", "w") as file:
            file.write("CREATE TABLE t(id INTEGER PRIMARY KEY, b);")
        return list(self.places.values())[1:]


def content(size):
    """JSON of so many bytes."""
    text = b'{"b":"' + b"".join(b"%07x " % n for n in range(size // 8 + 1))
    return text[:size - 2] + b'"}' if size > 10 else b"1" * size


class Client2:
    """Requests one after the other over one HTTP/2 connection."""

    def __init__(self, stage, port):
        self.wire = stage.wire(origin_port=port, seconds=120)

    def ask(self, method, path, body, tells_length):
        wire = self.wire
        more = [("content-type", "application/json")] + ([("content-length", str(len(body)))] if tells_length else [])
        stream = wire.open(wire.request_fields(path, method, *more), end=False)
        wire.windows.setdefault(stream, 65535)
        frames, sent = [], 0
        while sent < len(body) or not body:
            count = min(1 << 14, wire.windows[0], wire.windows[stream], len(body) - sent)
            if count <= 0 and body:
                frames.append(wire.read())
                assert frames[-1].kind not in (RST_STREAM, GOAWAY), frames[-1].code
                continue
            part, sent = body[sent:sent + count], sent + count
            for target in (0, stream):
                wire.windows[target] -= count
            wire.send(frame(DATA, END_STREAM if sent == len(body) else 0, stream, part))
            if not body:
                break
        wire.kept = frames
        response = wire.response(stream)
        assert response.reset is None, response.reset
        assert wire.ping()
        return response.status, response.body

    def close(self):
        self.wire.socket.close()


class Client1:
    """The same over HTTP/1.1, each on a connection of its own: behind a large body the proxy may close it."""

    def __init__(self, stage, port):
        self.stage, self.port, self.wire = stage, port, None

    def line(self):
        while b"\n" not in self.data:
            self.more()
        line, _, self.data = self.data.partition(b"\n")
        return line.strip()

    def more(self):
        piece = self.wire.socket.recv(1 << 16)
        assert piece, "the connection has ended"
        self.data += piece

    def exact(self, count):
        while len(self.data) < count:
            self.more()
        piece, self.data = self.data[:count], self.data[count:]
        return piece

    def ask(self, method, path, body, tells_length):
        self.close()
        self.wire, self.data = self.stage.wire(
            origin_port=self.port, seconds=120, protocols=("http/1.1",), handshake=False), b""
        framing = f"Content-Length: {len(body)}" if tells_length else "Transfer-Encoding: chunked"
        self.wire.send(f"{method} {path} HTTP/1.1\r\nHost: {HOST}:{self.port}\r\nContent-Type: application/json\r\n"
                       f"{framing}\r\n\r\n".encode())
        if tells_length:
            self.wire.send(body)
        else:
            for start in range(0, len(body), 1 << 16):
                piece = body[start:start + (1 << 16)]
                self.wire.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wire.send(b"0\r\n\r\n")
        status = int(self.line().split()[1])
        fields = {}
        while line := self.line():
            name, _, value = line.decode("latin-1").partition(":")
            fields[name.lower()] = value.strip()
        if "transfer-encoding" in fields:
            pieces = []
            while size := int(self.line(), 16):
                pieces.append(self.exact(size))
                self.line()
            self.line()
            answer = b"".join(pieces)
        else:
            answer = self.exact(int(fields["content-length"]))
        return status, answer

    def close(self):
        if self.wire:
            self.wire.socket.close()
        self.wire = None


CASES = []


def add(path, way, version, expected):
    def perform(stage):
        client = (Client2 if version == 2 else Client1)(stage, stage.places[way])
        method = "GET" if path == "/part" else "POST"
        try:
            for size in SIZES + LONG.get((path, way), []):
                body = content(size)
                for tells_length in [True, False]:
                    if not tells_length and size not in UNTOLD:
                        continue
                    where = f"{size} bytes, " + ("told" if tells_length else "not told")
                    before = len(stage.origin.bodies)
                    try:
                        got = client.ask(method, path, body, tells_length)
                    except (TimeoutError, Closed, OSError) as error:
                        raise AssertionError(f"{where}: {error!r}") from error
                    status, answer = expected(body)
                    if path == "/first/told" and tells_length and not body:
                        # Without a body it is no request that the archive may answer.
                        status, answer = FAILED[way]
                    assert got[0] == status, f"{where}: {got[0]} {got[1][:300]}"
                    assert answer is None or got[1] == answer, f"{where}: {len(got[1])} {got[1][:60]}"
                    arrived = [data for data, _ in stage.origin.bodies[before:]]
                    isWhole = arrived == ([body] if answer == b"ok" else [])
                    assert isWhole, f"{where}: the origin got {[len(data) for data in arrived]}"
                    del stage.origin.bodies[before:]
        finally:
            client.close()
    CASES.append((f"HTTP/{version} {path}, the origin {way}", perform))


# What a request gets that is the origin's alone.
FAILED = {"up": (200, b"ok"), "down": (502, None), "midway": (502, None), "late": (503, b"busy"), "early": (503, b"busy")}
for version in [2, 1]:
    for way, failed in FAILED.items():
        for path, _, local in FIRST:
            without = failed if path == ELSEWHERE else (502, None)
            add(path, way, version, lambda body, way=way, local=local, without=without: (
                (200, b"ok") if way == "up" else local(body) or without))
        for path, _, missing in MISSING:
            add(path, way, version, lambda body, failed=failed, missing=missing: (
                failed if missing(body) else (200, b"told")))


if __name__ == "__main__":
    stage = HeldStage(sys.argv[1], "--origin-timeout", "10m", "--max-body-buffer", "256KiB", is_secure=True)
    started = time.monotonic()
    try:
        is_good = run(stage, CASES, *sys.argv[2:3])
    finally:
        stage.stop()
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
    sys.exit(0 if is_good else 1)
