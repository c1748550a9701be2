"""A page with its resources in Chromium: beside Playwright, which answers its browser from a HAR without a proxy."""

import contextlib
import dataclasses
import json
import os
import statistics
import subprocess
import tempfile
from typing import Any

import peers
import samples
from cases.case import Case
from compare import Result, Row, Spread
from load import HERE
from machine import CPUClock, Server, Unusable, end
from setting import Setting


@dataclasses.dataclass
class Look:
    """One load of the page."""

    seconds: float
    # Of processor time: of the browser, of what drives it, and of the proxy.
    used: float


class Browser:
    """Chromium, driven by Playwright's Python in a process of its own. A context manager."""

    def __init__(self, setting: Setting, url: str, expected: dict[str, int]):
        self.expected = expected
        python = os.path.join(os.path.dirname(peers.found_program(setting, "playwright", "playwright")), "python")
        self.messages = tempfile.TemporaryFile()
        # A session of its own, so that Ctrl-C reaches this program first, which stops what it has started.
        self.process = subprocess.Popen(
            [python, os.path.join(HERE, "tools/pages.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.messages, text=True, start_new_session=True)
        self.say({"chromium": peers.chromium(), "url": url,
                  "arguments": ["--disable-gpu", *(["--no-sandbox"] if peers.is_root() else [])]})

    def load(self, way: dict[str, str], server: Server | None) -> Look:
        self.say(way)
        self.hear()
        clocks = [CPUClock(pid) for pid in (self.process.pid, *([server.pid] if server else []))]
        self.say("go")
        seen = self.hear()
        used = sum(clock.nanoseconds() for clock in clocks) / 1e9
        if found := {name: seen[name] for name in self.expected if seen[name] != self.expected[name]}:
            raise Unusable(f"the page has {found} and not {self.expected} by {', '.join(way)}")
        return Look(seen["seconds"], used)

    def say(self, value: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(value) + "\n")
            self.process.stdin.flush()

    def hear(self) -> Any:
        line = self.process.stdout.readline()
        if not line:
            self.messages.seek(0)
            said = self.messages.read().decode(errors="replace").strip()
            raise Unusable(f"Playwright ended: {said[-300:]}")
        return json.loads(line)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        # It ends with its input, and takes the browser along.
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            end(self.process)
        self.process.stdout.close()
        self.messages.close()


class Page(Case):
    """Ours and routeFromHAR in turn, over the same HAR, each time in a new context of the same browser."""

    def resources(self, setting: Setting) -> int:
        return 50 if setting.quick else 500

    def seconds(self, setting: Setting) -> float:
        return 6 + 2 * (setting.rounds + 1) * self.resources(setting) / 150

    def run(self, setting: Setting) -> Result:
        count = self.resources(setting)
        result = Result(self.name, self.title, f"{count} resources over https, from the call to the load event")
        har = os.path.join(setting.subfolder("page"), "page.har")
        expected = samples.har_of_page(har, count)
        # The browser is load and measured at once: nothing is pinned.
        unpinned = dataclasses.replace(setting, server_cores=None)
        try:
            with (peers.with_archive(unpinned, "replay", har) as server,
                  Browser(setting, samples.SECURE_PAGE, expected) as browser):
                server.settle()
                ways = [({"proxy": f"127.0.0.1:{server.port}"}, server), ({"har": har}, None)]
                for way in ways:
                    browser.load(*way)
                pairs = [[browser.load(*way) for way in ways] for _ in range(setting.rounds)]
        except Unusable as error:
            result.failures.append(str(error))
            return result
        result.rows = [
            row(name, [pair[i] for pair in pairs], count + 1) for i, name in enumerate(["subproxy", "playwright"])]
        result.rows[1].rate_ratio = Spread.of([theirs.seconds / ours.seconds for ours, theirs in pairs])
        result.rows[1].cpu_ratio = Spread.of([theirs.used / ours.used for ours, theirs in pairs])
        return result


def row(name: str, looks: list[Look], requests: int) -> Row:
    return Row(
        name, "request", statistics.median(requests / look.seconds for look in looks),
        statistics.median(look.used * 1e6 / requests for look in looks),
        statistics.median(look.used / look.seconds for look in looks))


CASES = [Page("replay-page", "A replayed page with 500 resources in Chromium; beside Playwright's routeFromHAR")]
