"""Bodies and what surrounds them over HTTP/2: uploads, trailers, interim responses, ranges, the end."""
import signal
import time
import urllib.parse

from http2stage import TEXT, main, wait
from http2wire import *

CASES = []
MEBIBYTE = 1 << 20


def case(name):
    def add(function):
        CASES.append((name, function))
        return function
    return add


def raw(response):
    return "/o/raw?r=" + urllib.parse.quote_from_bytes(response)


@case("an upload of 50 MB to an origin that does not read")
def upload(stage):
    total, memory, peak = 50 * MEBIBYTE, stage.memory, 0
    stage.origin.stop_reading.clear()
    with stage.wire() as wire:
        stream = wire.open(wire.request_fields("/o/unread", "POST"), end=False)
        windows, sent, since = {0: 65535, stream: 65535}, 0, time.monotonic()
        response = None
        while sent < total:
            count = min(1 << 14, windows[0], windows[stream], total - sent)
            if count > 0:
                wire.send(frame(DATA, END_STREAM if sent + count == total else 0, stream, bytes(count)))
                sent += count
                for target in windows:
                    windows[target] -= count
                if sent % MEBIBYTE < 1 << 14:
                    peak = max(peak, stage.memory)
                since = time.monotonic()
                continue
            try:
                got = wire.read(0.3)
                if got.kind == WINDOW_UPDATE:
                    windows[got.stream] += int.from_bytes(got.payload, "big")
                assert got.kind not in (RST_STREAM, GOAWAY), got.code
            except TimeoutError:
                peak = max(peak, stage.memory)
                if stage.origin.stop_reading.is_set():
                    # The origin reads, only not as fast on a busy machine.
                    assert time.monotonic() - since < 60, "the upload has stopped"
                    continue
                # The proxy takes no more than it may hold.
                assert sent < 16 * MEBIBYTE, sent
                stage.origin.stop_reading.set()
        assert stage.origin.stop_reading.is_set()
        response = wire.response(stream)
        assert response.body == str(total).encode(), response.body
    assert peak - memory < 12 * MEBIBYTE, peak - memory


@case("100 Continue")
def continued(stage):
    with stage.wire() as wire:
        stream = wire.open(wire.request_fields("/o/echo", "POST", ("expect", "100-continue")), end=False)
        while (got := wire.read()).kind != HEADERS:
            pass
        assert wire.fields.decode(got.payload) == [(":status", "100")]
        wire.send(frame(DATA, END_STREAM, stream, b"body"))
        assert wire.response(stream).body.endswith(b"body")


@case("interim responses")
def interim(stage):
    with stage.wire() as wire:
        response = wire.get(raw(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
        assert [fields[:2] for fields in response.interim] == [[(":status", "103"), ("link", "</a>")]], response.interim
        assert response.interim[0][2][0] == "via" and len(response.interim[0]) == 3, response.interim
        assert (response.status, response.body) == (200, b"ok")


@case("trailers of an origin, less those that are forbidden")
def trailers(stage):
    with stage.wire() as wire:
        response = wire.get(raw(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n4\r\nbody\r\n0\r\n"
            b"X-Sum: 1\r\nCache-Control: no-store\r\nSet-Cookie: a=b\r\n\r\n"))
        assert response.body == b"body"
        assert response.trailers is not None and ("x-sum", "1") in response.trailers, response.trailers
        assert not {"cache-control", "set-cookie"} & {name for name, _ in response.trailers}
        assert "transfer-encoding" not in response.fields


@case("fields of a connection are not passed on, and bytes are")
def response_fields(stage):
    with stage.wire() as wire:
        response = wire.get(raw(
            b"HTTP/1.1 200 Not: a-field\r\nContent-Length: 2\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n"
            b"X-Latin: caf\xe9\r\nX-UPPER:  1 \r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nok"))
        assert response.fields["x-latin"] == "caf\xe9" and response.fields["x-upper"] == "1"
        assert not {"connection", "keep-alive", "x-hop"} & set(response.fields)
        assert [value for name, value in response.lines if name == "set-cookie"] == ["a=1", "b=2"]
        assert all(name == name.lower() and name[1:].find(":") < 0 for name, _ in response.lines)


@case("a body that ends with the connection, and one that is cut short")
def lengths(stage):
    with stage.wire() as wire:
        assert wire.get(raw(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")).body == b"until the end"
        response = wire.get(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"))
        assert (response.status, response.reset) == (200, INTERNAL_ERROR), response.reset
        response = wire.get(raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n"))
        assert response.reset == INTERNAL_ERROR
        assert wire.get(raw(b"garbage\r\n\r\n")).status == 502
        assert wire.ping()


@case("HEAD, 204 and 304")
def bodyless(stage):
    with stage.wire() as wire:
        response = wire.response(wire.open(wire.request_fields("/", "HEAD")))
        assert (response.status, response.body, response.fields["content-length"]) == (200, b"", str(len(TEXT)))
        response = wire.response(wire.open(wire.request_fields("/o/echo", "HEAD")))
        assert (response.status, response.body) == (200, b"")
        response = wire.get(raw(b"HTTP/1.1 204 No Content\r\n\r\n"))
        assert (response.status, response.body) == (204, b"")
        response = wire.get("/page")
        response = wire.response(wire.open(wire.request_fields("/page", "GET", ("if-none-match", response.fields["etag"]))))
        assert (response.status, response.body) == (304, b"")


@case("ranges of a file, in memory and from disk")
def ranges(stage):
    with stage.wire() as wire:
        response = wire.response(wire.open(wire.request_fields("/page", "GET", ("range", "bytes=3-6"))))
        assert (response.status, response.body) == (206, b"page"), response.status
        response = wire.response(wire.open(wire.request_fields("/big", "GET", ("range", "bytes=99999990-"))))
        assert (response.status, response.body) == (206, bytes(10))
        response = wire.response(wire.open(wire.request_fields("/page", "GET", ("range", "bytes=0-1,5-6"))))
        assert response.status == 206 and b"multipart" in response.fields["content-type"].encode()


@case("a large file from disk")
def large(stage):
    memory = stage.memory
    with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 1 << 20)]) as wire:
        wire.send(window_update(0, 1 << 30))
        stream, size = wire.open(wire.request_fields("/big", "GET", ("range", "bytes=0-19999999"))), 0
        while True:
            got = wire.read()
            if got.kind == DATA:
                size += len(got.payload)
                wire.send(window_update(stream, len(got.payload)) if got.payload and not got.flags & END_STREAM else b"")
                if got.flags & END_STREAM:
                    break
            assert got.kind != RST_STREAM
        assert size == 20_000_000
    assert stage.memory - memory < 20 * MEBIBYTE


@case("streams take turns")
def fairness(stage):
    with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 1 << 24)]) as wire:
        wire.send(window_update(0, 1 << 24))
        first = wire.open(path="/big")
        small = wire.open(path="/page")
        received = 0
        while (got := wire.read()).stream != small or got.kind != DATA:
            received += len(got.payload) if got.stream == first and got.kind == DATA else 0
        assert received < 4 * MEBIBYTE, received
        wire.send(reset(first))
        assert wire.get().body == TEXT.encode()


@case("a client's reset ends the origin's transfer")
def cancelled(stage):
    ended, asked = stage.origin.ended, len(stage.origin.heads)
    with stage.wire() as wire:
        hanging = wire.open(path="/o/hang")
        large_ = wire.open(path="/o/big?n=100000000&x=1")
        while wire.read().kind != DATA:
            pass
        assert wait(lambda: len(stage.origin.heads) >= asked + 2)
        wire.send(reset(hanging) + reset(large_))
        assert wait(lambda: stage.origin.ended >= ended + 2), stage.origin.ended - ended
        assert wire.ping()


@case("a client that closes the connection ends its transfers")
def closed(stage):
    ended, asked = stage.origin.ended, len(stage.origin.heads)
    with stage.wire() as wire:
        wire.open(path="/o/hang")
        wire.open(path="/o/hang")
        assert wire.ping()
        assert wait(lambda: len(stage.origin.heads) >= asked + 2)
    assert wait(lambda: stage.origin.ended >= ended + 2)


@case("error pages")
def errors(stage):
    with stage.wire() as wire:
        response = wire.response(wire.open(wire.request_fields("/", "GET", authority="other.test")))
        assert response.status == 421 and b"another host" in response.body
        assert "proxy-status" in response.fields and response.fields["content-length"] == str(len(response.body))
        response = wire.response(wire.open(wire.request_fields("/", "GET", ("expect", "miracles"))))
        assert response.status == 417


@case("a hundred requests at once")
def many(stage):
    with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 1 << 20)]) as wire:
        wire.send(window_update(0, 1 << 24))
        wanted = {wire.open(path="/page" if n % 2 else "/o/echo") for n in range(100)}
        while wanted:
            got = wire.read()
            assert got.kind != RST_STREAM
            if got.kind == DATA and got.flags & END_STREAM:
                wanted.discard(got.stream)


@case("SIGTERM lets streams finish")
def terminated(stage):
    stage.origin.stop_reading.clear()
    with stage.wire() as wire, stage.wire() as idle:
        stream = wire.open(wire.request_fields("/o/unread", "POST"), end=False)
        assert wire.ping()
        stage.process.send_signal(signal.SIGTERM)
        while (got := idle.read()).kind != GOAWAY:
            pass
        assert (got.code, got.last_stream) == (NO_ERROR, 0)
        try:
            idle.read()
            raise AssertionError("an idle connection stays open")
        except Closed:
            pass
        while (got := wire.read()).kind != GOAWAY:
            pass
        assert (got.code, got.last_stream) == (NO_ERROR, stream)
        late = wire.open()
        wire.send(frame(DATA, END_STREAM, stream, b"body"))
        stage.origin.stop_reading.set()
        response = wire.response(stream)
        assert (response.status, response.body) == (200, b"4"), (response.status, late)
        try:
            while True:
                assert wire.read().stream != late
        except Closed:
            pass
    assert stage.process.wait(300) == 0
    # Those that come after have a proxy of their own.
    stage.start()


if __name__ == "__main__":
    main(CASES)
