"""The rules of RFC 9113 and RFC 7541 one by one, as a conformance tester judges them: with what may pass for an answer to each
breach, and how soon it comes. Compression is as clients do it: Huffman, and entries in the dynamic table.

Each case runs for a page of the map, for a refused request, and for one that goes to the origin.
"""
import struct
import sys
import time

from http2stage import HOST, Stage, wait
from http2wire import *

SECONDS = 300
FRAME = 1 << 14
X, PADDING = "x" * 4000, bytes(8)
NONE, ALL = bytes(8), b"h2-test\0"


class Compressor:
    """HPACK as clients use it."""

    def __init__(self):
        self.table = []

    def block(self, fields):
        out = b""
        for field in fields:
            known = STATIC_TABLE[1:] + self.table
            if field in known:
                out += integer(known.index(field) + 1, 7, 0x80)
                continue
            names = [name for name, _ in known]
            if field[0] in names:
                out += integer(names.index(field[0]) + 1, 6, 0x40)
            else:
                out += b"\x40" + self.string(field[0])
            out += self.string(field[1])
            self.table.insert(0, field)
            while sum(len(name) + len(value) + 32 for name, value in self.table) > 4096:
                self.table.pop()
        return out

    def string(self, text):
        coded = huffman(text.encode())
        return integer(len(coded), 7, 0x80) + coded


class Client:
    """A connection, and what is asked for on it."""

    def __init__(self, stage, path, authority, handshake=True):
        self.stage, self.path, self.authority = stage, path, authority
        self.wire = Wire(stage.port, HOST, stage.authority, handshake=False, is_strict=True)
        self.compressor, self.settings = Compressor(), {}
        if not handshake:
            return
        self.send(PREFACE, settings((INITIAL_WINDOW_SIZE, 65535)))
        theirs = ours = False
        while not (theirs and ours):
            got = self.wire.read(SECONDS)
            if got.kind == SETTINGS and got.flags & ACK:
                ours = True
            elif got.kind == SETTINGS:
                theirs, self.settings = True, dict(struct.iter_unpack(">HI", got.payload))
                self.send(frame(SETTINGS, ACK, 0))

    def send(self, *parts):
        for part in parts:
            self.wire.send(part)

    def fields(self, method="GET", *more):
        return [(":method", method), (":scheme", "https"), (":path", self.path), (":authority", self.authority), *more]

    def block(self, method="GET", *more):
        return self.compressor.block(self.fields(method, *more))

    def dummies(self, count=1):
        return self.compressor.block([(f"x-dummy{n}", X) for n in range(count)])

    def request(self, method="GET", *more, stream=1, end=True, whole=True, fields=None):
        block_ = self.compressor.block(fields if fields is not None else self.fields(method, *more))
        return frame(HEADERS, END_STREAM * end | END_HEADERS * whole, stream, block_)

    def until(self, *kinds):
        """The next frame of one of the kinds; None at the end of the connection."""
        try:
            while (got := self.wire.read(SECONDS)).kind not in kinds:
                pass
            return got
        except Closed:
            return None

    # Verdicts.
    def connection_error(self, *codes):
        while (got := self.until(GOAWAY)) is not None and got.code not in codes:
            pass

    def stream_error(self, *codes):
        while (got := self.until(GOAWAY, RST_STREAM)) is not None and got.code not in codes:
            pass

    def closed(self):
        while self.until(GOAWAY) is not None:
            pass

    def answered(self, stream=1):
        got = self.until(HEADERS)
        assert got is not None and got.stream == stream, got and got.stream

    def ended(self):
        while True:
            got = self.until(DATA, HEADERS, RST_STREAM)
            assert got is not None
            if got.code == 0 if got.kind == RST_STREAM else got.flags & END_STREAM:
                return

    def pong(self, payload=NONE, or_closed=False):
        got = self.until(PING)
        if got is None and or_closed:
            return
        assert got is not None and got.flags & ACK and got.payload == payload, got and got.payload

    def pinged(self, payload=NONE, or_closed=False):
        self.send(frame(PING, 0, 0, payload))
        self.pong(payload, or_closed)

    def acknowledged(self):
        got = self.until(SETTINGS)
        assert got is not None and got.flags & ACK

    def data(self, length=None):
        got = self.until(DATA)
        assert got is not None and length in (None, len(got.payload)), got and len(got.payload)


CASES = []


def case(name, handshake=True):
    def add(function):
        CASES.append((name, function, handshake))
        return function
    return add


def priority(stream, dependency=0, weight=255):
    return frame(PRIORITY, 0, stream, struct.pack(">IB", dependency, weight))


def sends(name, sent, verdict):
    """A case that sends, and judges what comes."""
    def perform(client):
        client.send(*sent(client))
        verdict(client)
    CASES.append((name, perform, True))


answered = lambda client: client.answered()
pinged = lambda client: client.pinged()
alive = lambda client: client.pinged(or_closed=True)


def connection(*codes):
    return lambda client: client.connection_error(*codes)


def stream_or_connection(*codes):
    return lambda client: client.stream_error(*codes)


# The start.
for name in ["§3.4: the preface", "§3.4: the first frame is SETTINGS"]:
    @case(name, handshake=False)
    def preface(client):
        client.send(PREFACE, settings((INITIAL_WINDOW_SIZE, 65535)))
        got = client.wire.read(SECONDS)
        assert got.kind == SETTINGS and not got.flags & ACK


@case("§3.4: an invalid preface", handshake=False)
def invalid_preface(client):
    client.send(b"INVALID CONNECTION PREFACE\r\n\r\n")
    client.connection_error(PROTOCOL_ERROR)


# What has to be taken.
sends("§5.1: PRIORITY, idle", lambda c: [priority(1)], pinged)
for name, more in [("WINDOW_UPDATE", []), ("PRIORITY", [priority(1)])]:
    sends(f"§5.1: {name}, half-closed (remote)",
          lambda c, more=more: [settings((INITIAL_WINDOW_SIZE, 0)), c.request(), *more, window_update(1, 1)],
          lambda c: c.data())
sends("§5.1: RST_STREAM, half-closed (remote)", lambda c: [c.request(), reset(1)], alive)


@case("§5.1: PRIORITY, closed")
def closed_priority(client):
    client.send(client.request())
    client.ended()
    client.send(priority(1))
    client.pinged()


sends("§6.1: DATA", lambda c: [c.request("POST", end=False), frame(DATA, END_STREAM, 1, b"test")], answered)
sends("§6.1: two DATA", lambda c: [c.request("POST", end=False), frame(DATA, 0, 1, b"test"),
                                   frame(DATA, END_STREAM, 1, b"test")], answered)
sends("§6.1: DATA with padding", lambda c: [c.request("POST", end=False), frame(
    DATA, END_STREAM | PADDED, 1, b"\x05test" + bytes(5))], answered)
sends("§6.2: HEADERS", lambda c: [c.request()], answered)
sends("§6.2: HEADERS with padding", lambda c: [frame(
    HEADERS, END_STREAM | END_HEADERS | PADDED, 1, b"\x08" + c.block() + PADDING)], answered)
sends("§6.2: HEADERS with a priority", lambda c: [frame(
    HEADERS, END_STREAM | END_HEADERS | PRIORITISED, 1, struct.pack(">IB", 0, 255) + c.block())], answered)
for name, parts in [("weight 1", (1, 0, 0)), ("weight 256", (1, 0, 255)), ("a dependency", (3, 1, 0)),
                    ("exclusive", (1, 1 << 31, 0)), ("a later idle stream", (3, 0, 255))]:
    sends(f"§6.3: PRIORITY, {name}", lambda c, parts=parts: [priority(*parts), c.request()], answered)
sends("§6.4: RST_STREAM", lambda c: [c.request(end=False), reset(1)], alive)
sends("§6.5: SETTINGS", lambda c: [settings((1, 4096), (2, 1), (3, 100), (4, 65535), (5, FRAME), (6, 100))],
      lambda c: c.acknowledged())
for name in ["§6.7: PING", "§6.7: PING has the same payload back"]:
    sends(name, lambda c: [], lambda c: c.pinged(ALL))
sends("§6.8: GOAWAY", lambda c: [frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0) + b"why")],
      lambda c: c.pinged(ALL, or_closed=True))
sends("§6.9: WINDOW_UPDATE of all streams", lambda c: [window_update(0, 1)], pinged)
sends("§6.9: WINDOW_UPDATE of a stream", lambda c: [c.request(), window_update(1, 1)], answered)


def split(*places):
    def parts(client):
        block_, ends = client.block(), [0, *places]
        pieces = [block_[start:end] for start, end in zip(ends, [*ends[1:], len(block_)])]
        return [frame(HEADERS if not n else CONTINUATION,
                      END_STREAM * (not n) | END_HEADERS * (n == len(pieces) - 1), 1, piece)
                for n, piece in enumerate(pieces)]
    return parts


sends("§6.10: CONTINUATION", split(5), answered)
sends("§6.10: two CONTINUATION", split(5, 10), answered)
sends("§8.1: GET", lambda c: [c.request()], answered)
sends("§8.1: HEAD", lambda c: [c.request("HEAD")], answered)
sends("§8.1: POST", lambda c: [c.request("POST", end=False), frame(DATA, END_STREAM, 1, b"test")], answered)
sends("§8.1: POST with trailers", lambda c: [
    c.request("POST", ("trailer", "x-test"), end=False), frame(DATA, 0, 1, b"test"),
    c.request(fields=[("x-test", "ok")])], answered)

# Compressed fields.
AGENT, TEST, VALUE = b"user-agent", b"x-test", b"tester"


def plain(text):
    return bytes([len(text)]) + text


def coded(text):
    return bytes([len(huffman(text)) | 0x80]) + huffman(text)


for name, field in [("indexed", b"\xba")] + [
        (f"literal, {kind}, {what}, {how.__name__}", first + how(text) + how(VALUE))
        for kind, first in [("indexed", b"\x40"), ("not indexed", b"\0"), ("never indexed", b"\x10")]
        for what, text in [("a known name", AGENT), ("a new name", TEST)] for how in (plain, coded)]:
    sends(f"RFC 7541 §6: {name}", lambda c, field=field: [headers(1, c.block() + field)], answered)
for name, update in [("a size update", b"\x3f\x61"), ("two size updates", b"\x3f\x61\x3f\xe1\x1f")]:
    sends(f"RFC 7541 §6.3: {name}", lambda c, update=update: [headers(1, update + c.block())], answered)
for name, field in [
        ("§2.3.3: an index beyond the tables", b"\xc6"), ("§2.3.3: a name's index beyond the tables", b"\x7f\x07\0"),
        ("§4.2: a size update at the end", b"\x21"), ("§6.1: index 0", b"\x80"),
        ("§5.2: padding of more than 7 bits", b"\0" + coded(TEST) + b"\x84" + huffman(b"test") + b"\xff"),
        ("§5.2: padding of zeros", b"\0" + coded(TEST) + b"\x83" + huffman(b"test", "0" * 4)),
        ("§5.2: EOS", b"\0" + coded(TEST) + b"\x87" + bytes.fromhex("4951fffffffa7f"))]:
    sends(f"RFC 7541 {name}", lambda c, field=field: [headers(1, c.block() + field)], connection(COMPRESSION_ERROR))
sends("RFC 7541 §6.3: a size update over the limit", lambda c: [headers(1, integer(
    c.settings.get(HEADER_TABLE_SIZE, 4096) + 1, 5, 0x20) + c.block())], connection(COMPRESSION_ERROR))

# Frames.
for name in ["§4.1: an unknown type", "§5.5: an unknown type"]:
    sends(name, lambda c: [frame(0x16, 0, 0)[:2] + b"\x08" + frame(0x16, 0, 0)[3:], NONE], pinged)
sends("§4.1: an unknown flag", lambda c: [frame(PING, 0x16, 0, NONE)[:9], NONE], lambda c: c.pong())
sends("§4.1: the reserved bit", lambda c: [b"\0\0\x08\x06\x16\x80\0\0\0", NONE], lambda c: c.pong())
sends("§4.2: DATA of 2^14", lambda c: [c.request("POST", end=False), frame(DATA, END_STREAM, 1, b"x" * FRAME)], answered)
sends("§4.2: DATA of more", lambda c: [c.request("POST", end=False), frame(DATA, END_STREAM, 1, b"x" * (FRAME + 1))],
      stream_or_connection(FRAME_SIZE_ERROR))
sends("§4.2: HEADERS of more", lambda c: [headers(1, c.block() + c.dummies(5))], connection(FRAME_SIZE_ERROR))
sends("§4.3: a block that ends within a field", lambda c: [headers(1, b"\x40")], connection(COMPRESSION_ERROR))
for section in ["§4.3", "§6.2"]:
    sends(f"{section}: PRIORITY within a block", lambda c: [
        c.request(end=False, whole=False), priority(1), frame(CONTINUATION, END_HEADERS, 1, c.dummies())],
        connection(PROTOCOL_ERROR))
    sends(f"{section}: another stream's HEADERS within a block", lambda c: [
        c.request(end=False, whole=False), c.request(stream=3), frame(CONTINUATION, END_HEADERS, 1, c.dummies())],
        connection(PROTOCOL_ERROR))

# Streams.
for name, sent, verdict in [
        ("DATA", lambda c: [frame(DATA, END_STREAM, 1, b"test")], stream_or_connection(PROTOCOL_ERROR, STREAM_CLOSED)),
        ("RST_STREAM", lambda c: [reset(1)], connection(PROTOCOL_ERROR)),
        ("WINDOW_UPDATE", lambda c: [window_update(1, 100)], connection(PROTOCOL_ERROR)),
        ("CONTINUATION", lambda c: [frame(CONTINUATION, END_HEADERS, 1, c.block())], connection(PROTOCOL_ERROR))]:
    sends(f"§5.1: {name}, idle", sent, verdict)
sends("§6.4: RST_STREAM, idle", lambda c: [reset(1)], connection(PROTOCOL_ERROR))
for name, sent, codes in [
        ("DATA", lambda c: frame(DATA, END_STREAM, 1, b"test"), (STREAM_CLOSED,)),
        ("HEADERS", lambda c: c.request(), (STREAM_CLOSED,)),
        ("CONTINUATION", lambda c: frame(CONTINUATION, END_HEADERS, 1, c.dummies()), (STREAM_CLOSED, PROTOCOL_ERROR))]:
    sends(f"§5.1: {name}, half-closed (remote)", lambda c, sent=sent: [c.request(), sent(c)],
          stream_or_connection(*codes))
    sends(f"§5.1: {name}, closed by RST_STREAM", lambda c, sent=sent: [c.request(end=False), reset(1), sent(c)],
          stream_or_connection(*codes))

    @case(f"§5.1: {name}, closed")
    def closed_stream(client, sent=sent, codes=codes, is_data=name == "DATA"):
        client.send(client.request())
        client.ended()
        client.send(sent(client))
        (client.stream_error if is_data else client.connection_error)(*codes)
sends("§6.1: DATA of a stream that is not open",
      lambda c: [c.request("POST"), frame(DATA, END_STREAM, 1, b"test")], stream_or_connection(STREAM_CLOSED))
sends("§5.1.1: an even stream", lambda c: [c.request(stream=2)], connection(PROTOCOL_ERROR))
sends("§5.1.1: a lower stream", lambda c: [c.request(stream=5), c.request(stream=3)], connection(PROTOCOL_ERROR))
sends("§5.1.2: too many streams",
      lambda c: [settings((INITIAL_WINDOW_SIZE, 0))] + [
          c.request(stream=2 * n + 1) for n in range(c.settings[MAX_CONCURRENT_STREAMS] + 1)],
      stream_or_connection(PROTOCOL_ERROR, REFUSED_STREAM))
sends("§5.3.1: HEADERS that depend on their stream", lambda c: [frame(
    HEADERS, END_STREAM | END_HEADERS | PRIORITISED, 1, struct.pack(">IB", 1, 255) + c.block())],
    stream_or_connection(PROTOCOL_ERROR))
sends("§5.3.1: PRIORITY that depends on its stream", lambda c: [priority(1, 1)], stream_or_connection(PROTOCOL_ERROR))
sends("§5.4.1: the connection is closed", lambda c: [frame(PING, 0, 3, NONE)], lambda c: c.closed())


@case("§5.4.1: GOAWAY comes first")
def goaway(client):
    client.send(frame(PING, 0, 3, NONE))
    assert client.until(GOAWAY) is not None


sends("§5.5: an unknown type within a block", lambda c: [c.request(whole=False), frame(0x16, 0, 0, NONE)],
      connection(PROTOCOL_ERROR))

# Each frame's own rules.
sends("§6.1: DATA of stream 0", lambda c: [frame(DATA, END_STREAM, 0, b"test")], connection(PROTOCOL_ERROR))
sends("§6.1: too much padding", lambda c: [
    c.request("POST", ("content-length", "4"), end=False), frame(DATA, PADDED | END_STREAM, 1, b"\x06Test")],
    connection(PROTOCOL_ERROR))
sends("§6.2: HEADERS of stream 0", lambda c: [c.request(stream=0)], connection(PROTOCOL_ERROR))


@case("§6.2: too much padding")
def headers_padding(client):
    block_ = client.block()
    whole = frame(HEADERS, PADDED | END_HEADERS | END_STREAM, 1, bytes([len(block_) + 2]) + block_)
    client.send(whole[:9], whole[9:10], whole[10:])
    client.stream_error(PROTOCOL_ERROR)


sends("§6.3: PRIORITY of stream 0", lambda c: [priority(0)], connection(PROTOCOL_ERROR))
sends("§6.3: PRIORITY of 4 octets", lambda c: [c.request(), frame(PRIORITY, 0, 1, b"\x80\0\0\1")],
      stream_or_connection(FRAME_SIZE_ERROR))
sends("§6.4: RST_STREAM of stream 0", lambda c: [reset(0)], connection(PROTOCOL_ERROR))
sends("§6.4: RST_STREAM of 3 octets", lambda c: [c.request(), frame(RST_STREAM, 0, 1, bytes(3))],
      stream_or_connection(FRAME_SIZE_ERROR))
sends("§6.5: an acknowledgement with a payload", lambda c: [frame(SETTINGS, ACK, 0, b"\0")], connection(FRAME_SIZE_ERROR))
sends("§6.5: SETTINGS of a stream", lambda c: [frame(SETTINGS, 0, 1, bytes.fromhex("000300000064"))],
      connection(PROTOCOL_ERROR))
sends("§6.5: SETTINGS of 3 octets", lambda c: [frame(SETTINGS, 0, 0, bytes(3))],
      stream_or_connection(PROTOCOL_ERROR, FRAME_SIZE_ERROR))
for name, setting, code in [
        ("push of 2", (ENABLE_PUSH, 2), PROTOCOL_ERROR), ("a window of 2^31", (INITIAL_WINDOW_SIZE, 1 << 31), 3),
        ("small frames", (MAX_FRAME_SIZE, FRAME - 1), PROTOCOL_ERROR),
        ("large frames", (MAX_FRAME_SIZE, 1 << 24), PROTOCOL_ERROR)]:
    sends(f"§6.5.2: {name}", lambda c, setting=setting: [settings(setting)], connection(code))
sends("§6.5.2: an unknown setting", lambda c: [settings((0xff, 1))], pinged)


@case("§6.5.3: settings in their order")
def settings_order(client):
    client.send(settings((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)))
    client.acknowledged()
    client.send(client.request())
    client.data(1)


sends("§6.5.3: SETTINGS are acknowledged", lambda c: [settings((ENABLE_PUSH, 0))], lambda c: c.acknowledged())
sends("§6.7: PING with ACK is not answered", lambda c: [frame(PING, ACK, 0, b"invalid\0")], lambda c: c.pinged(ALL))
sends("§6.7: PING of a stream", lambda c: [frame(PING, 0, 1, NONE)], connection(PROTOCOL_ERROR))
sends("§6.7: PING of 6 octets", lambda c: [frame(PING, 0, 0, bytes(6))], connection(FRAME_SIZE_ERROR))
sends("§6.8: GOAWAY of a stream", lambda c: [frame(GOAWAY, 0, 1, NONE)], connection(PROTOCOL_ERROR))
sends("§6.9: an increment of 0", lambda c: [window_update(0, 0)], connection(PROTOCOL_ERROR))
sends("§6.9: an increment of 0 of a stream", lambda c: [c.request(end=False), window_update(1, 0)],
      stream_or_connection(PROTOCOL_ERROR))
sends("§6.9: WINDOW_UPDATE of 3 octets", lambda c: [frame(WINDOW_UPDATE, 0, 0, b"\0\0\1")], connection(FRAME_SIZE_ERROR))


@case("§6.9.1: a window of 1")
def window_of_one(client):
    client.send(settings((INITIAL_WINDOW_SIZE, 1)))
    client.acknowledged()
    client.send(client.request())
    client.data(1)


@case("§6.9.1: a window over 2^31-1")
def large_window(client):
    client.send(2 * window_update(0, (1 << 31) - 1))
    got = client.until(GOAWAY)
    assert got is not None and got.code == FLOW_CONTROL_ERROR


@case("§6.9.1: a stream's window over 2^31-1")
def large_stream_window(client):
    client.send(client.request(end=False), window_update(1, (1 << 31) - 1), window_update(1, (1 << 31) - 1))
    got = client.until(RST_STREAM)
    assert got is not None and (got.stream, got.code) == (1, FLOW_CONTROL_ERROR)


@case("§6.9.2: windows change with the setting")
def changed_window(client):
    client.send(settings((INITIAL_WINDOW_SIZE, 0)))
    client.acknowledged()
    client.send(client.request(), settings((INITIAL_WINDOW_SIZE, 1)))
    client.data(1)


@case("§6.9.2: a negative window")
def negative_window(client):
    client.send(settings((INITIAL_WINDOW_SIZE, 3)))
    client.acknowledged()
    client.send(client.request())
    client.data()
    client.send(settings((INITIAL_WINDOW_SIZE, 2)))
    client.acknowledged()
    client.send(window_update(1, 2))
    client.data(1)


sends("§6.9.2: a setting over 2^31-1", lambda c: [settings((INITIAL_WINDOW_SIZE, 1 << 31))], connection(FLOW_CONTROL_ERROR))
sends("§6.10: two CONTINUATION with further fields", lambda c: [
    c.request(whole=False), frame(CONTINUATION, 0, 1, c.dummies()), frame(CONTINUATION, END_HEADERS, 1, c.dummies())],
    answered)
sends("§6.10: CONTINUATION, then DATA", lambda c: [
    c.request("POST", end=False, whole=False), frame(CONTINUATION, 0, 1, c.dummies()),
    frame(DATA, END_STREAM, 1, b"test")], connection(PROTOCOL_ERROR))
sends("§6.10: CONTINUATION of stream 0", lambda c: [
    c.request(whole=False), frame(CONTINUATION, END_HEADERS, 0, c.dummies())], connection(PROTOCOL_ERROR))
sends("§6.10: CONTINUATION behind a whole block", lambda c: [
    c.request(), frame(CONTINUATION, END_HEADERS, 1, c.dummies())], connection(PROTOCOL_ERROR))
sends("§6.10: CONTINUATION behind the last", lambda c: [c.request(whole=False)] + [
    frame(CONTINUATION, END_HEADERS, 1, c.dummies()) for _ in range(2)], connection(PROTOCOL_ERROR))
sends("§6.10: CONTINUATION behind DATA", lambda c: [
    c.request("POST", end=False, whole=False), frame(DATA, END_STREAM, 1, b"test"),
    frame(CONTINUATION, 0, 1, c.dummies()), frame(CONTINUATION, END_HEADERS, 0, c.dummies())], connection(PROTOCOL_ERROR))
sends("§7: GOAWAY with an unknown code", lambda c: [frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0xff))],
      lambda c: c.pinged(ALL, or_closed=True))
sends("§7: RST_STREAM with an unknown code", lambda c: [c.request("POST", end=False), reset(1, 0xff)], alive)

# Requests.
for name, further in [
        ("§8.2: an upper-case name", ("X-TEST", "ok")), ("§8.3: an unknown pseudo-field", (":test", "ok")),
        ("§8.3: a response's pseudo-field", (":status", "200")), ("§8.2.2: connection", ("connection", "keep-alive"))]:
    sends(name, lambda c, further=further: [c.request("GET", further)], stream_or_connection(PROTOCOL_ERROR))
sends("§8.2.2: te", lambda c: [c.request("GET", ("trailers", "test"), ("te", "trailers, deflate"))],
      stream_or_connection(PROTOCOL_ERROR))
sends("§8.3: a pseudo-field in trailers", lambda c: [
    c.request("POST", end=False), frame(DATA, 0, 1, b"test"), c.request(fields=[(":method", "POST")], end=False)],
    stream_or_connection(PROTOCOL_ERROR))
sends("§8.3: pseudo-fields behind others", lambda c: [c.request(fields=[("x-test", "ok"), *c.fields()])],
      stream_or_connection(PROTOCOL_ERROR))
sends("§8.3.1: an empty path", lambda c: [c.request(fields=[
    (name, "" if name == ":path" else value) for name, value in c.fields()])], stream_or_connection(PROTOCOL_ERROR))
sends("§8.3.1: neither method nor scheme", lambda c: [c.request(fields=c.fields()[2:])],
      stream_or_connection(PROTOCOL_ERROR))
for index, name in enumerate(["method", "scheme", "path"]):
    sends(f"§8.3.1: no {name}", lambda c, index=index: [c.request(
        fields=[field for n, field in enumerate(c.fields()) if n != index])], stream_or_connection(PROTOCOL_ERROR))
    sends(f"§8.3.1: two of {name}", lambda c, index=index: [c.request("GET", c.fields()[index])],
          stream_or_connection(PROTOCOL_ERROR))
sends("§8.1.1: content-length other than the content's", lambda c: [
    c.request("POST", ("content-length", "1"), end=False), frame(DATA, END_STREAM, 1, b"test")],
    stream_or_connection(PROTOCOL_ERROR))
sends("§8.1.1: content-length other than the sum", lambda c: [
    c.request("POST", ("content-length", "1"), end=False), frame(DATA, 0, 1, b"test"),
    frame(DATA, END_STREAM, 1, b"test")], stream_or_connection(PROTOCOL_ERROR))
sends("§8.1: a second HEADERS without END_STREAM", lambda c: [
    c.request("POST", end=False), frame(DATA, 0, 1, b"test"), c.request(fields=[("x-test", "ok")], end=False)],
    stream_or_connection(PROTOCOL_ERROR))
sends("§8.4: PUSH_PROMISE", lambda c: [frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 3) + c.block())],
      connection(PROTOCOL_ERROR))


def main():
    stage, failures, passed, slowest = Stage(sys.argv[1]), [], 0, (0, "")
    try:
        for target, path, authority in [("a page of the map", "/page", f"{HOST}:443"),
                                        ("a refused request", "/", "127.0.0.1:9000"),
                                        ("the origin", "/o/echo", HOST)]:
            for name, function, handshake in CASES:
                if len(sys.argv) > 2 and sys.argv[2] not in name:
                    continue
                client = None
                try:
                    client = Client(stage, path, authority, handshake)
                    started = time.monotonic()
                    function(client)
                    slowest = max(slowest, (time.monotonic() - started, name))
                    passed += 1
                except Exception as error:
                    failures.append(f"{target}: {name}: {type(error).__name__} {error}")
                    if stage.process.poll() is not None:
                        raise SystemExit("the proxy has ended") from None
                if client:
                    client.wire.socket.close()
            stage.good()
        assert wait(lambda: stage.descriptors < 40), stage.descriptors
    finally:
        stage.stop()
    for failure in failures:
        print("FAILED", failure)
    print(f"{len(CASES)} cases, the slowest took {slowest[0]:.2f} s: {slowest[1]}")
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
