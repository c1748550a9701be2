"""What RFC 9113 and RFC 7541 say of frames, streams and compressed fields that break their rules: a table of cases."""
import struct

from http2stage import TEXT, main
from http2wire import *

CASES = []


class Expect:
    """What has to come of what was sent."""

    def __init__(self, kind, *codes):
        self.kind, self.codes = kind, codes


def connection_error(*codes):
    """GOAWAY with one of the codes, and the end of the connection."""
    return Expect("connection", *codes)


def stream_error(*codes):
    """RST_STREAM with one of the codes, or an error of the connection with it (RFC 9113 §5.4.2)."""
    return Expect("stream", *codes)


ANSWER = Expect("answer")
ALIVE = Expect("alive")


def check(wire, expect):
    if expect.kind == "alive":
        assert wire.ping(b"alive!!!"), "PING is not answered"
        return
    if expect.kind == "answer":
        response = wire.response(1)
        assert response.status == 200, (response.status, response.reset, response.goaway)
        assert wire.ping(b"alive!!!"), "PING is not answered"
        return
    goaway = None
    while True:
        try:
            got = wire.read()
        except Closed:
            assert goaway is not None, "closed without GOAWAY"
            return
        except TimeoutError:
            raise AssertionError(f"nothing has come of it, GOAWAY {goaway}") from None
        if got.kind == GOAWAY:
            goaway = got.code
            assert goaway in expect.codes, f"GOAWAY with {goaway}, not {expect.codes}"
        if got.kind == RST_STREAM and expect.kind == "stream":
            assert got.code in expect.codes, f"RST_STREAM with {got.code}, not {expect.codes}"
            assert wire.ping(b"alive!!!"), "PING is not answered after the reset"
            return


def case(name, sent, expect, initial=()):
    def perform(stage):
        with stage.wire(initial=initial) as wire:
            data = sent(wire) if callable(sent) else sent
            if data:
                wire.send(data)
            check(wire, expect)
    CASES.append((name, perform))


def get(wire, *more, method="GET", **options):
    return block(wire.request_fields("/", method, *more, **options))


def request(stream=1, end=True, method="GET", more=(), **options):
    return lambda wire: headers(stream, get(wire, *more, method=method, **options), end)


def then(*parts):
    return lambda wire: b"".join(part(wire) if callable(part) else part for part in parts)


def after_answer(*parts):
    """Waits for the whole answer to stream 1 before it sends the rest."""
    def send(wire):
        wire.send(request()(wire))
        assert wire.response(1).status == 200
        return then(*parts)(wire)
    return send


DUMMY = block([("x-dummy", "x" * 100)])
PRIORITY_PAYLOAD = struct.pack(">IB", 0, 255)
POST = request(end=False, method="POST")

# The preface and frames as such: RFC 9113 §3.4, §4.1, §4.2.
case("an undefined frame type is ignored", frame(0x16, 0, 0, bytes(8)), ALIVE)
case("an undefined flag is ignored", frame(PING, 0x16, 0, bytes(8)), ALIVE)
case("the reserved bit of the stream identifier is ignored",
     b"\0\0\x08\x06\0\x80\0\0\0" + bytes(8), ALIVE)
case("DATA of the largest size", then(POST, frame(DATA, END_STREAM, 1, bytes(1 << 14))), ANSWER)
case("DATA over the largest size", then(POST, frame(DATA, END_STREAM, 1, bytes((1 << 14) + 1))),
     stream_error(FRAME_SIZE_ERROR))
case("HEADERS over the largest size",
     lambda wire: headers(1, get(wire, *((f"x-{n}", "x" * 4000) for n in range(5)))), connection_error(FRAME_SIZE_ERROR))
case("an unknown setting is ignored", settings((0xff, 1)), ALIVE)
case("an unknown frame within a header block",
     lambda wire: headers(1, get(wire), flags=0) + frame(0x16, 0, 0, bytes(8)), connection_error(PROTOCOL_ERROR))

# Header blocks: §4.3, §6.10.
case("a block that ends within a field", frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x40"),
     connection_error(COMPRESSION_ERROR))
case("PRIORITY within a header block",
     lambda wire: headers(1, get(wire), False, 0) + frame(PRIORITY, 0, 1, PRIORITY_PAYLOAD)
     + frame(CONTINUATION, END_HEADERS, 1, DUMMY), connection_error(PROTOCOL_ERROR))
case("HEADERS of another stream within a header block",
     lambda wire: headers(1, get(wire), False, 0) + headers(3, get(wire)), connection_error(PROTOCOL_ERROR))
case("HEADERS and CONTINUATION",
     lambda wire: headers(1, get(wire)[:5], flags=0) + frame(CONTINUATION, END_HEADERS, 1, get(wire)[5:]), ANSWER)
case("HEADERS and two CONTINUATION",
     lambda wire: headers(1, get(wire)[:5], flags=0) + frame(CONTINUATION, 0, 1, get(wire)[5:10])
     + frame(CONTINUATION, END_HEADERS, 1, get(wire)[10:]), ANSWER)
case("an empty HEADERS and CONTINUATION",
     lambda wire: headers(1, b"", flags=0) + frame(CONTINUATION, END_HEADERS, 1, get(wire)), ANSWER)
case("CONTINUATION and DATA within a header block",
     lambda wire: headers(1, get(wire), False, 0) + frame(CONTINUATION, 0, 1, DUMMY) + frame(DATA, END_STREAM, 1, b"test"),
     connection_error(PROTOCOL_ERROR))
case("CONTINUATION of stream 0",
     lambda wire: headers(1, get(wire), False, 0) + frame(CONTINUATION, END_HEADERS, 0, DUMMY),
     connection_error(PROTOCOL_ERROR))
case("CONTINUATION after END_HEADERS",
     lambda wire: headers(1, get(wire), False) + frame(CONTINUATION, END_HEADERS, 1, DUMMY),
     connection_error(PROTOCOL_ERROR))
case("CONTINUATION after the last CONTINUATION",
     lambda wire: headers(1, get(wire), False, 0) + 2 * frame(CONTINUATION, END_HEADERS, 1, DUMMY),
     connection_error(PROTOCOL_ERROR))
case("CONTINUATION after DATA",
     then(POST, frame(DATA, END_STREAM, 1, b"test"), frame(CONTINUATION, 0, 1, DUMMY)), connection_error(PROTOCOL_ERROR))

# The states of a stream: §5.1.
for name, sent in [
        ("DATA", frame(DATA, END_STREAM, 1, b"test")), ("RST_STREAM", reset(1)),
        ("WINDOW_UPDATE", window_update(1, 100)), ("CONTINUATION", frame(CONTINUATION, END_HEADERS, 1, DUMMY))]:
    case(f"idle: {name}", sent, connection_error(PROTOCOL_ERROR))
case("idle: PRIORITY", frame(PRIORITY, 0, 1, PRIORITY_PAYLOAD), ALIVE)
case("idle: PRIORITY, then a lower stream",
     then(frame(PRIORITY, 0, 3, struct.pack(">IB", 1, 255)), request()), ANSWER)
case("half-closed (remote): DATA", then(request(), frame(DATA, END_STREAM, 1, b"test")), stream_error(STREAM_CLOSED))
case("half-closed (remote): HEADERS", then(request(), request()), stream_error(STREAM_CLOSED))
case("half-closed (remote): CONTINUATION",
     then(request(), frame(CONTINUATION, END_HEADERS, 1, DUMMY)), connection_error(PROTOCOL_ERROR, STREAM_CLOSED))
case("half-closed (remote): WINDOW_UPDATE", then(request(), window_update(1, 100)), ANSWER, [(INITIAL_WINDOW_SIZE, 0)])
case("half-closed (remote): PRIORITY", then(
    request(), frame(PRIORITY, 0, 1, PRIORITY_PAYLOAD), window_update(1, 100)), ANSWER, [(INITIAL_WINDOW_SIZE, 0)])
case("half-closed (remote): RST_STREAM", then(request(), reset(1)), ALIVE)
case("closed by RST_STREAM: DATA",
     then(request(end=False), reset(1), frame(DATA, END_STREAM, 1, b"test")), stream_error(STREAM_CLOSED))
case("closed by RST_STREAM: HEADERS", then(request(end=False), reset(1), request()), stream_error(STREAM_CLOSED))
case("closed by RST_STREAM: CONTINUATION",
     then(request(end=False), reset(1), frame(CONTINUATION, END_HEADERS, 1, DUMMY)),
     connection_error(PROTOCOL_ERROR, STREAM_CLOSED))
case("closed: DATA", after_answer(frame(DATA, END_STREAM, 1, b"test")), stream_error(STREAM_CLOSED))
case("closed: HEADERS", after_answer(request()), connection_error(STREAM_CLOSED, PROTOCOL_ERROR))
case("closed: CONTINUATION", after_answer(frame(CONTINUATION, END_HEADERS, 1, DUMMY)),
     connection_error(PROTOCOL_ERROR, STREAM_CLOSED))
case("closed: PRIORITY", after_answer(frame(PRIORITY, 0, 1, PRIORITY_PAYLOAD)), ALIVE)
case("closed: WINDOW_UPDATE", after_answer(window_update(1, 100)), ALIVE)
case("closed: RST_STREAM", after_answer(reset(1)), ALIVE)
case("HEADERS on an even stream", request(stream=2), connection_error(PROTOCOL_ERROR))
case("HEADERS on a lower stream than before", then(request(stream=5), request(stream=3)),
     connection_error(PROTOCOL_ERROR, STREAM_CLOSED))
case("HEADERS that depend on their own stream",
     lambda wire: frame(HEADERS, END_HEADERS | END_STREAM | PRIORITISED, 1, struct.pack(">IB", 1, 255) + get(wire)),
     stream_error(PROTOCOL_ERROR))
case("PRIORITY that depends on its own stream", frame(PRIORITY, 0, 1, struct.pack(">IB", 1, 255)),
     stream_error(PROTOCOL_ERROR))

# DATA: §6.1.
case("DATA on stream 0", frame(DATA, END_STREAM, 0, b"test"), connection_error(PROTOCOL_ERROR))
case("DATA with padding", then(POST, frame(DATA, PADDED | END_STREAM, 1, b"\x05test" + bytes(5))), ANSWER)
case("DATA of padding alone", then(POST, frame(DATA, PADDED | END_STREAM, 1, b"\x05" + bytes(5))), ANSWER)
case("DATA with more padding than payload", then(POST, frame(DATA, PADDED | END_STREAM, 1, b"\x06test")),
     connection_error(PROTOCOL_ERROR))
case("DATA whose padding is as long as its payload", then(POST, frame(DATA, PADDED | END_STREAM, 1, b"\x05test")),
     connection_error(PROTOCOL_ERROR))
case("padded DATA without a length of padding", then(POST, frame(DATA, PADDED | END_STREAM, 1)),
     connection_error(PROTOCOL_ERROR, FRAME_SIZE_ERROR))
case("DATA in two frames", then(POST, frame(DATA, 0, 1, b"test"), frame(DATA, END_STREAM, 1, b"test")), ANSWER)

# HEADERS: §6.2.
case("HEADERS on stream 0", request(stream=0), connection_error(PROTOCOL_ERROR))
case("HEADERS with padding",
     lambda wire: frame(HEADERS, END_HEADERS | END_STREAM | PADDED, 1, b"\x05" + get(wire) + bytes(5)), ANSWER)
case("HEADERS with more padding than payload",
     lambda wire: frame(HEADERS, END_HEADERS | END_STREAM | PADDED, 1, bytes([len(get(wire)) + 1]) + get(wire)),
     connection_error(PROTOCOL_ERROR))
case("HEADERS with a priority",
     lambda wire: frame(HEADERS, END_HEADERS | END_STREAM | PRIORITISED, 1, struct.pack(">IB", 0, 255) + get(wire)), ANSWER)
case("HEADERS with padding and an exclusive priority",
     lambda wire: frame(HEADERS, END_HEADERS | END_STREAM | PRIORITISED | PADDED, 1,
                        b"\x02" + struct.pack(">IB", 0x80000003, 0) + get(wire) + bytes(2)), ANSWER)
case("HEADERS too short for the priority", frame(HEADERS, END_HEADERS | END_STREAM | PRIORITISED, 1, b"\0\0\0"),
     connection_error(PROTOCOL_ERROR, FRAME_SIZE_ERROR))

# PRIORITY: §6.3.
case("PRIORITY on stream 0", frame(PRIORITY, 0, 0, PRIORITY_PAYLOAD), connection_error(PROTOCOL_ERROR))
case("PRIORITY of 4 octets", then(request(end=False), frame(PRIORITY, 0, 1, b"\x80\0\0\1")),
     stream_error(FRAME_SIZE_ERROR))
case("PRIORITY of 6 octets", then(request(end=False), frame(PRIORITY, 0, 1, b"\x80\0\0\3\0\0")),
     stream_error(FRAME_SIZE_ERROR))
for weight, exclusive in [(0, 0), (255, 0), (255, 0x80000000)]:
    case(f"PRIORITY with weight {weight}, exclusive {bool(exclusive)}",
         then(frame(PRIORITY, 0, 1, struct.pack(">IB", exclusive, weight)), request()), ANSWER)

# RST_STREAM: §6.4.
case("RST_STREAM on stream 0", reset(0), connection_error(PROTOCOL_ERROR))
case("RST_STREAM of 3 octets", then(request(end=False), frame(RST_STREAM, 0, 1, bytes(3))),
     connection_error(FRAME_SIZE_ERROR))
case("RST_STREAM of 5 octets", then(request(end=False), frame(RST_STREAM, 0, 1, bytes(5))),
     connection_error(FRAME_SIZE_ERROR))
case("RST_STREAM with an unknown code", then(POST, reset(1, 0xff)), ALIVE)

# SETTINGS: §6.5.
case("SETTINGS is acknowledged", settings((HEADER_TABLE_SIZE, 4096), (ENABLE_PUSH, 0)), ALIVE)
case("SETTINGS with an acknowledgement and a payload", frame(SETTINGS, ACK, 0, b"\0"), connection_error(FRAME_SIZE_ERROR))
case("SETTINGS on a stream", frame(SETTINGS, 0, 1, bytes.fromhex("000300000064")), connection_error(PROTOCOL_ERROR))
case("SETTINGS of 3 octets", frame(SETTINGS, 0, 0, bytes(3)), connection_error(FRAME_SIZE_ERROR))
case("ENABLE_PUSH of 2", settings((ENABLE_PUSH, 2)), connection_error(PROTOCOL_ERROR))
case("INITIAL_WINDOW_SIZE over the largest", settings((INITIAL_WINDOW_SIZE, 1 << 31)),
     connection_error(FLOW_CONTROL_ERROR))
case("MAX_FRAME_SIZE below the least", settings((MAX_FRAME_SIZE, 16383)), connection_error(PROTOCOL_ERROR))
case("MAX_FRAME_SIZE over the largest", settings((MAX_FRAME_SIZE, 1 << 24)), connection_error(PROTOCOL_ERROR))
case("an acknowledgement of no SETTINGS", 3 * frame(SETTINGS, ACK, 0), ALIVE)

# PUSH_PROMISE, PING, GOAWAY: §6.6, §6.7, §6.8.
case("PUSH_PROMISE from a client",
     lambda wire: request(end=False)(wire) + frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\3" + get(wire)),
     connection_error(PROTOCOL_ERROR))
case("PING on a stream", frame(PING, 0, 1, bytes(8)), connection_error(PROTOCOL_ERROR))
case("PING of 6 octets", frame(PING, 0, 0, bytes(6)), connection_error(FRAME_SIZE_ERROR))
case("PING of 9 octets", frame(PING, 0, 0, bytes(9)), connection_error(FRAME_SIZE_ERROR))
case("PING with an acknowledgement is not answered", frame(PING, ACK, 0, b"unwanted"), ALIVE)
case("GOAWAY on a stream", frame(GOAWAY, 0, 1, bytes(8)), connection_error(PROTOCOL_ERROR))
case("GOAWAY of 7 octets", frame(GOAWAY, 0, 0, bytes(7)), connection_error(FRAME_SIZE_ERROR))

# WINDOW_UPDATE and flow control: §6.9.
case("WINDOW_UPDATE of 0 for the connection", window_update(0, 0), connection_error(PROTOCOL_ERROR))
case("WINDOW_UPDATE of 0 for a stream", then(request(end=False), window_update(1, 0)), stream_error(PROTOCOL_ERROR))
case("WINDOW_UPDATE of 3 octets", frame(WINDOW_UPDATE, 0, 0, b"\0\0\1"), connection_error(FRAME_SIZE_ERROR))
case("WINDOW_UPDATE of 5 octets", frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1\0"), connection_error(FRAME_SIZE_ERROR))
case("a connection window beyond the largest", 2 * window_update(0, 2 ** 31 - 1), connection_error(FLOW_CONTROL_ERROR))
case("a stream window beyond the largest", then(request(end=False), 2 * window_update(1, 2 ** 31 - 1)),
     stream_error(FLOW_CONTROL_ERROR))
case("a stream window beyond the largest by settings",
     then(request(end=False, method="POST"), window_update(1, 2 ** 30), settings((INITIAL_WINDOW_SIZE, 2 ** 31 - 1))),
     connection_error(FLOW_CONTROL_ERROR))
case("more DATA than the stream's window",
     lambda wire: headers(1, block(wire.request_fields("/o/unread", "POST")), False)
     + 640 * frame(DATA, 0, 1, bytes(1 << 14)), stream_error(FLOW_CONTROL_ERROR))

# HPACK: RFC 7541.
for name, representation in [
        ("indexed line of the dynamic table", literal("x-a", "1", 0x40) + b"\xbe"),
        ("literal with indexing, indexed name", b"\x7a\x06h2test"),
        ("literal with indexing, new name", literal("user-agent", "test", 0x40)),
        ("literal with indexing, Huffman",
         b"\x40\x87" + huffman(b"user-agent") + b"\x83" + huffman(b"test")),
        ("literal without indexing, indexed name", b"\x0f\x2b\x04test"),
        ("literal without indexing, Huffman", b"\x00\x87" + huffman(b"user-agent") + b"\x83" + huffman(b"test")),
        ("literal never indexed, indexed name", b"\x1f\x2b\x04test"),
        ("literal never indexed, new name", literal("x-test", "test", 0x10)),
        ("literal with an empty value", literal("x-test", ""))]:
    case(f"hpack: {name}", lambda wire, representation=representation: headers(1, get(wire) + representation), ANSWER)
for name, block_ in [("a size update", b"\x20"), ("two size updates", b"\x3f\x61\x3f\xe1\x1f")]:
    case(f"hpack: {name} at the start", lambda wire, block_=block_: headers(1, block_ + get(wire)), ANSWER)
for name, representation in [
        ("an index beyond the tables", b"\xc6"), ("a name's index beyond the tables", b"\x7f\x07\0"),
        ("index 0", b"\x80"), ("a size update at the end", b"\x21"),
        ("an integer that does not end", b"\xff" + b"\xff" * 20), ("a string longer than the block", b"\0\x05abc"),
        ("an integer of ten octets", b"\x00\x7f\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
        ("Huffman padding of 8 bits", b"\0\x01a" + bytes([0x80 | 4]) + huffman(b"abc", "1" * 14)[:3] + b"\xff"),
        ("Huffman padding of zeros", b"\0\x01a\x83" + huffman(b"tes") [:2] + b"\x90"),
        ("Huffman with EOS", b"\0\x01a\x84" + bytes.fromhex("ffffffff"))]:
    case(f"hpack: {name}", lambda wire, representation=representation: headers(1, get(wire) + representation),
         connection_error(COMPRESSION_ERROR))
case("hpack: a size update over the table's size", lambda wire: headers(1, b"\x3f\xe2\x1f" + get(wire)),
     connection_error(COMPRESSION_ERROR))
case("hpack: a size update at the end of a block whose table is then used",
     lambda wire: headers(1, literal("x-a", "1", 0x40) + b"\x20" + get(wire)), connection_error(COMPRESSION_ERROR))


def invalid_preface(stage):
    with stage.wire(handshake=False) as wire:
        wire.send(b"INVALID CONNECTION PREFACE\r\n\r\n")
        check(wire, connection_error(PROTOCOL_ERROR))


def short_invalid_preface(stage):
    with stage.wire(handshake=False) as wire:
        wire.send(b"GET / HTTP/1.1\r\n\r\n")
        try:
            while True:
                wire.read()
        except Closed:
            pass


def preface_without_settings(stage):
    with stage.wire(handshake=False) as wire:
        wire.send(PREFACE + frame(PING, 0, 0, bytes(8)))
        check(wire, connection_error(PROTOCOL_ERROR))


def preface_alone(stage):
    with stage.wire(handshake=False) as wire:
        wire.send(PREFACE + settings())
        first = wire.read()
        assert first.kind == SETTINGS and not first.flags & ACK and first.stream == 0
        codes = {code for code, _ in struct.iter_unpack(">HI", first.payload)}
        assert codes >= {MAX_CONCURRENT_STREAMS, 6}
        # SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 §3): browsers then ask for WebSocket over HTTP/1.1.
        assert 8 not in codes


def byte_by_byte(stage):
    with stage.wire(handshake=False) as wire:
        for byte in PREFACE + settings() + headers(1, get(wire)):
            wire.send(bytes([byte]))
        assert wire.response(1).body == TEXT.encode()


def window_of_one(stage):
    with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 1)]) as wire:
        wire.open()
        while (got := wire.read()).kind != DATA:
            pass
        assert len(got.payload) == 1, len(got.payload)
        wire.send(window_update(1, 1000))
        assert Response(wire, 1).body == TEXT.encode()[1:]


def window_changed_later(stage):
    with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 0)]) as wire:
        wire.open()
        wire.send(settings((INITIAL_WINDOW_SIZE, 1)))
        while (got := wire.read()).kind != DATA:
            pass
        assert len(got.payload) == 1, len(got.payload)


def window_made_negative(stage):
    with stage.wire(initial=[(INITIAL_WINDOW_SIZE, 3)]) as wire:
        wire.open()
        while (got := wire.read()).kind != DATA:
            pass
        assert len(got.payload) == 3
        wire.send(settings((INITIAL_WINDOW_SIZE, 2)) + window_update(1, 2))
        while (got := wire.read()).kind != DATA:
            pass
        assert len(got.payload) == 1, len(got.payload)


def last_of_two_window_sizes(stage):
    with stage.wire() as wire:
        wire.send(settings((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)))
        wire.open()
        while (got := wire.read()).kind != DATA:
            pass
        assert len(got.payload) == 1, len(got.payload)


def smaller_table(stage):
    """The next header block, and no other one, says that the dynamic table is empty (RFC 9113 §4.3.1)."""
    def first_byte(wire):
        wire.open()
        while (got := wire.read()).kind != HEADERS:
            pass
        wire.fields.decode(got.payload)
        return got.payload[0]

    for size in (0, 100, 4095):
        with stage.wire(initial=[(HEADER_TABLE_SIZE, size)]) as wire:
            assert first_byte(wire) == 0x20 and first_byte(wire) != 0x20, size
        with stage.wire() as wire:
            assert first_byte(wire) != 0x20
            wire.send(settings((HEADER_TABLE_SIZE, size)))
            assert first_byte(wire) == 0x20 and first_byte(wire) != 0x20, size
    with stage.wire(initial=[(HEADER_TABLE_SIZE, 65536)]) as wire:
        assert first_byte(wire) != 0x20


def request_after_goaway(stage):
    with stage.wire() as wire:
        stream = wire.open()
        wire.send(frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0xff) + b"debug"))
        assert wire.response(stream).status == 200


def frames_behind_an_error(stage):
    with stage.wire() as wire:
        wire.send(frame(PING, 0, 1, bytes(8)) + request()(wire))
        check(wire, connection_error(PROTOCOL_ERROR))


CASES += [
    ("an invalid preface", invalid_preface), ("an invalid preface that is shorter", short_invalid_preface),
    ("a preface without SETTINGS", preface_without_settings), ("the server's preface", preface_alone),
    ("all of it byte by byte", byte_by_byte), ("a window of 1", window_of_one),
    ("a window that is changed later", window_changed_later), ("a window that is made negative", window_made_negative),
    ("two window sizes in one SETTINGS", last_of_two_window_sizes),
    ("a dynamic table that becomes smaller", smaller_table), ("GOAWAY lets the request under way finish", request_after_goaway),
    ("a request behind an error of the connection", frames_behind_an_error)]

if __name__ == "__main__":
    main(CASES)
