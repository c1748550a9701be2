"""Requests with bodies that nobody needs: clients go on with them, and get the whole answer. With curl, and in frames.

The proxy runs with an origin timeout of two seconds.
"""
import subprocess
import sys

from http2stage import HOST, TEXT, Stage, main
from http2wire import *

CASES = []
MEBIBYTE = 1 << 20
PAGE = "<p>page</p>" * 200


def case(name):
    def add(function):
        CASES.append((name, function))
        return function
    return add


def uploaded(method, path, size, status, body, *more):
    """curl sends `size` bytes, gets the answer, and comes to an end."""
    def perform(stage):
        file = f"{stage.folder}/upload"
        with open(file, "wb") as out:
            out.write(bytes(size))
        client = subprocess.run(
            ["curl", "--disable", "--silent", "--show-error", "--max-time", "300", "--noproxy", "", "--http2", "--proxy",
             f"http://127.0.0.1:{stage.port}", "--cacert", stage.authority, "--request", method, "--data-binary",
             f"@{file}", "--output", f"{stage.folder}/answer", "--write-out", "%{http_version} %{http_code}", *more,
             f"https://{HOST}{path}"],
            capture_output=True, text=True)
        assert (client.returncode, client.stdout) == (0, f"2 {status}"), (client.returncode, client.stdout, client.stderr)
        if body is not None:
            with open(f"{stage.folder}/answer") as answer:
                assert answer.read() == body
    CASES.append((f"curl: {method} {path} {' '.join(more)} of {size} bytes", perform))


for size in [1, (1 << 16) + 1, MEBIBYTE]:
    for path, status, body in [
            ("/", 200, TEXT), ("/page", 200, PAGE), ("/absent", 404, "absent"), ("/blocked", 403, None),
            ("/o/early?n=200", 200, "early"), ("/o/early?n=403", 403, "early")]:
        uploaded("POST", path, size, status, body)
    uploaded("PUT", "/moved", size, 302, None)
    uploaded("PUT", "/empty", size, 200, None)
    uploaded("GET", "/big", size, 206, "\0" * 10, "--header", "Range: bytes=0-9")
    uploaded("PUT", "/", size, 421, None, "--header", "Host: other.test")
    uploaded("POST", "/", size, 200, TEXT, "--header", "Expect: 100-continue")
    uploaded("POST", "/blocked", size, 403, None, "--header", "Expect: 100-continue")


def frames_of(wire, stream, count):
    """So many frames of a stream."""
    frames = []
    while len(frames) < count:
        got = wire.read()
        if got.stream == stream and got.kind != WINDOW_UPDATE:
            frames.append(got)
    return frames


@case("the last byte of an answer comes behind the request")
def last_byte(stage):
    with stage.wire() as wire:
        stream = wire.open(wire.request_fields("/", "POST"), end=False)
        first = frames_of(wire, stream, 2)
        assert [got.kind for got in first] == [HEADERS, DATA]
        assert first[1].payload == TEXT.encode()[:-1] and not first[1].flags & END_STREAM
        assert wire.ping()
        assert {got.kind for got in wire.upload(stream, 300_000)} == {WINDOW_UPDATE}
        last, = frames_of(wire, stream, 1)
        assert (last.kind, last.flags, last.payload) == (DATA, END_STREAM, TEXT.encode()[-1:])
        assert wire.ping() and wire.get().status == 200


@case("an answer without a body comes behind the request, also where trailers end it")
def bodyless(stage):
    for path, method, status in [("/empty", "POST", 200), ("/moved", "POST", 302), ("/", "HEAD", 200)]:
        with stage.wire() as wire:
            stream = wire.open(wire.request_fields(path, method), end=False)
            assert wire.ping()
            wire.send(frame(DATA, 0, stream, b"body") + headers(stream, [("x-sum", "1")]))
            response = wire.response(stream)
            assert (response.status, response.body, response.reset) == (status, b"", None)
            assert wire.ping()


@case("an answer of unknown length ends behind the request")
def unknown_length(stage):
    raw = "/o/early-chunked"
    with stage.wire() as wire:
        stream = wire.open(wire.request_fields(raw, "POST"), end=False)
        first = frames_of(wire, stream, 2)
        assert (first[0].kind, first[1].payload) == (HEADERS, b"early"), first[1].payload
        assert wire.ping()
        wire.upload(stream, 200_000)
        last, = frames_of(wire, stream, 1)
        assert (last.kind, last.flags, last.payload) == (DATA, END_STREAM, b"")


@case("an error is sent whole, and the request is still taken in")
def error(stage):
    for path in ["/absent", "/o/early?n=403"]:
        with stage.wire() as wire:
            stream = wire.open(wire.request_fields(path, "POST"), end=False)
            response = wire.response(stream)
            assert response.status in (403, 404) and response.body and response.reset is None
            assert {got.kind for got in wire.upload(stream, MEBIBYTE)} == {WINDOW_UPDATE}
            assert wire.ping() and wire.get().status == 200


@case("a client that waits for the end of the answer gets it after the silence timeout")
def silent(stage):
    with stage.wire() as wire, stage.wire() as other:
        answered = [(wire, wire.open(wire.request_fields("/", "POST"), end=False), TEXT.encode()),
                    (other, other.open(other.request_fields("/empty", "POST"), end=False), b"")]
        for one, stream, body in answered:
            response = one.response(stream)
            assert (response.status, response.body, response.reset) == (200, body, None)
        # Then the stream is over.
        for one, stream, _ in answered:
            assert one.response(stream).reset == NO_ERROR
            assert one.ping()


@case("a client that is at it is waited for")
def slow(_):
    # A busy machine may hold this client up for as long as the silence timeout of the others.
    stage = Stage(sys.argv[1], "--origin-timeout", "10s")
    try:
        go_on_slowly(stage)
    finally:
        stage.stop()


def go_on_slowly(stage):
    with stage.wire() as wire:
        stream = wire.open(wire.request_fields("/", "POST"), end=False)
        deadline = time.monotonic() + 12
        while time.monotonic() < deadline:
            wire.send(frame(DATA, 0, stream, bytes(2048)))
            try:
                while (got := wire.read(0.3)).kind != RST_STREAM:
                    assert not got.flags & END_STREAM or got.kind not in (DATA, HEADERS)
                raise AssertionError(got.code)
            except TimeoutError:
                continue
        wire.send(frame(DATA, END_STREAM, stream, b"x"))
        last, = frames_of(wire, stream, 1)
        assert last.flags & END_STREAM


@case("a client that goes on in drops gets the end, and then that of the stream")
def drops(stage):
    with stage.wire() as wire:
        stream = wire.open(wire.request_fields("/", "POST"), end=False)
        deadline = time.monotonic() + 300
        has_ended, code = False, None
        while code is None:
            assert time.monotonic() < deadline, has_ended
            wire.send(frame(DATA, 0, stream, b"x"))
            try:
                while code is None:
                    got = wire.read(0.3)
                    has_ended |= got.kind == DATA and got.flags & END_STREAM != 0
                    code = got.code if got.kind == RST_STREAM else None
            except TimeoutError:
                continue
        assert has_ended and code == NO_ERROR, (has_ended, code)
        assert wire.ping() and wire.get().status == 200


@case("an error of a rule is sent whole to a GET with a body, also where its answer is ready")
def ready_error(_):
    # With a silence timeout that nobody waits for.
    stage = Stage(sys.argv[1], "--origin-timeout", "10m")
    try:
        for _ in range(2):
            with stage.wire() as wire:
                assert wire.get("/absent").status == 404
                stream = wire.open(wire.request_fields("/absent"), end=False)
                response = wire.response(stream)
                assert (response.status, response.body) == (404, b"absent"), (response.status, response.body)
                wire.send(frame(DATA, END_STREAM, stream, b"x"))
                assert wire.ping()
    finally:
        stage.stop()


@case("a reset of such a request, and a body that is longer than told, end the stream")
def broken(stage):
    with stage.wire() as wire:
        first = wire.open(wire.request_fields("/", "POST"), end=False)
        assert wire.ping()
        wire.send(reset(first))
        second = wire.open(wire.request_fields("/page", "POST", ("content-length", "5")), end=False)
        wire.send(frame(DATA, 0, second, b"123456"))
        assert wire.response(second).reset == PROTOCOL_ERROR
        assert wire.ping() and wire.get().status == 200


@case("a large answer and a large request at once")
def both(stage):
    with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 1 << 24)]) as wire:
        wire.send(window_update(0, 1 << 30))
        stream = wire.open(wire.request_fields("/big", "GET", ("range", "bytes=0-1999999")), end=False)
        others = wire.upload(stream, 2 * MEBIBYTE)
        size = sum(len(got.payload) for got in others if got.kind == DATA)
        while True:
            got = wire.read()
            size += len(got.payload) if got.kind == DATA else 0
            if got.flags & END_STREAM and got.kind == DATA:
                break
        assert size == 2_000_000, size


if __name__ == "__main__":
    main(CASES, "--origin-timeout", "2s")
