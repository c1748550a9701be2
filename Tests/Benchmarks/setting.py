"""What all cases share: where files go, which cores are whose, what is measured."""

import dataclasses
import hashlib
import itertools
import os
import random
import time
from email.utils import formatdate

from load import Pull, Request
from machine import Server, free_port

HOST = "images.example.test"


@dataclasses.dataclass
class Setting:
    """One run of the benchmark."""

    binary: str
    # Everything that is written, and removed in the end.
    folder: str
    # The programs that were made of tools/*.c, and mitmproxy.
    programs: dict[str, str]
    # The cores of the servers that are compared; None where they are the scheduler's to choose.
    server_cores: list[int] | None
    # The cores of the load and of origins.
    load_cores: list[int] | None
    rounds: int
    seconds: float
    warm_seconds: float
    quick: bool
    # Another build of this program that is measured in place of the peers.
    beside: str | None = None
    numbers: itertools.count = dataclasses.field(default_factory=itertools.count)

    def subfolder(self, name: str) -> str:
        """A new folder that servers which give their privileges up can enter."""
        path = os.path.join(self.folder, f"{next(self.numbers)}-{name}")
        os.makedirs(path)
        return path

    def write(self, folder: str, name: str, data: str | bytes) -> str:
        path = os.path.join(folder, name)
        with open(path, "wb") as f:
            f.write(data.encode() if isinstance(data, str) else data)
        return path

    @property
    def bulk_bytes(self) -> int:
        return (10 if self.quick else 100) << 20

    def pull(self, **settings) -> Pull:
        return Pull(self.programs["pull"], **settings)


def content(size: int) -> bytes:
    """Bytes that no one can compress, the same in each run."""
    return random.Random(size).randbytes(size)


class Origin:
    """An origin, or the bare limit: it answers whatever it is asked with one ready response, of which the limit may have
    `copies`, which it chooses by the URL's number.

    A context manager. `asked` is the number of requests it has had.
    """

    def __init__(
        self, setting: Setting, body: bytes, fields: str = "", *, status: str = "200 OK", name: str = "origin",
        cores: list[int] | None = None, copies: int = 1,
    ):
        folder = setting.subfolder(name)
        self.body = body
        sent = b"" if status.startswith("304") else body
        framing = f"Content-Length: {len(sent)}\r\n" if sent else ""
        now = time.time()
        head = (f"HTTP/1.1 {status}\r\nDate: {formatdate(now, usegmt=True)}\r\nServer: limit\r\n"
                f"Content-Type: image/png\r\nETag: {tag(body)}\r\n"
                f"Last-Modified: {formatdate(now - 86400, usegmt=True)}\r\n{fields}{framing}\r\n")
        response = setting.write(folder, "response", head.encode() + sent)
        self.counter = setting.write(folder, "counter", bytes(8))
        port = free_port()
        more = [str(copies)] if copies > 1 else ["close"] if name == "origin" else []
        self.server = Server(
            name, [setting.programs["limit"], str(port), response, self.counter, *more], port,
            cores=cores if cores is not None else setting.load_cores)

    @property
    def asked(self) -> int:
        with open(self.counter, "rb") as f:
            return int.from_bytes(f.read(8), "little")

    def request(self) -> Request:
        return Request(f"http://127.0.0.1:{self.server.port}/f.png")

    def __enter__(self) -> "Origin":
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()


def tag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:16]}"'
