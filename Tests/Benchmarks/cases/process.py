"""What the process takes by itself: to start, to wait, to keep connections, to log, and with a second event loop."""

import contextlib
import dataclasses
import os
import socket
import statistics
import time

import peers
from cases.case import Case, Comparison, verdicts
from cases.retained import wrk
from compare import Contender, Figure, Goal, Result
from load import Load, Wrk, ask
from machine import CPUClock, Server, Unusable, free_port, rss
from setting import Setting, content


class Start(Case):
    """From the moment the program is called until it has answered a request."""

    def runs(self, setting: Setting) -> int:
        return 5 if setting.quick else 21

    def seconds(self, setting: Setting) -> float:
        return 1 + self.runs(setting) * 0.15

    def run(self, setting: Setting) -> Result:
        root = setting.subfolder("www")
        setting.write(root, "f.png", content(4096))
        path = setting.write(root, "map.yaml", peers.mapped(root))
        runs = [self.once(setting, path) for _ in range(self.runs(setting))]
        (times, used) = zip(*runs)
        figures = [
            Figure("start to first answer, small map", statistics.median(times), "ms", 25, min(times), max(times)),
            Figure("processor time until then", statistics.median(used), "ms", None, min(used), max(used)),
        ]
        return Result(self.name, self.title, f"{len(times)} starts", figures=figures, verdicts=verdicts(figures))

    def once(self, setting: Setting, path: str) -> tuple[float, float]:
        """Milliseconds by the clock and of processor time."""
        port = free_port()
        argv = [setting.binary, "serve", "--map", path, "--listen", f"127.0.0.1:{port}", "--log-file", "/dev/null"]
        begin = time.monotonic()
        server = Server("subproxy", argv, port, wait=False)
        try:
            while True:
                with contextlib.suppress(ConnectionRefusedError):
                    if ask(port, peers.RETAINED).status != 200:
                        raise Unusable("the first answer was none")
                    return (time.monotonic() - begin) * 1e3, CPUClock.total(server.pid) / 1e6
                if time.monotonic() - begin > 10:
                    raise Unusable("no answer within 10 s of the start")
                time.sleep(0.0002)
        finally:
            server.stop()


@dataclasses.dataclass
class Waiting(Case):
    """Memory of a proxy that has been asked once, and of connections that have."""

    def connections(self, setting: Setting) -> int:
        return 1_000 if setting.quick else 10_000

    def seconds(self, setting: Setting) -> float:
        return 2 + self.connections(setting) / 2000

    def run(self, setting: Setting) -> Result:
        root = setting.subfolder("www")
        setting.write(root, "f.png", content(4096))
        count = self.connections(setting)
        head = peers.RETAINED.head()
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(
                peers.subproxy(setting, peers.mapped(root), "--max-connections", str(count + 100)))
            ask(server.port, peers.RETAINED)
            idle = rss(server.pid)
            for _ in range(count):
                s = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 10))
                s.sendall(head)
                got = s.recv(65536)
                if not got.startswith(b"HTTP/1.1 200"):
                    raise Unusable(f"a connection was answered with {got[:40]!r}")
            each = (rss(server.pid) - idle) / count
        figures = [
            Figure("idle memory, one event loop", idle / 1024, "MiB", 20),
            Figure(f"memory of each of {count:,} idle keep-alive connections", each, "KiB", 6),
        ]
        return Result(self.name, self.title, "", figures=figures, verdicts=verdicts(figures))


def variants(ours: tuple[str, dict], other: tuple[str, dict]):
    """The proxy beside itself, set up another way."""

    def contenders(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
        body = content(4096)
        root = setting.subfolder("www")
        setting.write(root, "f.png", body)

        def contender(name: str, settings: dict) -> Contender:
            given = {key: value(setting) if callable(value) else value for key, value in settings.items()}
            return Contender(
                name, lambda: peers.subproxy(setting, peers.mapped(root), name=name, **given), peers.RETAINED, body)

        return contender(*ours), [contender(*other)]

    return contenders


def log_file(setting: Setting) -> str:
    return os.path.join(setting.subfolder("log"), "access.log")


def all_cores(setting: Setting) -> list[int]:
    return sorted(os.sched_getaffinity(0))


def many_cores() -> bool:
    return len(os.sched_getaffinity(0)) >= 4


def loop_cores(setting: Setting) -> list[int]:
    """Two for the loops and others for the load; where there are not as many, all for both."""
    return all_cores(setting)[:2] if many_cores() else all_cores(setting)


def loop_load_cores(setting: Setting) -> list[int]:
    return all_cores(setting)[2:] if many_cores() else all_cores(setting)


def loop_load(setting: Setting) -> Load:
    return Wrk(threads=2 if many_cores() else 1)


CASES = [
    Start("start", "Start to first answer"),
    Waiting("idle", "Memory of a proxy that waits"),
    Comparison(
        "log", "The access log switched on", wrk(),
        variants(("log on", {"log": log_file}), ("log off", {})), [Goal("log off", "rate", 0.95)]),
    Comparison(
        "loops", "Two event loops beside one", loop_load,
        variants(("two loops", {"threads": 2, "cores": loop_cores}), ("one loop", {"threads": 1, "cores": loop_cores})),
        [Goal("one loop", "rate", 1.7) if many_cores() else Goal("one loop", "cost", 1.1)], cores=loop_load_cores),
]
