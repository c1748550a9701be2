"""What one request takes outside the kernel, in instructions: a number that no other program and no pace of the machine changes.

Requests come one after the other on one connection, each with another Cookie and Referer, so that each takes a turn of the event
loop of its own: what requests that come together share is counted in full.
"""

import contextlib
import dataclasses
import os
import re
import socket
import subprocess
import time

import peers
from cases.case import Case
from cases.retained import CACHEABLE
from cases.stored import NO_RULE
from compare import Figure, Result
from load import Request, read_head
from machine import Server, Unusable, free_port
from setting import HOST, Origin, Setting, content


class Counted:
    """The program under callgrind. A context manager."""

    def __init__(self, setting: Setting, map_text: str, *options: str):
        self.folder = setting.subfolder("callgrind")
        self.dumps = 0
        # valgrind does not read what the compiler says for debuggers.
        program = os.path.join(self.folder, "subproxy")
        subprocess.run(["strip", "-g", "-o", program, setting.binary], check=True)
        port = free_port()
        self.server = Server(
            "subproxy",
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder}/out", program, "serve", "--map",
             setting.write(self.folder, "map.yaml", map_text), "--listen", f"127.0.0.1:{port}", "--log-file", "/dev/null",
             "--ca-dir", os.path.join(setting.folder, "ca"), *options],
            port)

    def taken(self) -> int:
        """Instructions since the last call."""
        self.dumps += 1
        subprocess.run(["callgrind_control", "-d", str(self.server.pid)], check=True, capture_output=True, timeout=60)
        path = f"{self.folder}/out.{self.dumps}"
        for _ in range(500):
            with contextlib.suppress(OSError), open(path) as f:
                if found := re.search(r"^totals: (\d+)", f.read(), re.MULTILINE):
                    return int(found[1])
            time.sleep(0.02)
        raise Unusable("callgrind wrote no totals")

    def __enter__(self) -> "Counted":
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()


class Client:
    """A connection that stays open. A context manager."""

    numbers = iter(range(1 << 30))

    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.stream = self.socket.makefile("rb")

    def ask(self, url: str) -> None:
        n = next(Client.numbers)
        request = Request(url, (("Cookie", f"session={n:08d}"), ("Referer", f"http://{HOST}/page/{n:08d}")))
        self.socket.sendall(request.head())
        status, fields = read_head(self.stream)
        if status != 200:
            raise Unusable(f"{url} was answered with {status}")
        self.stream.read(int(fields["content-length"]))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.socket.close()


@dataclasses.dataclass
class Instructions(Case):
    """A first hit, a hit, and a hit whose answer is ready on another event loop alone."""

    is_stored: bool = False

    def count(self, setting: Setting) -> int:
        return 50 if setting.quick else 400

    def seconds(self, setting: Setting) -> float:
        return 20 + self.count(setting) / 20

    def run(self, setting: Setting) -> Result:
        count, body = self.count(setting), content(4096)
        with contextlib.ExitStack() as stack:
            if self.is_stored:
                origin = stack.enter_context(Origin(setting, body, CACHEABLE))
                text, base = NO_RULE, f"http://127.0.0.1:{origin.server.port}"
            else:
                root = setting.subfolder("www")
                os.makedirs(os.path.join(root, "d"))
                for i in range(2 * count):
                    setting.write(root, f"d/{i}.png", body)
                text, base = f"root: {root}\nsubstitutions:\n  http://{HOST}/: .\n", f"http://{HOST}"
            # Connections are given to the event loops in turn.
            counted = stack.enter_context(Counted(setting, text, "--threads", "2"))
            counted.server.settle()
            one, other = (stack.enter_context(Client(counted.server.port)) for _ in range(2))
            urls = [f"{base}/d/{i}.png" for i in range(2 * count)]
            for client in (one, other):
                # What only the very first requests do.
                for url in urls[count:count + 20]:
                    client.ask(url)
                    client.ask(url)
            def taken(*turns: tuple[Client, str]) -> float:
                counted.taken()
                for client, url in turns:
                    client.ask(url)
                return counted.taken() / count

            # A mapped file is looked at anew 95 ms after the last look, in valgrind by another thread, since it does not know
            # openat2: so what is to be a hit is asked for again soon.
            first = taken(*((one, url) for url in urls[:count]))
            again = taken(*((one, url) for url in urls[:count]))
            beside = taken(*((client, url) for url in urls[count + 20:] for client in (one, other))) / (1 - 20 / count)
            few = taken(*((one, urls[i % 4]) for i in range(count)))
            same = taken(*((one, urls[0]) for _ in range(count)))
            figures = [
                Figure("an origin's response, stored" if self.is_stored else "first hit of a file, which is read", first,
                       "instructions"),
                *([Figure("first hit of what is stored", again, "instructions")] if self.is_stored else []),
                Figure("hit, one of four URLs", few, "instructions"),
                Figure("hit of one URL", same, "instructions"),
                Figure("hit that is ready on another event loop alone", beside - first, "instructions"),
            ]
        return Result(self.name, self.title, f"{count} requests, one after the other", figures=figures)


CASES = [
    Instructions("instructions-mapped", "Instructions of a mapped file of 4 KiB"),
    Instructions("instructions-stored", "Instructions of a stored response of 4 KiB", is_stored=True),
]
