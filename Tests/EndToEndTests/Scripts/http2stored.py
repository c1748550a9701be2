"""Stored responses over HTTP/2: hits, validation, parts, requests that share one fetch, and clients that read slowly."""
from http2stage import main, pattern, wait
from http2wire import *

CASES = []
MEBIBYTE = 1 << 20


def case(name):
    def add(function):
        CASES.append((name, function))
        return function
    return add


def asked(stage, path):
    """How often the origin was asked for a path."""
    return sum(head.split(b" ")[1] == path.encode() for head in stage.origin.heads)


def ask(wire, path, *fields, method="GET"):
    return wire.response(wire.open(wire.request_fields(path, method, *fields)))


@case("a hit has an age, also on another connection, and the origin is asked once")
def hit(stage):
    path = "/stored?n=3000"
    with stage.wire() as wire, stage.wire() as other:
        first = ask(wire, path)
        assert (first.status, first.body) == (200, pattern(3000)), (first.status, first.body[:80])
        assert first.fields["cache-status"] == "subproxy; fwd=uri-miss; stored", first.fields
        for one in (wire, other, wire):
            again = ask(one, path)
            assert (again.status, again.body) == (200, pattern(3000))
            assert again.fields["cache-status"].startswith("subproxy; hit; ttl="), again.fields
            assert 0 <= int(again.fields["age"]) < 3600 and "date" in again.fields
            assert [name for name, _ in again.lines].count("age") == 1
            assert not {"connection", "keep-alive", "transfer-encoding"} & set(again.fields)
    assert asked(stage, path) == 1


@case("what is stale is validated, and its stored body sent")
def validated(stage):
    path = "/stored?n=100000&cc=max-age%3D0"
    with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 1 << 20)]) as wire:
        assert ask(wire, path).body == pattern(100_000)
        again = ask(wire, path)
        assert (again.status, again.body) == (200, pattern(100_000))
        assert again.fields["cache-status"] == "subproxy; fwd=stale; fwd-status=304", again.fields
        assert again.fields["x-fresh"] == "1"
    assert asked(stage, path) == 2
    assert b'if-none-match: "100000"' in stage.origin.heads[-1].lower()


@case("the client's own preconditions are answered with 304")
def conditional(stage):
    path = "/stored?n=2000"
    with stage.wire() as wire:
        ask(wire, path)
        response = ask(wire, path, ("if-none-match", '"2000"'))
        assert (response.status, response.body, response.fields["etag"]) == (304, b"", '"2000"')
        response = ask(wire, path, ("if-none-match", '"other"'))
        assert (response.status, response.body) == (200, pattern(2000))
        assert wire.ping()
    assert asked(stage, path) == 1


@case("parts of a stored response")
def parts(stage):
    path, whole = "/stored?n=200000", pattern(200_000)
    with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 1 << 20)]) as wire:
        ask(wire, path)
        for value, start, end in [("bytes=0-0", 0, 1), ("bytes=70000-139999", 70_000, 140_000), ("bytes=-5", 199_995, 200_000),
                                  ("bytes=199990-300000", 199_990, 200_000)]:
            response = ask(wire, path, ("range", value))
            assert (response.status, response.body) == (206, whole[start:end]), (value, response.status)
            assert response.fields["content-range"] == f"bytes {start}-{end - 1}/200000"
            assert response.fields["content-length"] == str(end - start)
        response = ask(wire, path, ("range", "bytes=0-9,100-109"))
        assert response.status == 206 and whole[:10] in response.body and whole[100:110] in response.body
        assert int(response.fields["content-length"]) == len(response.body)
        assert ask(wire, path, ("range", "bytes=200000-")).status == 416
        assert wire.ping()
    assert asked(stage, path) == 1


@case("HEAD of a stored response")
def head(stage):
    for size in [0, 10, 300_000]:
        path = f"/stored?n={size}&for=head"
        with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 1 << 20)]) as wire:
            assert ask(wire, path).body == pattern(size)
            response = ask(wire, path, method="HEAD")
            assert (response.status, response.body) == (200, b"")
            assert response.fields["content-length"] == str(size) and "age" in response.fields
            assert ask(wire, path).body == pattern(size)
        assert asked(stage, path) == 1


def responses(wire, streams):
    """Reads to the end of many streams: the bodies, fields and codes of RST_STREAM."""
    bodies, fields, codes, left = {stream: b"" for stream in streams}, {}, {}, set(streams)
    while left:
        got = wire.read()
        if got.kind == HEADERS:
            fields[got.stream] = dict(wire.fields.decode(got.payload))
        elif got.kind == DATA:
            bodies[got.stream] += got.payload
            if got.payload:
                wire.send(window_update(0, len(got.payload)))
                if not got.flags & END_STREAM:
                    wire.send(window_update(got.stream, len(got.payload)))
        elif got.kind == RST_STREAM:
            codes[got.stream] = got.code
            left.discard(got.stream)
        if got.kind in (HEADERS, DATA) and got.flags & END_STREAM:
            left.discard(got.stream)
    return bodies, fields, codes


def shared(name, size, gone):
    """Twenty streams of one connection share one fetch; those of `gone` are reset while they wait."""
    path = f"/gated?n={size}&gone={len(gone)}{''.join(map(str, gone))}"

    def perform(stage):
        stage.origin.gate.clear()
        with stage.wire() as wire:
            streams = [wire.open(wire.request_fields(path)) for _ in range(20)]
            assert wire.ping()
            assert wait(lambda: asked(stage, path) == 1)
            for index in gone:
                wire.send(reset(streams[index]))
            assert wire.ping()
            stage.origin.gate.set()
            left = [stream for index, stream in enumerate(streams) if index not in gone]
            bodies, fields, codes = responses(wire, left)
            assert not codes and all(bodies[stream] == pattern(size) for stream in left), codes
            kinds = [fields[stream]["cache-status"] for stream in left]
            assert all(kind.startswith("subproxy; fwd=uri-miss; stored") or kind.startswith("subproxy; hit")
                       for kind in kinds), kinds
            assert ask(wire, path).fields["cache-status"].startswith("subproxy; hit")
        assert asked(stage, path) == 1, asked(stage, path)
    CASES.append((name, perform))


for size in [500, 700_000]:
    shared(f"twenty streams share one fetch of {size} bytes", size, [])
    shared(f"a stream that is reset while it waits harms no other, {size} bytes", size, [7])
    shared(f"the stream that asked first is reset, {size} bytes", size, [0])
shared("all but one are reset", 900, list(range(19)))


@case("all that wait are reset, and the next one is served")
def all_gone(stage):
    path = "/gated?n=901"
    stage.origin.gate.clear()
    with stage.wire() as wire:
        streams = [wire.open(wire.request_fields(path)) for _ in range(20)]
        assert wire.ping() and wait(lambda: asked(stage, path) == 1)
        wire.send(b"".join(reset(stream) for stream in streams))
        assert wire.ping()
        stage.origin.gate.set()
        assert ask(wire, path).body == pattern(901)
        assert asked(stage, path) <= 2


@case("a slow reader of a large stored response holds neither memory nor others")
def slow(stage):
    size = 4 * MEBIBYTE
    path, whole = f"/stored?n={size}", pattern(size)
    with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 1 << 30)]) as wire:
        wire.send(window_update(0, 1 << 30))
        assert ask(wire, path).body == whole
    memory = stage.memory
    with stage.wire() as wire:
        wire.send(window_update(0, 1 << 30))
        # Windows that nobody opens.
        waiting = [wire.open(wire.request_fields(path)) for _ in range(50)]
        assert ask(wire, "/stored?n=5").body == pattern(5)
        assert stage.memory - memory < 50 * 200_000, stage.memory - memory
        for stream in waiting[1:]:
            wire.send(reset(stream))
        assert wire.ping()
    with stage.wire() as wire:
        wire.send(window_update(0, 1 << 30))
        slow_stream, body, small = wire.open(wire.request_fields(path)), b"", []
        while len(body) < 400_000 or small:
            got = wire.read()
            if got.kind == HEADERS:
                wire.fields.decode(got.payload)
            elif got.kind == DATA and got.stream == slow_stream:
                body += got.payload
                # The window opens by as much as was taken; a small request goes beside each piece.
                wire.send(window_update(slow_stream, len(got.payload)))
                if len(body) < 400_000:
                    small.append(wire.open(wire.request_fields("/stored?n=5")))
            elif got.kind == DATA:
                assert got.payload == pattern(5)
                small.remove(got.stream)
            assert got.kind not in (RST_STREAM, GOAWAY)
        assert whole.startswith(body)
        wire.send(reset(slow_stream))
        assert wire.ping()
    assert asked(stage, path) == 1


@case("a request is not repeated over a connection that has become a user's meanwhile")
def authenticated(stage):
    stage.origin.gate.clear()
    with stage.wire() as wire, stage.wire() as other:
        assert ask(wire, "/mine").body == b"nobody"
        stream = wire.open(wire.request_fields("/mine"))
        assert wait(lambda: asked(stage, "/mine") == 2)
        assert ask(wire, "/mine?login", ("authorization", "NTLM eve")).body == b"eve"
        assert ask(wire, "/mine?again").body == b"eve"
        stage.origin.gate.set()
        assert wire.response(stream).body == b"nobody"
        assert asked(stage, "/mine") == 3
        assert ask(other, "/mine").body == b"nobody"
        assert ask(other, "/mine?again").body == b"nobody"


if __name__ == "__main__":
    main(CASES, "--collapse-timeout", "10m", is_secure=True)
