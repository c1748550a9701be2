"""What becomes of request fields that are malformed, that would mean something else in HTTP/1, or that are too many."""
from http2stage import HOST, TEXT, main
from http2wire import *

CASES = []
# In requests that may be on their way to the origin when they turn out to be malformed, and reach it in a later case.
LATE = b"/late "


def good_after(wire):
    response = wire.get()
    assert (response.status, response.body) == (200, TEXT.encode()), (response.status, response.reset)


def refused(name, fields, *outcomes, end=True, body=None):
    """The request gets one of `outcomes` (a status, or -code of RST_STREAM) and never reaches the origin, and the
    connection goes on."""
    def perform(stage):
        before = len(stage.origin.heads)
        with stage.wire() as wire:
            sent = fields(wire) if callable(fields) else fields
            stream = wire.open(sent, end=end and body is None)
            if body is not None:
                wire.send(frame(DATA, END_STREAM, stream, body))
            response = wire.response(stream)
            outcome = response.status if response.status is not None else -(response.reset or 0)
            assert outcome in outcomes, f"{outcome}, not {outcomes}"
            good_after(wire)
        came = [head for head in stage.origin.heads[before:] if LATE not in head]
        assert not came, came
    CASES.append((name, perform))


def echoed(name, fields, check, body=None, trailers=None):
    """The request reaches the origin, which shows what it got."""
    def perform(stage):
        with stage.wire() as wire:
            stream = wire.open(wire.request_fields("/o/echo", "GET" if body is None else "POST", *fields), body is None)
            if body is not None:
                wire.send(frame(DATA, 0 if trailers else END_STREAM, stream, body))
            if trailers:
                wire.send(headers(stream, trailers))
            response = wire.response(stream)
            assert response.status == 200, (response.status, response.reset, response.body)
            check(response.body.decode("latin-1"))
            good_after(wire)
    CASES.append((name, perform))


def asked(path="/o/echo", *more, **replaced):
    """A request's fields, pseudo-fields replaced by name, or left out where None."""
    pseudo = {"method": "GET", "scheme": "https", "path": path, "authority": HOST, **replaced}
    return [(f":{name}", value) for name, value in pseudo.items() if value is not None] + list(more)


# Bytes that would end a line in HTTP/1.
for name, bad in [("CR LF", "a\r\nInjected: 1"), ("LF", "a\nInjected: 1"), ("CR", "a\rb"), ("NUL", "a\0b"), ("DEL", "a\x7fb")]:
    refused(f"{name} in a value", asked("/o/echo", ("x-a", bad)), -PROTOCOL_ERROR)
    refused(f"{name} in a name", asked("/o/echo", ("x-" + bad, "1")), -PROTOCOL_ERROR)
    refused(f"{name} in a cookie", asked("/o/echo", ("cookie", "a=1"), ("cookie", bad)), -PROTOCOL_ERROR)
    refused(f"{name} in :path", asked("/o/" + bad), -PROTOCOL_ERROR, 400)
    refused(f"{name} in :authority", asked(authority=HOST + bad), -PROTOCOL_ERROR, 400, 421)
    refused(f"{name} in :method", asked(method="GET" + bad), -PROTOCOL_ERROR, 400)
    refused(f"{name} in :scheme", asked(scheme="https" + bad), -PROTOCOL_ERROR, 400)
refused("a request line in :method", asked(method="GET / HTTP/1.1\r\nX: y"), -PROTOCOL_ERROR)
refused("a space in :method", asked(method="GET /x"), -PROTOCOL_ERROR)

# Paths that no request target can have.
for path in ["/o/a b", "/o/a#b", f"https://{HOST}/o/echo", "http://other.test/", "", "o/echo", "*", "/o/\x80\x01", "?a"]:
    refused(f":path {path!r}", asked(path), -PROTOCOL_ERROR, 400)

# Fields that HTTP/2 forbids, and pseudo-fields that it needs (RFC 9113 §8.2, §8.3).
for field in [("X-Upper", "1"), ("connection", "close"), ("connection", "keep-alive"), ("transfer-encoding", "chunked"),
              ("transfer-encoding", "identity"), ("upgrade", "h2c"), ("keep-alive", "5"), ("proxy-connection", "close"),
              ("te", "gzip"), ("te", "trailers, deflate"), ("http2-settings", "AAMAAABk"), ("host", "other.test"),
              (":path", "/"), (":unknown", "1"), (":status", "200"), (":protocol", "websocket"), ("x y", "1"),
              ("x:y", "1"), ("x\x80y", "1")]:
    refused(f"{field[0]}: {field[1]}", asked("/o/echo", field), -PROTOCOL_ERROR)
refused("a pseudo-field behind another field", [("x-a", "1"), *asked()], -PROTOCOL_ERROR)
refused("an unknown pseudo-field in front", [(":test", "1"), *asked()], -PROTOCOL_ERROR)
for name in ["method", "scheme", "path"]:
    refused(f"no :{name}", asked(**{name: None}), -PROTOCOL_ERROR)
    refused(f"two :{name}", [(f":{name}", dict(method="GET", scheme="https", path="/o/echo")[name]), *asked()],
            -PROTOCOL_ERROR)
refused("neither :authority nor host", asked(authority=None), -PROTOCOL_ERROR)
refused("the scheme http", asked(scheme="http"), -PROTOCOL_ERROR)
refused("two host fields", asked("/o/echo", ("host", HOST), ("host", "other.test"), authority=None), -PROTOCOL_ERROR)
echoed("host alone is as good as :authority", [], lambda text: None)
CASES[-1] = (CASES[-1][0], lambda stage: host_alone(stage))


def host_alone(stage):
    with stage.wire() as wire:
        assert wire.response(wire.open(asked("/", ("host", HOST), authority=None))).body == TEXT.encode()


# A Content-Length that is malformed or differs from the body.
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
for length in ["-1", "+35", "35, 35", " 35", "0x23", "", "99999999999999999999999"]:
    refused(f"content-length {length!r}", asked("/", ("content-length", length), method="POST"),
            -PROTOCOL_ERROR, 400, body=SMUGGLED[:35].ljust(35))
for length in ["34", "36", "1000"]:
    def wrong_length(stage, length=length):
        before = len(stage.origin.bodies)
        with stage.wire() as wire:
            stream = wire.open(asked("/o/echo", ("content-length", length), method="POST"), end=False)
            wire.send(frame(DATA, END_STREAM, stream, SMUGGLED[:35].ljust(35)))
            assert wire.response(stream).reset == PROTOCOL_ERROR
            # What is answered before its body has come does not end before it is known to be well formed.
            stream = wire.open(asked("/", ("content-length", length), method="POST"), end=False)
            wire.wait_for(DATA, stream)
            wire.send(frame(DATA, END_STREAM, stream, SMUGGLED[:35].ljust(35)))
            response = wire.response(stream)
            assert (response.status, response.body, response.reset) == (200, TEXT.encode()[:-1], PROTOCOL_ERROR)
            good_after(wire)
        assert len(stage.origin.bodies) == before
    CASES.append((f"content-length {length} of 35", wrong_length))


def no_length(stage):
    with stage.wire() as wire:
        stream = wire.open(asked("/o/late", ("content-length", "0"), method="POST"), end=False)
        wire.send(frame(DATA, END_STREAM, stream, SMUGGLED))
        assert wire.response(stream).reset == PROTOCOL_ERROR
        good_after(wire)
    assert not any(b"smuggled" in head for head in stage.origin.heads)


CASES.append(("content-length 0 with content", no_length))
refused("two content-lengths", asked("/", ("content-length", "35"), ("content-length", "0"), method="POST"),
        -PROTOCOL_ERROR, body=SMUGGLED[:35].ljust(35))
refused("content-length without content", asked("/o/echo", ("content-length", "5"), method="POST"), -PROTOCOL_ERROR)
echoed("a body that looks like a request", [], lambda text: check_smuggled(text), body=SMUGGLED)


def check_smuggled(text):
    assert text.count("HTTP/1.1") == 2 and "transfer-encoding: chunked" in text.lower(), text


# Names and values that RFC 9113 §8.2.1 forbids.
for name, field in [("a leading space", ("x-a", " 1")), ("a trailing space", ("x-a", "1 ")), ("a tab", ("x-a", "\t1")),
                    ("an empty name", ("", "1"))]:
    refused(f"{name}", asked("/o/echo", field), -PROTOCOL_ERROR)

# CONNECT inside a tunnel.
refused("CONNECT", [(":method", "CONNECT"), (":authority", f"{HOST}:443")], 400, 405, 501, -PROTOCOL_ERROR, end=False)
refused("CONNECT with :path", asked(method="CONNECT"), -PROTOCOL_ERROR)
refused("extended CONNECT", asked("/", method="CONNECT") + [(":protocol", "websocket")], -PROTOCOL_ERROR, end=False)

# Authorities other than the tunnel's, and spellings of the tunnel's.
for authority in ["other.test", "h.test:444", "u@h.test", "h.test..", "", "h.test:", "xn--h.test", "127.0.0.1"]:
    refused(f":authority {authority!r}", asked("/o/echo", authority=authority), 421, 400, -PROTOCOL_ERROR)
for authority in ["h.test:443", "H.Test", "h.test.", "H.Test.:443"]:
    CASES.append((f":authority {authority}", lambda stage, authority=authority: named(stage, authority)))


def named(stage, authority):
    with stage.wire() as wire:
        assert wire.response(wire.open(asked("/", authority=authority))).status == 200


# Limits of the header section and of the table.
def field_limit(stage):
    with stage.wire() as wire:
        assert wire.response(wire.open(asked("/", *((f"x-{n}", "1") for n in range(199))))).status == 200
        for count in (201, 1000):
            assert wire.response(wire.open(asked("/", *((f"x-{n}", "1") for n in range(count))))).status == 431
        good_after(wire)


def long_target(stage):
    with stage.wire() as wire:
        block_ = block(asked("/" + "a" * 33_000))
        wire.send(headers(1, block_[:16000], flags=0) + frame(CONTINUATION, 0, 1, block_[16000:32000])
                  + frame(CONTINUATION, END_HEADERS, 1, block_[32000:]))
        wire.next_stream = 3
        assert wire.response(1).status == 414
        good_after(wire)


def bomb(stage):
    before = stage.memory
    with stage.wire() as wire:
        first = block(asked("/")) + literal("x-bomb", "b" * 4000, 0x40)
        assert wire.response(wire.open(first)).status == 200
        for _ in range(20):
            assert wire.response(wire.open(block(asked("/")) + b"\xbe" * 16000)).status == 431
        good_after(wire)
    assert stage.memory - before < 30 << 20, stage.memory - before


def large_block(stage):
    with stage.wire() as wire:
        piece = literal("x-a", "b" * 16000)
        wire.send(headers(1, block(asked("/")), flags=0) + 5 * frame(CONTINUATION, 0, 1, piece))
        assert wire.response(1).goaway == ENHANCE_YOUR_CALM


CASES += [("200 fields at the most", field_limit), ("a target over the limit", long_target),
          ("an entry of the table named sixteen thousand times", bomb), ("a block over the limit", large_block)]


# Changes on the way to an HTTP/1 origin.
def one_cookie(text):
    assert "cookie: a=1; b=2; c=3\r\n" in text and text.lower().count("cookie") == 1, text


echoed("cookies are joined", [("cookie", "a=1"), ("x-a", "1"), ("cookie", "b=2"), ("cookie", "c=3")], one_cookie)


def bytes_kept(text):
    assert "x-latin: caf\xe9\r\n" in text and "x-tab: a\tb\r\n" in text, text


echoed("bytes that are no UTF-8 are kept", [("x-latin", b"caf\xe9"), ("x-tab", "a\tb")], bytes_kept)


def te_kept(text):
    assert "TE: trailers" in text and "Connection: TE" in text, text


echoed("te: trailers is passed on", [("te", "trailers")], te_kept)


def trailers_kept(text):
    assert "x-checksum: 1" in text and "transfer-encoding: 2" not in text, text


echoed("a request's trailers are passed on", [], trailers_kept, body=b"body", trailers=[("x-checksum", "1")])
for field in [(":path", "/"), ("X-A", "1"), ("transfer-encoding", "chunked"), ("x-a", "a\r\nb: c")]:
    def bad_trailers(stage, field=field):
        before = len(stage.origin.bodies)
        with stage.wire() as wire:
            stream = wire.open(asked("/o/echo", method="POST"), end=False)
            wire.send(frame(DATA, 0, stream, b"body") + headers(stream, [field]))
            assert wire.response(stream).reset == PROTOCOL_ERROR
            good_after(wire)
        assert len(stage.origin.bodies) == before
    CASES.append((f"a trailer {field}", bad_trailers))


def trailers_without_end(stage):
    with stage.wire() as wire:
        stream = wire.open(asked("/o/echo", method="POST"), end=False)
        wire.send(frame(DATA, 0, stream, b"body") + headers(stream, [("x-a", "1")], False))
        assert wire.response(stream).reset == PROTOCOL_ERROR
        good_after(wire)


CASES.append(("a second HEADERS without END_STREAM", trailers_without_end))


def large_trailers(stage, fields):
    before = len(stage.origin.bodies)
    with stage.wire() as wire:
        stream = wire.open(asked("/o/echo", method="POST"), end=False)
        wire.send(frame(DATA, 0, stream, b"body") + headers(stream, fields))
        assert wire.response(stream).status == 431
        good_after(wire)
    assert len(stage.origin.bodies) == before


CASES += [("more than 64 trailers", lambda stage: large_trailers(stage, [(f"x-{n}", "y") for n in range(65)])),
          ("trailers of more than 16 KiB", lambda stage: large_trailers(
              stage, literal("x-a", "b" * 4000, 0x40) + b"\xbe" * 4))]


def crumbs_joined(text):
    assert "cookie: " + "; ".join(f"c{n}={n}" for n in range(190)) + "\r\n" in text, text


echoed("190 crumbs of Cookie are one field", [("cookie", f"c{n}={n}") for n in range(190)] +
       [(f"x-{n}", "y") for n in range(100)], crumbs_joined)


def protocol_named(text):
    assert "Via: 2.0 subproxy-" in text, text


echoed("Via names HTTP/2", [], protocol_named)


if __name__ == "__main__":
    main(CASES)
