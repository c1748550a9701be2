"""How long archives take from the start of the program until it answers from them: beside programs that go through the
same file, and beside loops in C over what can't be left out."""

import contextlib
import dataclasses
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import peers
import samples
from cases.case import Case, verdicts
from cases.process import Start
from compare import Figure, Goal, Result, Row, Spread
from load import Request, ask
from machine import CPUClock, Server, Unusable, free_port, on_cores, peak_rss
from samples import Made
from setting import Setting


@dataclasses.dataclass
class Run:
    """One pass over the file."""

    seconds: float
    # Of processor time.
    used: float
    # None where that can't be told.
    peak_kib: int | None


def until_answer(setting: Setting, path: str, request: Request, body: bytes, cores: list[int] | None) -> Run:
    """Starts a replay of the file, and ends it as soon as it has answered."""
    port = free_port()
    argv = [setting.binary, "replay", path, *peers.archive_options(setting, port)]
    begin = time.monotonic()
    server = Server("subproxy", argv, port, cores=cores, wait=False)
    try:
        while True:
            with contextlib.suppress(ConnectionRefusedError):
                response = ask(port, request)
                run = Run(time.monotonic() - begin, CPUClock.total(server.pid) / 1e9, peak_rss(server.pid))
                if response.status != 200 or response.body != body:
                    raise Unusable(f"the first answer has status {response.status} and {len(response.body)} bytes")
                return run
            if server.process.poll() is not None:
                raise Unusable(f"subproxy ended with status {server.process.returncode}: {server.last_words()}")
            if time.monotonic() - begin > 600:
                raise Unusable("no answer within 600 s of the start")
            # Few looks where they are many, since they take time of the machine's too.
            time.sleep(min(0.005, 0.0002 + (time.monotonic() - begin) / 1000))
    finally:
        server.stop()


def until_end(argv: list[str], cores: list[int] | None) -> Run:
    """Runs a program, whose output is dropped."""
    with tempfile.TemporaryFile() as messages:
        begin = time.monotonic()
        process = subprocess.Popen(
            [*on_cores(cores), *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages,
            start_new_session=True)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            messages.seek(0)
            raise Unusable(f"{os.path.basename(argv[0])} ended with status {process.returncode}: "
                           f"{messages.read().decode(errors='replace').strip()[-300:]}")
        # The kernel counts what this program has too, until the other one takes its place.
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss if usage.ru_maxrss > own else None)


# A program's command for a file.
Command = Callable[[Setting, str], list[str]]


def warcio(setting: Setting, path: str) -> list[str]:
    return [peers.found_program(setting, "warcio", "warcio"), "index", path]


def of_tools(name: str) -> Command:
    return lambda setting, path: [setting.programs[name], path]


def json_load(setting: Setting, path: str) -> list[str]:
    return [sys.executable, "-c", "import json, sys; json.load(open(sys.argv[1], 'rb'))", path]


def jq(setting: Setting, path: str) -> list[str]:
    if not shutil.which("jq"):
        raise Unusable("jq is not installed")
    return ["jq", "-r", ".log.entries[].request.url", path]


@dataclasses.dataclass
class Reading(Case):
    """Ours and each peer in turn over one file."""

    make: Callable[[str, int], Made]
    extension: str
    megabytes: int
    peers: dict[str, Command]
    goals: list[Goal]
    # Seconds until the first answer, and MiB of memory beyond that for one entry.
    time_goal: float | None = None
    memory_goal: float | None = None
    # About the seconds of one round.
    round_seconds: float = 30

    def size(self, setting: Setting) -> int:
        return (self.megabytes // 50 if setting.quick else self.megabytes) * 1_000_000

    def seconds(self, setting: Setting) -> float:
        return 3 if setting.quick else 10 + setting.rounds * self.round_seconds

    def run(self, setting: Setting) -> Result:
        folder = setting.subfolder("archives")
        made = self.make(os.path.join(folder, "large" + self.extension), self.size(setting))
        one = self.make(os.path.join(folder, "one" + self.extension), 1)
        size = os.path.getsize(made.path)
        result = Result(
            self.name, self.title,
            f"{size / 1e6:,.0f} MB, {made.entries:,} entries; a row's numbers are of MiB of the file")
        try:
            self.measure(setting, made, one, size / (1 << 20), result)
        except Unusable as error:
            result.failures.append(str(error))
        finally:
            # It may be large.
            shutil.rmtree(folder, ignore_errors=True)
        return result

    def measure(self, setting: Setting, made: Made, one: Made, mebibytes: float, result: Result) -> None:
        cores, mine, rows = setting.server_cores, [], []

        def ours(of: Made) -> Run:
            return until_answer(setting, of.path, Request(of.url), of.body, cores)

        for name, command in self.peers.items():
            try:
                argv = command(setting, made.path)
                pairs = [(ours(made), until_end(argv, cores)) for _ in range(setting.rounds)]
            except Unusable as error:
                result.failures.append(f"{name}: {error}")
                continue
            mine += [a for a, _ in pairs]
            theirs = row(name, [b for _, b in pairs], mebibytes)
            theirs.rate_ratio = Spread.of([b.seconds / a.seconds for a, b in pairs])
            theirs.cpu_ratio = Spread.of([b.used / a.used for a, b in pairs])
            rows.append(theirs)
            result.figures.append(figure(f"{name}, by the clock", [b.seconds for _, b in pairs], "s"))
        mine = mine or [ours(made) for _ in range(setting.rounds)]
        result.rows = [row("subproxy", mine, mebibytes), *rows]
        result.verdicts = [verdict for goal in self.goals if (verdict := goal.judge(result.rows))]
        beyond = (statistics.median(run.peak_kib for run in mine) - ours(one).peak_kib) / 1024
        own = [
            figure("start to first answer", [run.seconds for run in mine], "s", self.time_goal),
            figure("processor time until then", [run.used for run in mine], "s"),
            Figure("peak memory beyond that for one entry, the index included", beyond, "MiB", self.memory_goal),
        ]
        result.figures = own + result.figures
        result.verdicts += verdicts(own)


def row(name: str, runs: list[Run], mebibytes: float) -> Row:
    return Row(
        name, "MiB", statistics.median(mebibytes / run.seconds for run in runs),
        statistics.median(run.used * 1e6 / mebibytes for run in runs),
        statistics.median(run.used / run.seconds for run in runs),
        peak_rss_kib=max(run.peak_kib for run in runs) if all(run.peak_kib for run in runs) else None)


def figure(what: str, values: list[float], unit: str, goal: float | None = None) -> Figure:
    return Figure(what, statistics.median(values), unit, goal, min(values), max(values))


class Pages(Start):
    """From the moment the program is called until it has answered with the document of a saved page."""

    def seconds(self, setting: Setting) -> float:
        return 2 + 3 * self.runs(setting) * 0.15

    def run(self, setting: Setting) -> Result:
        folder = setting.subfolder("pages")
        size = 330_000 if setting.quick else 3_300_000
        made = {
            name: (f"{folder}/page.{name}", make(f"{folder}/page.{name}", size))
            for name, make in (("mhtml", samples.mhtml), ("webarchive", samples.webarchive))}
        small = setting.write(folder, "map.yaml", f"substitutions:\n  {samples.PAGE}: {{ text: x }}\n")
        request = Request(samples.PAGE)
        # In turn. No cores, as for the start with a map of one rule.
        times = {name: [] for name in (*made, "map of one rule")}
        used = {name: [] for name in times}
        for _ in range(self.runs(setting)):
            for name, (path, body) in {**made, "map of one rule": (small, b"x")}.items():
                run = until_answer(setting, path, request, body, None)
                times[name].append(run.seconds * 1e3)
                used[name].append(run.used * 1e3)
        figures = []
        for name, values in times.items():
            goal = 20 if name in made else None
            figures.append(figure(f"{name}, start to first answer", values, "ms", goal))
            figures.append(figure(f"{name}, processor time until then", used[name], "ms"))
        return Result(
            self.name, self.title, f"{self.runs(setting)} starts of each, in turn", figures=figures,
            verdicts=verdicts(figures))


CASES = [
    Reading(
        "index-warc", "Reading a WARC of 1 GB", samples.warc, ".warc", 1000, {"warcio index": warcio},
        [Goal("warcio index", "rate", 20)], time_goal=2),
    Reading(
        "index-warc-gz", "Reading a .warc.gz of 1 GB", samples.warc_gz, ".warc.gz", 1000,
        {"inflate in C": of_tools("inflate"), "warcio index": warcio},
        [Goal("inflate in C", "cost", 1.2), Goal("warcio index", "rate", 2)], round_seconds=90),
    Reading(
        "index-har", "Reading a HAR of 500 MB", samples.har, ".har", 500,
        {"memchr in C": of_tools("quotes"), "json.load": json_load, "jq": jq},
        [Goal("memchr in C", "rate", 0.5), Goal("json.load", "rate", 3), Goal("jq", "rate", 10)], memory_goal=64,
        round_seconds=45),
    Pages("read-page", "Start to first answer with a saved page of 3.3 MB"),
]
