"""A client of HTTP/2 that sends whatever it is told to: frames as bytes, HPACK without compression (RFC 9113, RFC 7541).

Standard library only. `Wire` is one TLS connection through the proxy's CONNECT.
"""
import socket
import ssl
import struct
import time

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, PRIORITISED, ACK = 1, 4, 8, 32, 1
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 1, 2, 3, 4, 5
(NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR,
 REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM) = range(12)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

# RFC 7541 Appendix A.
STATIC_TABLE = [("", "")] + [tuple((line + "=").split("=")[:2]) for line in """
:authority :method=GET :method=POST :path=/ :path=/index.html :scheme=http :scheme=https :status=200 :status=204
:status=206 :status=304 :status=400 :status=404 :status=500 accept-charset accept-encoding=gzip,_deflate
accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control
content-disposition content-encoding content-language content-length content-location content-range content-type cookie
date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified
link location max-forwards proxy-authenticate proxy-authorization range referer refresh retry-after server set-cookie
strict-transport-security transfer-encoding user-agent vary via www-authenticate""".replace(",_", ", ").split()
    if line != "deflate"]
STATIC_TABLE[16] = ("accept-encoding", "gzip, deflate")

# RFC 7541 Appendix B is a canonical code: the lengths of its symbols, EOS last, give the codes. Runs as count*length.
CODE_LENGTHS = [int(length) for run in """
13 23 7*28 24 30 2*28 30 8*28 30 9*28 6 2*10 12 13 6 8 11 2*10 8 11 8 3*6 3*5 7*6 7 8 15 6 12 10 13 6 22*7 8 7 8 13 19 13
14 6 15 5 6 5 6 5 3*6 5 2*7 3*6 5 6 7 6 2*5 6 5*7 15 11 14 13 28 20 22 2*20 3*22 23 22 5*23 24 23 2*24 22 23 24 4*23 21 22
23 22 2*23 24 22 21 20 2*22 2*23 21 23 2*22 24 21 22 2*23 2*21 22 21 23 22 2*23 20 3*22 23 2*22 23 2*26 20 19 22 23 22 25
3*26 2*27 26 24 25 19 21 26 2*27 26 27 24 2*21 2*26 28 3*27 20 24 20 21 22 2*21 23 2*22 2*25 2*24 26 23 26 27 2*26 5*27
28 5*27 26 30""".split() for length in [run.split("*")[-1]] * (int(run.split("*")[0]) if "*" in run else 1)]


def canonical_codes():
    codes, code, previous = {}, 0, 0
    for symbol in sorted(range(257), key=lambda symbol: (CODE_LENGTHS[symbol], symbol)):
        code <<= CODE_LENGTHS[symbol] - previous
        previous = CODE_LENGTHS[symbol]
        codes[(previous, code)] = symbol
        code += 1
    return codes


HUFFMAN = canonical_codes()
HUFFMAN_OF = {symbol: code for code, symbol in HUFFMAN.items()}


def huffman(data, padding=None):
    """`data` in the code of Appendix B, filled up to whole bytes with ones, or with `padding`, a string of bits."""
    bits = "".join(format(code, f"0{length}b") for length, code in (HUFFMAN_OF[byte] for byte in data))
    bits += "1" * (-len(bits) % 8) if padding is None else padding
    return bytes(int(bits[start:start + 8], 2) for start in range(0, len(bits), 8))


def unhuffman(data):
    out, length, code = bytearray(), 0, 0
    for byte in data:
        for shift in range(7, -1, -1):
            code, length = code << 1 | byte >> shift & 1, length + 1
            if (length, code) in HUFFMAN:
                out.append(HUFFMAN[(length, code)])
                length = code = 0
    return bytes(out)


def integer(value, prefix, first=0):
    limit = (1 << prefix) - 1
    if value < limit:
        return bytes([first | value])
    out, value = bytearray([first | limit]), value - limit
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def octets(text):
    return text if isinstance(text, bytes) else text.encode("latin-1")


def literal(name, value, first=0x00):
    """A literal field line: without indexing, or by `first` 0x40 with it, 0x10 never indexed."""
    name, value = octets(name), octets(value)
    return bytes([first]) + integer(len(name), 7) + name + integer(len(value), 7) + value


def block(fields):
    return b"".join(field if isinstance(field, bytes) else literal(*field) for field in fields)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def settings(*pairs):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in pairs))


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def reset(stream, code=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


class FieldDecoder:
    """HPACK for what the proxy sends."""

    def __init__(self):
        self.table, self.capacity = [], 4096

    def entry(self, index):
        return STATIC_TABLE[index] if index < 62 else self.table[index - 62]

    def decode(self, data):
        position, fields = 0, []

        def number(prefix):
            nonlocal position
            limit = (1 << prefix) - 1
            value, position = data[position] & limit, position + 1
            shift = 0
            while value >= limit:
                byte, position = data[position], position + 1
                value, shift = value + ((byte & 127) << shift), shift + 7
                if byte < 128:
                    break
            return value

        def string():
            nonlocal position
            coded = data[position] & 128
            length = number(7)
            raw, position = data[position:position + length], position + length
            return (unhuffman(raw) if coded else raw).decode("latin-1")

        while position < len(data):
            first = data[position]
            if first & 0x80:
                fields.append(self.entry(number(7)))
            elif first & 0xe0 == 0x20:
                self.capacity = number(5)
                self.evict()
            else:
                index = number(6 if first & 0x40 else 4)
                field = (self.entry(index)[0] if index else string(), string())
                fields.append(field)
                if first & 0x40:
                    self.table.insert(0, field)
                    self.evict()
        return fields

    def evict(self):
        while sum(len(name) + len(value) + 32 for name, value in self.table) > self.capacity:
            self.table.pop()


class Frame:
    def __init__(self, kind, flags, stream, payload):
        self.kind, self.flags, self.stream, self.payload = kind, flags, stream, payload

    @property
    def code(self):
        """The error code of RST_STREAM and GOAWAY."""
        return struct.unpack(">I", self.payload[-4:] if self.kind == RST_STREAM else self.payload[4:8])[0]

    @property
    def last_stream(self):
        return struct.unpack(">I", self.payload[:4])[0] & 0x7fffffff


class Closed(Exception):
    """The connection is over."""


class Wire:
    """A connection to `host` in a tunnel that the proxy decrypts."""

    def __init__(self, port, host, authority_file, protocols=("h2",), handshake=True, seconds=300, receive_buffer=None,
                 initial=(), is_strict=False, origin_port=443):
        plain = socket.socket()
        if receive_buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        plain.settimeout(seconds)
        plain.connect(("127.0.0.1", port))
        # Else the end of what fills a window waits for an acknowledgement that is late on purpose.
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.sendall(f"CONNECT {host}:{origin_port} HTTP/1.1\r\nHost: {host}:{origin_port}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = plain.recv(1)
            if not byte:
                raise Closed(head)
            head += byte
        assert head.startswith(b"HTTP/1.1 200 "), head
        context = ssl.create_default_context(cafile=authority_file)
        context.set_alpn_protocols(list(protocols))
        # Strictly, only close_notify is the connection's end.
        self.socket = context.wrap_socket(plain, server_hostname=host, suppress_ragged_eofs=not is_strict)
        self.is_strict = is_strict
        self.host, self.buffer, self.fields, self.seconds = host, b"", FieldDecoder(), seconds
        self.kept = []
        self.next_stream, self.authority = 1, host if origin_port == 443 else f"{host}:{origin_port}"
        # How many bytes may be sent on each stream, and on all (0).
        self.windows = {0: 65535}
        if handshake:
            self.send(PREFACE + settings(*initial))
            first = self.read()
            assert first.kind == SETTINGS and not first.flags & ACK, "the server's preface is a SETTINGS frame"
            self.settings = {pair[0]: pair[1] for pair in struct.iter_unpack(">HI", first.payload)}
            self.send(frame(SETTINGS, ACK, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (ssl.SSLError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            # What has been sent by the other side before it closed is still read.
            pass

    def read(self, seconds=None):
        """The next frame; TimeoutError when none comes, Closed at the end."""
        if self.kept:
            return self.kept.pop(0)
        deadline = time.monotonic() + (seconds if seconds is not None else self.seconds)
        while True:
            if len(self.buffer) >= 9:
                length = int.from_bytes(self.buffer[:3], "big")
                if len(self.buffer) >= 9 + length:
                    kind, flags, stream = self.buffer[3], self.buffer[4], int.from_bytes(self.buffer[5:9], "big")
                    payload, self.buffer = self.buffer[9:9 + length], self.buffer[9 + length:]
                    if kind == WINDOW_UPDATE:
                        self.windows[stream] = self.windows.get(stream, 65535) + int.from_bytes(payload, "big")
                    return Frame(kind, flags, stream & 0x7fffffff, payload)
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(1 << 16)
            except (ssl.SSLWantReadError, TimeoutError):
                raise TimeoutError from None
            except ssl.SSLError:
                if self.is_strict:
                    raise
                raise Closed from None
            except OSError:
                raise Closed from None
            finally:
                self.socket.settimeout(self.seconds)
            if not data:
                raise Closed
            self.buffer += data

    def wait_for(self, kind, stream):
        """Returns when a frame of a stream has come; it and those before it are read all the same."""
        frames = [self.read()]
        while (frames[-1].kind, frames[-1].stream) != (kind, stream):
            frames.append(self.read())
        self.kept = frames

    def request_fields(self, path="/", method="GET", *more, authority=None, scheme="https"):
        return [(":method", method), (":scheme", scheme), (":path", path), (":authority", authority or self.authority), *more]

    def open(self, fields=None, end=True, path="/"):
        """Sends a request's header section; its stream."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        fields = fields if fields is not None else self.request_fields(path)
        self.send(headers(stream, fields, end))
        return stream

    def upload(self, stream, size, end=True):
        """Sends a body as the windows allow; the frames that came meanwhile."""
        frames, sent = [], 0
        self.windows.setdefault(stream, 65535)
        while sent < size:
            count = min(1 << 14, self.windows[0], self.windows[stream], size - sent)
            if count > 0:
                sent += count
                self.windows[0], self.windows[stream] = self.windows[0] - count, self.windows[stream] - count
                self.send(frame(DATA, END_STREAM if end and sent == size else 0, stream, bytes(count)))
            else:
                frames.append(self.read())
        return frames

    def response(self, stream, seconds=None):
        return Response(self, stream, seconds)

    def get(self, path="/", **options):
        return self.response(self.open(self.request_fields(path), **options))

    def ping(self, payload=b"12345678", seconds=None):
        """Whether a PING is answered."""
        self.send(frame(PING, 0, 0, payload))
        while True:
            answer = self.read(seconds)
            if answer.kind == PING and answer.flags & ACK and answer.payload == payload:
                return True


def headers(stream, fields, end=True, flags=END_HEADERS):
    payload = fields if isinstance(fields, bytes) else block(fields)
    return frame(HEADERS, flags | (END_STREAM if end else 0), stream, payload)


class Response:
    """Reads to the end of a stream: its fields, body, trailers, or the code that it was reset with."""

    def __init__(self, wire, stream, seconds=None, replenishes=True):
        self.status, self.fields, self.trailers, self.interim = None, {}, None, []
        self.pieces = []
        self.reset = self.goaway = None
        self.after = None
        ended = False
        while not ended:
            try:
                frame_ = wire.read(seconds)
            except Closed:
                self.closed = True
                return
            if frame_.kind == GOAWAY:
                self.goaway = frame_.code
            if frame_.kind in (HEADERS,):
                decoded = wire.fields.decode(frame_.payload)
                if frame_.stream != stream:
                    continue
                if self.status is not None:
                    self.trailers = decoded
                elif decoded[0][1].startswith("1"):
                    self.interim.append(decoded)
                else:
                    self.status, self.fields = int(decoded[0][1]), dict(decoded[1:])
                    self.lines = decoded
            elif frame_.stream != stream:
                continue
            elif frame_.kind == DATA:
                self.pieces.append(frame_.payload)
                if replenishes and frame_.payload and not frame_.flags & END_STREAM:
                    wire.send(window_update(0, len(frame_.payload)) + window_update(stream, len(frame_.payload)))
                elif frame_.payload:
                    wire.send(window_update(0, len(frame_.payload)))
            elif frame_.kind == RST_STREAM:
                self.reset = frame_.code
                return
            ended = frame_.kind in (HEADERS, DATA) and frame_.flags & END_STREAM

    @property
    def body(self):
        return b"".join(self.pieces)
