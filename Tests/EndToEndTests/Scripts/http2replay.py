"""The bytes of each case of `http2conformance.py`, without waiting for what comes in between: at once, and byte by byte.

The connection has to be closed, with GOAWAY or without, or to answer a PING behind them; the proxy goes on.
"""
import http2conformance
from http2stage import HOST, main
from http2wire import *

CASES = []


class Recorder(http2conformance.Client):
    """Takes down what a case sends, and tells it that all is as it should be."""

    def __init__(self, handshake):
        self.path, self.authority, self.sent = "/page", f"{HOST}:443", b""
        self.compressor, self.settings = http2conformance.Compressor(), {MAX_CONCURRENT_STREAMS: 100}
        self.wire = self
        if handshake:
            self.send(PREFACE, settings((INITIAL_WINDOW_SIZE, 65535)), frame(SETTINGS, ACK, 0))

    def send(self, *parts):
        self.sent += b"".join(parts)

    def nothing(self, *_, **__):
        pass

    connection_error = stream_error = closed = answered = ended = pong = acknowledged = data = nothing

    def pinged(self, payload=bytes(8), or_closed=False):
        self.send(frame(PING, 0, 0, payload))

    # The other frames of such a case: the one that it waits for.
    def read(self, *_):
        return Frame(SETTINGS, 0, 0, b"")

    def until(self, *kinds):
        return Frame(kinds[0], 0, 1, struct.pack(">I", FLOW_CONTROL_ERROR) * (1 if kinds[0] == RST_STREAM else 2))


def replay(name, sent):
    def perform(stage):
        for is_whole in (True, False):
            with stage.wire(handshake=False) as wire:
                if is_whole:
                    wire.send(sent)
                else:
                    # Long runs of the same byte go out in pieces.
                    for byte in sent[:400]:
                        wire.send(bytes([byte]))
                    for start in range(400, len(sent), 331):
                        wire.send(sent[start:start + 331])
                wire.send(frame(PING, 0, 0, b"the-end!"))
                # Which of them may depend on whether an answer was complete before the next byte came.
                assert outcome(wire) in ("open", "closed", *(f"GOAWAY {code}" for code in range(1, 10)))
    CASES.append((name, perform))


def outcome(wire):
    try:
        while True:
            got = wire.read()
            if got.kind == GOAWAY:
                return f"GOAWAY {got.code}"
            if got.kind == PING and got.payload == b"the-end!":
                return "open"
    except Closed:
        return "closed"


for name, function, handshake in http2conformance.CASES:
    recorder = Recorder(handshake)
    function(recorder)
    replay(name, recorder.sent)

if __name__ == "__main__":
    main(CASES)
