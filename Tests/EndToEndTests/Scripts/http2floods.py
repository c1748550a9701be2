"""What one client may not do to the others: floods of frames, windows that never open, and requests that are never read.

The proxy runs with an origin timeout of two seconds.
"""
import struct
import sys
import time

from http2stage import TEXT, Stage, main, wait
from http2wire import *

CASES = []
MEBIBYTE = 1 << 20


def case(name):
    def add(function):
        CASES.append((name, function))
        return function
    return add


def ends_calm(wire):
    """Reads up to GOAWAY with ENHANCE_YOUR_CALM and the end of the connection; how many frames came before."""
    frames = []
    try:
        while True:
            frames.append(wire.read())
    except Closed:
        pass
    codes = [got.code for got in frames if got.kind == GOAWAY]
    assert codes == [ENHANCE_YOUR_CALM], f"GOAWAY {codes} after {len(frames)} frames"
    return frames


@case("rapid reset")
def rapid_reset(stage):
    before, memory, ended = len(stage.origin.heads), stage.memory, stage.origin.ended
    with stage.wire() as wire:
        request = block(wire.request_fields("/o/hang"))
        for start in range(0, 10_000, 100):
            wire.send(b"".join(headers(2 * n + 1, request) + reset(2 * n + 1) for n in range(start, start + 100)))
        ends_calm(wire)
    started = len(stage.origin.heads) - before
    assert started <= 201, f"{started} requests at the origin"
    assert wait(lambda: stage.origin.ended - ended >= len(stage.origin.heads) - before), "requests go on"
    assert stage.memory - memory < 40 * MEBIBYTE, stage.memory - memory


@case("made you reset: WINDOW_UPDATE of 0")
def made_you_reset(stage):
    before = len(stage.origin.heads)
    with stage.wire() as wire:
        request = block(wire.request_fields("/o/hang"))
        for n in range(1000):
            wire.send(headers(2 * n + 1, request) + window_update(2 * n + 1, 0))
        frames = ends_calm(wire)
    assert sum(got.kind == RST_STREAM for got in frames) <= 200
    assert len(stage.origin.heads) - before <= 201


@case("made you reset: DATA after END_STREAM")
def data_after_end(stage):
    with stage.wire() as wire:
        request = block(wire.request_fields("/o/hang"))
        for n in range(1000):
            wire.send(headers(2 * n + 1, request) + frame(DATA, 0, 2 * n + 1, b"x"))
        ends_calm(wire)


@case("malformed requests")
def malformed(stage):
    with stage.wire() as wire:
        for n in range(1000):
            wire.send(headers(2 * n + 1, [("x", "1")]))
        ends_calm(wire)


@case("CONTINUATION for ever")
def continuations(stage):
    with stage.wire() as wire:
        wire.send(headers(1, block(wire.request_fields()), flags=0))
        for _ in range(1000):
            wire.send(frame(CONTINUATION, 0, 1, b"\0"))
        ends_calm(wire)


@case("empty CONTINUATION for ever")
def empty_continuations(stage):
    with stage.wire() as wire:
        wire.send(headers(1, b"", flags=0) + 1000 * frame(CONTINUATION, 0, 1))
        ends_calm(wire)


def flood(name, data, count=10_000):
    def perform(stage):
        memory = stage.memory
        with stage.wire() as wire:
            for _ in range(count // 100):
                wire.send(data(wire) if callable(data) else 100 * data)
            ends_calm(wire)
        assert stage.memory - memory < 20 * MEBIBYTE, stage.memory - memory
    CASES.append((name, perform))


flood("PING", frame(PING, 0, 0, bytes(8)))
flood("PING acknowledgements", frame(PING, ACK, 0, bytes(8)))
flood("SETTINGS", settings((INITIAL_WINDOW_SIZE, 1)))
flood("empty SETTINGS", settings())
flood("PRIORITY", frame(PRIORITY, 0, 1, struct.pack(">IB", 3, 1)))
flood("unknown frames", frame(0x42, 0, 1, b"x"))
flood("WINDOW_UPDATE of all streams", window_update(0, 1))


def streams_windows(wire):
    if wire.next_stream == 1:
        wire.open(wire.request_fields("/o/hang"))
    return 100 * window_update(1, 1)


def resets_of_nothing(wire):
    if wire.next_stream == 1:
        wire.response(wire.open())
    return 100 * reset(1)


def blocks_of_nothing(wire):
    """Header sections of a stream that this side's error has closed."""
    if wire.next_stream == 1:
        assert wire.response(wire.open([("x", "1")])).reset == PROTOCOL_ERROR
    return 100 * headers(1, [("x", "1")])


flood("WINDOW_UPDATE of a stream", streams_windows)
flood("RST_STREAM of a closed stream", resets_of_nothing)
flood("HEADERS of a closed stream", blocks_of_nothing)
flood("requests over the number of streams",
      lambda wire: b"".join(headers(wire.next_stream + 2 * n, block(wire.request_fields("/o/hang"))) for n in range(100))
      + (setattr(wire, "next_stream", wire.next_stream + 200) or b""), 2000)


@case("PING and WINDOW_UPDATE beside answers are no flood")
def measured(stage):
    with stage.wire() as wire:
        request = block(wire.request_fields())
        for n in range(1000):
            wire.send(headers(2 * n + 1, request) + frame(PING, 0, 0, bytes(8)) + 20 * window_update(0, 1))
            while not (got := wire.read()).flags & END_STREAM or got.kind != DATA:
                assert got.kind != GOAWAY, (n, got.code)


@case("empty DATA")
def empty_data(stage):
    with stage.wire() as wire:
        stream = wire.open(wire.request_fields("/o/echo", "POST"), end=False)
        wire.send(10_000 * frame(DATA, 0, stream))
        ends_calm(wire)


@case("DATA of padding alone")
def padding(stage):
    with stage.wire() as wire:
        stream = wire.open(wire.request_fields("/o/echo", "POST"), end=False)
        wire.send(1000 * frame(DATA, PADDED, stream, b"\x05" + bytes(5)))
        ends_calm(wire)


def patient(body):
    """With a silence timeout that nobody waits for."""
    stage = Stage(sys.argv[1], "--origin-timeout", "10m")
    try:
        body(stage)
    finally:
        stage.stop()


@case("101 streams")
def too_many_streams(_):
    patient(hang_too_many)


def hang_too_many(stage):
    with stage.wire() as wire:
        assert wire.settings[MAX_CONCURRENT_STREAMS] == 100
        for _ in range(100):
            wire.open(wire.request_fields("/o/hang"))
        last = wire.open()
        assert wire.response(last).reset == REFUSED_STREAM
        wire.send(reset(1))
        response = wire.get()
        assert response.body == TEXT.encode()


@case("400 streams that are opened before the limit can be known")
def early_streams(_):
    patient(hang_early)


def hang_early(stage):
    with stage.wire(handshake=False) as wire:
        request = block(wire.request_fields("/o/hang"))
        wire.send(PREFACE + settings() + b"".join(headers(2 * n + 1, request) for n in range(400)))
        refused = set()
        while len(refused) < 300:
            got = wire.read()
            assert got.kind in (SETTINGS, WINDOW_UPDATE, RST_STREAM), got.kind
            if got.kind == RST_STREAM:
                assert got.code == REFUSED_STREAM
                refused.add(got.stream)
        assert refused == {2 * n + 1 for n in range(100, 400)}
        wire.next_stream = 801
        wire.send(frame(SETTINGS, ACK, 0) + reset(1))
        assert wire.get().body == TEXT.encode()


@case("streams beyond the limit, again and again")
def late_streams(_):
    patient(hang_late)


def hang_late(stage):
    with stage.wire() as wire:
        request = block(wire.request_fields("/o/hang"))
        wire.send(b"".join(headers(2 * n + 1, request) for n in range(1000)))
        frames = ends_calm(wire)
    assert sum(got.kind == RST_STREAM for got in frames) == 200


@case("100 large files with a window of 0")
def closed_windows(stage):
    memory = stage.memory
    for path in ["/big", "/o/big?n=100000000"]:
        with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 0)]) as wire:
            streams = {wire.open(path=path) for _ in range(100)}
            time.sleep(1)
            assert stage.memory - memory < 100 * MEBIBYTE, (path, stage.memory - memory)
            # The silence timeout ends them.
            closed = set()
            while closed != streams:
                got = wire.read()
                assert got.kind != DATA
                if got.kind == RST_STREAM:
                    assert got.code == CANCEL, got.code
                    closed.add(got.stream)
            assert wire.ping()


@case("a window that is opened byte by byte")
def drip(stage):
    with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 0)]) as wire:
        stream = wire.open(path="/big")
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            wire.send(window_update(stream, 1))
            time.sleep(0.02)
            try:
                while (got := wire.read(0.001)).kind != RST_STREAM:
                    pass
            except TimeoutError:
                continue
            assert got.code == CANCEL
            return
        raise AssertionError("the stream goes on")


@case("a connection that is never read")
def unread(stage):
    memory = stage.memory
    with stage.wire(receive_buffer=4096, initial=[(INITIAL_WINDOW_SIZE, 2 ** 31 - 1)]) as wire:
        wire.send(window_update(0, 2 ** 30))
        wire.socket.settimeout(0.5)
        request = block(wire.request_fields("/big"))
        try:
            for n in range(20_000):
                wire.socket.sendall(headers(2 * n + 1, request))
        except (TimeoutError, OSError):
            pass
        assert stage.memory - memory < 60 * MEBIBYTE, stage.memory - memory
        assert wait(lambda: stage.memory - memory < 60 * MEBIBYTE)


@case("answers that are never read")
def unread_answers(stage):
    memory = stage.memory
    with stage.wire(receive_buffer=4096, initial=[(INITIAL_WINDOW_SIZE, 2 ** 31 - 1)]) as wire:
        wire.send(window_update(0, 2 ** 30))
        wire.socket.settimeout(0.5)
        # HEAD, whose streams are over with their header section: else the number of streams would end it.
        request = block(wire.request_fields("/", "HEAD"))
        sent = 0
        try:
            for start in range(0, 500_000, 50):
                wire.socket.sendall(b"".join(headers(2 * n + 1, request) for n in range(start, start + 50)))
                sent += 50
        except (TimeoutError, OSError):
            pass
        assert sent < 500_000
        assert stage.memory - memory < 40 * MEBIBYTE, stage.memory - memory


@case("a header section that comes too slowly")
def slow_headers(stage):
    with stage.wire() as wire:
        wire.open()
        wire.send(headers(3, block(wire.request_fields()), flags=0)[:20])
        ends_calm(wire)


@case("a request whose body stops coming")
def slow_body(stage):
    with stage.wire() as wire:
        stream = wire.open(wire.request_fields("/o/echo", "POST"), end=False)
        wire.send(frame(DATA, 0, stream, b"x"))
        assert wire.response(stream).reset == CANCEL
        assert wire.ping()


@case("descriptors are given back")
def descriptors(stage):
    assert wait(lambda: stage.descriptors < 40), stage.descriptors


if __name__ == "__main__":
    main(CASES, "--origin-timeout", "2s", "--header-timeout", "3s")
