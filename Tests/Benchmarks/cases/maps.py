"""What the size of a map costs: a request, the start, and memory."""

import contextlib
import os
import time
from collections.abc import Callable

import peers
from cases.case import Comparison
from cases.retained import wrk
from compare import Contender, Figure, Goal, Result
from load import Request, ask
from machine import CPUClock, Server, peak_rss
from setting import HOST, Setting, content


class Rules:
    """A map of many rules, and what its start has shown."""

    def __init__(
        self, count: Callable[[Setting], int], key: str, value: str, url: str, start_goal: float | None = None,
        memory_goal: float | None = None,
    ):
        self.start_goal, self.memory_goal = start_goal, memory_goal
        self.count, self.key, self.value, self.url = count, key, value, url
        # By the name of the server: seconds by the clock, processor time until then and afterwards, and KiB.
        self.started: dict[str, tuple[float, float, float, int]] = {}
        self.text_bytes = self.rules = 0

    def contenders(self, setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
        self.rules = self.count(setting)
        body = content(4096)
        root = setting.subfolder("www")
        os.makedirs(os.path.join(root, "d"))
        setting.write(root, "f.png", body)
        setting.write(root, "d/f.png", body)
        # The last rule answers: what is looked through in order shows.
        request = Request(self.url.format(self.rules - 1))
        lines = [f"  {self.key.format(i)}: {self.value}\n" for i in range(self.rules)]
        self.text_bytes = sum(len(self.key.format(i)) + len(self.value) for i in range(self.rules))
        many = f"root: {root}\nsubstitutions:\n{''.join(lines)}"
        one = f"root: {root}\nsubstitutions:\n{lines[-1]}"

        def contender(name: str, text: str) -> Contender:
            return Contender(name, lambda: self.start(setting, name, text, request), request, body)

        return contender("subproxy", many), [contender("one rule", one)]

    def start(self, setting: Setting, name: str, text: str, request: Request) -> Server:
        begin = time.monotonic()
        server = peers.subproxy(setting, text, name=name)
        ask(server.port, request)
        seconds, used = time.monotonic() - begin, CPUClock.total(server.pid) / 1e9
        # The files that a map names are looked for while it is served already: no part of what a request costs.
        server.settle()
        self.started[name] = seconds, used, CPUClock.total(server.pid) / 1e9 - used, peak_rss(server.pid)
        return server

    def figures(self, result: Result) -> list[Figure]:
        seconds, used, later, most = self.started["subproxy"]
        beyond = (most - self.started["one rule"][3]) * 1024 - self.text_bytes
        return [
            Figure(f"start to first answer with {self.rules:,} rules", seconds, "s", self.start_goal),
            Figure("processor time until then", used, "s"),
            Figure("processor time afterwards, to look for the files", later, "s"),
            Figure("peak memory a rule beyond its text", beyond / self.rules, "bytes", self.memory_goal),
            Figure("peak memory", most / 1024, "MiB"),
        ]

    def look_up(self, result: Result) -> list[Figure]:
        ours, one = result.rows
        return [
            Figure(f"look-up among {self.rules:,} rules, beyond that of one", ours.cpu_us - one.cpu_us, "µs", 20),
            *self.figures(result),
        ]


def quick(few: int, many: int) -> Callable[[Setting], int]:
    return lambda setting: few if setting.quick else many


EXACT = Rules(
    quick(100_000, 1_000_000), f"http://{HOST}/{{:07d}}.png", "f.png", f"http://{HOST}/{{:07d}}.png", 2, 250)
FOLDERS = Rules(quick(10_000, 100_000), f"http://{HOST}/{{:06d}}/", "d/", f"http://{HOST}/{{:06d}}/f.png", 2, 250)
# Anchored, with a literal text that tells them apart: in the host, or in the path behind one host.
HOSTS = Rules(
    quick(10_000, 10_000), "~^https?://h{:05d}\\.example\\.test/(\\w+)\\.png$", "$1.png",
    "http://h{:05d}.example.test/f.png")
PATHS = Rules(
    quick(10_000, 10_000), f"~^https?://{HOST.replace('.', chr(92) + '.')}/item{{:05d}}/(\\w+)\\.png$", "$1.png",
    f"http://{HOST}/item{{:05d}}/f.png")
# Not anchored: nothing says where in a URL the text is.
ANYWHERE = Rules(quick(10_000, 10_000), "~/item{:05d}/(\\w+)\\.png$", "$1.png", f"http://{HOST}/item{{:05d}}/f.png")

SAME = Goal("one rule", "rate", 0.95)


def expressions(name: str, words: str, rules: Rules) -> Comparison:
    return Comparison(
        f"map-regex-{name}", f"10,000 regular expressions, {words}", wrk(), rules.contenders, figures=rules.look_up)


CASES = [
    Comparison(
        "map-exact", "A map of 1,000,000 exact rules beside one of one rule", wrk(), EXACT.contenders, [SAME],
        figures=EXACT.figures, extra_seconds=6),
    Comparison(
        "map-folders", "A map of 100,000 folders beside one of one", wrk(), FOLDERS.contenders, [SAME],
        figures=FOLDERS.figures, extra_seconds=3),
    expressions("hosts", "each for a host", HOSTS),
    expressions("paths", "each for a path of one host", PATHS),
    expressions("anywhere", "without an anchor", ANYWHERE),
]
