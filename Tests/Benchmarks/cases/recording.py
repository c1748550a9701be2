"""What recording costs beside forwarding without it, and beside programs that record too; and how long saving a page
takes."""

import contextlib
import dataclasses
import functools
import hashlib
import http.server
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable

import peers
from cases.case import Case, verdicts
from cases.indexing import figure
from cases.stored import NO_RULE
from compare import Contender, Figure, Goal, Measured, Result, Row, Spread, compare, measure, row
from load import Load, Wrk
from machine import Server, Unusable, peak_rss, rss
from setting import Origin, Setting, content


@contextlib.contextmanager
def memory_folder():
    """A folder in a tmpfs, so that no disk is measured."""
    if not os.path.ismount("/dev/shm"):
        raise Unusable("/dev/shm is no tmpfs")
    folder = tempfile.mkdtemp(prefix="subproxy-bench-", dir="/dev/shm")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def forwarding(setting: Setting) -> Server:
    return peers.subproxy(setting, NO_RULE, "--cache-mode", "off", name="forwarding")


def recording(setting: Setting, out: str, name: str = "subproxy") -> Server:
    return peers.with_archive(setting, "record", "-o", out, name=name)


SMALL = 4096

# The others, each given a folder of its own.
STARTS: dict[str, Callable[[Setting, str], Server]] = {
    "forwarding": lambda setting, folder: forwarding(setting),
    "mitmdump -w": lambda setting, folder: peers.mitmproxy(setting, options=["-w", f"{folder}/out.flows"]),
    "warcprox": peers.warcprox,
    "to .warc.gz": lambda setting, folder: recording(setting, f"{folder}/out.warc.gz", "to-warc-gz"),
    "to .har": lambda setting, folder: recording(setting, f"{folder}/out.har", "to-har"),
    "to a folder": lambda setting, folder: recording(setting, f"{folder}/out/", "to-folder"),
}


@dataclasses.dataclass
class Small(Case):
    """Each peer has a recording of ours beside it that begins with it, so that none grows through all of them."""

    goals: list[Goal]

    def seconds(self, setting: Setting) -> float:
        return len(STARTS) * (2 * setting.rounds * (setting.seconds + 0.2) + 2 * setting.warm_seconds + 2.5)

    def run(self, setting: Setting) -> Result:
        load = Wrk()
        result = Result(self.name, self.title, load.words)
        for name, start in STARTS.items():
            part = Result(self.name, self.title, load.words)
            try:
                with contextlib.ExitStack() as stack:
                    ours, out = self.contender(setting, stack, "subproxy", start_ours)
                    theirs, out_of_theirs = self.contender(setting, stack, name, start)
                    compare(setting, ours, [theirs], load, part)
                    check_written(ours, out)
                    # A folder has equal bodies once.
                    if name not in ("forwarding", "to a folder"):
                        check_written(theirs, out_of_theirs)
            except Unusable as error:
                part.failures.append(str(error))
                part.rows = []
            result.failures += part.failures
            # The first pair's row of ours stands for all.
            result.rows += part.rows if not result.rows else part.rows[1:]
        result.figures = least(setting, least_of_small)
        result.verdicts = [verdict for goal in self.goals if (verdict := goal.judge(result.rows))]
        return result

    def contender(self, setting: Setting, stack: contextlib.ExitStack, name: str,
                  start: Callable[[Setting, str], Server]) -> tuple[Contender, str]:
        """With an origin and a folder of its own."""
        folder, body = stack.enter_context(memory_folder()), content(SMALL)
        origin = stack.enter_context(Origin(setting, body, "Cache-Control: no-store\r\n"))
        return Contender(
            name, functools.partial(start, setting, folder), origin.request(), body, origin=origin, forwards=True,
            closes=name == "warcprox"), folder


LARGE = {name: STARTS[name] for name in ("forwarding", "to .har", "to a folder")}


def start_ours(setting: Setting, folder: str) -> Server:
    return recording(setting, f"{folder}/out.warc")


def check_written(contender: Contender, folder: str) -> None:
    """Sees that what was answered was recorded, by the bytes that there are when the server has ended."""
    asked, size = contender.origin.asked, written(folder)
    if size < asked * SMALL:
        raise Unusable(f"{contender.name} has written {size:,} bytes for {asked:,} exchanges of {SMALL:,} bytes")


def written(folder: str) -> int:
    return sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names)


def least(setting: Setting, measure_all: Callable[[str], list[Figure]]) -> list[Figure]:
    """What no recorder of a .warc can leave out, measured on the servers' core with a folder in a tmpfs."""
    allowed = os.sched_getaffinity(0)
    if setting.server_cores:
        os.sched_setaffinity(0, setting.server_cores)
    try:
        with memory_folder() as folder:
            return measure_all(folder)
    finally:
        os.sched_setaffinity(0, allowed)


def processor_time(what: str, repeat: Callable[[], None], times: int) -> Figure:
    """Microseconds of processor time, divided by `times`; the least of five."""
    taken = []
    for _ in range(5):
        begin = time.thread_time_ns()
        repeat()
        taken.append((time.thread_time_ns() - begin) / 1e3 / times)
    return Figure(what, min(taken), "µs")


def least_of_large(folder: str) -> list[Figure]:
    """The writing of a body before its length is known, its digest and that of the record that it is in, and the copy
    behind the record's head: by OpenSSL and the kernel alone."""
    size, part = 16 << 20, 64 << 10
    body = memoryview(content(size))

    def write() -> None:
        with open(f"{folder}/spool", "wb", buffering=0) as file:
            for at in range(0, size, part):
                file.write(body[at:at + part])

    def digest() -> None:
        of_record, of_body = hashlib.sha256(b"HTTP/1.1 200 OK\r\n\r\n"), hashlib.sha256()
        for at in range(0, size, part):
            of_record.update(body[at:at + part])
            of_body.update(body[at:at + part])

    def copy() -> None:
        with open(f"{folder}/spool", "rb") as source, open(f"{folder}/out", "wb", buffering=0) as out:
            left = size
            while left > 0:
                left -= os.copy_file_range(source.fileno(), out.fileno(), left)

    return [
        processor_time(f"a MiB of a body, {what} alone", repeat, size >> 20)
        for what, repeat in (("writing it", write), ("two digests of it", digest), ("copying it", copy))
    ]


def least_of_small(folder: str) -> list[Figure]:
    """The digests of an exchange's two records and of its body, and its share of a write of many."""
    count, body, head, request = 1000, content(SMALL), bytes(300), bytes(600)
    records = memoryview(bytes(40 * (SMALL + 2500)))

    def digest() -> None:
        for _ in range(count):
            hashlib.sha256(request).hexdigest()
            of_record = hashlib.sha256(head)
            of_record.update(body)
            of_record.hexdigest()
            hashlib.sha256(body).hexdigest()

    def write() -> None:
        with open(f"{folder}/out", "wb", buffering=0) as file:
            for _ in range(count // 40):
                file.write(records)

    return [
        processor_time(f"an exchange of 4 KiB, {what} alone", repeat, count)
        for what, repeat in (("three digests of it", digest), ("writing it", write))
    ]


class Large(Case):
    """Large bodies, recorded for a short time, since they fill the memory."""

    CONNECTIONS = 4
    LOAD_SECONDS = 1

    def seconds(self, setting: Setting) -> float:
        return setting.rounds * 4 * (len(LARGE) + 1) + 3

    def run(self, setting: Setting) -> Result:
        load = setting.pull(connections=self.CONNECTIONS)
        result = Result(self.name, self.title, f"{load.words}, {self.LOAD_SECONDS} s each")
        # A round of one after the other; and the memory of each in ours.
        rounds: list[dict[str, tuple[Measured, Row]]] = []
        memory: list[float] = []
        try:
            with Origin(setting, content(setting.bulk_bytes), "Cache-Control: no-store\r\n") as origin:
                for _ in range(setting.rounds):
                    measured = {name: self.once(setting, name, origin, load) for name in ("subproxy", *LARGE)}
                    rounds.append({name: (of, row) for name, (of, row, _) in measured.items()})
                    memory.append(measured["subproxy"][2])
        except Unusable as error:
            result.failures.append(str(error))
        if rounds:
            for name in ("subproxy", *LARGE):
                result.rows.append(merged([each[name][1] for each in rounds]))
                if name != "subproxy":
                    pairs = [(each["subproxy"][0], each[name][0]) for each in rounds]
                    result.rows[-1].rate_ratio = Spread.of([a.sample.rate / b.sample.rate for a, b in pairs])
                    result.rows[-1].cpu_ratio = Spread.of([b.cpu_us / a.cpu_us for a, b in pairs])
            result.figures = [figure("peak memory beyond that at rest, an exchange", memory, "MiB", 8), *least(setting, least_of_large)]
            goal = Goal("forwarding", "rate", 0.4)
            result.verdicts = [goal.judge(result.rows), *verdicts(result.figures)]
        return result

    def once(self, setting: Setting, name: str, origin: Origin, load: Load) -> tuple[Measured, Row, float]:
        """One load of a new server, and its memory in MiB an exchange beyond that before it has had a request."""
        with memory_folder() as folder:
            with LARGE.get(name, start_ours)(setting, folder) as server:
                server.settle()
                idle = rss(server.pid)
                contender = Contender(
                    name, lambda: server, origin.request(), origin.body, origin=origin, forwards=True)
                request = contender.prepare(server)
                measured = measure(contender, server, request, load, setting, self.LOAD_SECONDS, setting.load_cores)
                of = row(name, server, [measured])
                memory = (peak_rss(server.pid) - idle) / 1024 / self.CONNECTIONS
            whole = measured.sample.count
            # A folder has equal bodies once.
            if name in ("subproxy", "to .har") and written(folder) < whole * len(origin.body):
                raise Unusable(f"{name}: {written(folder):,} bytes were recorded of {whole} bodies")
            return measured, of, memory


def merged(of: list[Row]) -> Row:
    """One row of several servers, of which each was measured once."""
    return dataclasses.replace(
        of[0], rate=statistics.median(row.rate for row in of), cpu_us=statistics.median(row.cpu_us for row in of),
        core=statistics.median(row.core for row in of), peak_rss_kib=max(row.peak_rss_kib for row in of))


class Saved(Case):
    """A page on this machine with 50 resources, saved as MHTML with the Chromium that is installed."""

    def runs(self, setting: Setting) -> int:
        return 1 if setting.quick else 5

    def seconds(self, setting: Setting) -> float:
        return self.runs(setting) * 5

    def run(self, setting: Setting) -> Result:
        result = Result(self.name, self.title, f"{self.runs(setting)} runs")
        shown = subprocess.run([setting.binary, "--help"], capture_output=True, text=True).stdout
        if not re.search(r"^\s+save\s", shown, re.MULTILINE):
            result.failures.append("this program has no command save")
            return result
        try:
            with site(setting) as url:
                values = [self.once(setting, url) for _ in range(self.runs(setting))]
        except (Unusable, subprocess.TimeoutExpired) as error:
            result.failures.append(str(error))
            return result
        result.figures = [
            figure("from the call to the end, Chromium's start included", [seconds for seconds, _ in values], "s", 5),
            Figure("the file", statistics.median(size for _, size in values) / 1e6, "MB"),
        ]
        result.verdicts = verdicts(result.figures)
        return result

    def once(self, setting: Setting, url: str) -> tuple[float, int]:
        """Seconds by the clock, and the bytes of the file."""
        out = os.path.join(setting.subfolder("save"), "page.mhtml")
        sandbox = ["--no-sandbox"] if peers.is_root() else []
        begin = time.monotonic()
        done = subprocess.run(
            [setting.binary, "save", url, "-o", out, *sandbox], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=120)
        seconds = time.monotonic() - begin
        if done.returncode != 0:
            raise Unusable(f"save ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
        with open(out, "rb") as file:
            locations = file.read().count(b"\nContent-Location: ")
        if locations < 51:
            raise Unusable(f"save wrote {locations} parts of 51: {done.stdout.strip()}")
        return seconds, os.path.getsize(out)


@contextlib.contextmanager
def site(setting: Setting):
    """The URL of a page with 45 images, which load when they come into view, and 5 styles. A thread serves it."""
    folder = setting.subfolder("site")
    parts = []
    for i in range(45):
        setting.write(folder, f"i{i}.svg", picture(i))
        parts.append(f'<p>{i} <img src="i{i}.svg" width="300" height="200" loading="lazy"></p>')
    for i in range(5):
        setting.write(folder, f"s{i}.css", f"p:nth-child({i + 1}) {{ margin: {i}px }}\n" * 200)
    styles = "".join(f'<link rel="stylesheet" href="s{i}.css">' for i in range(5))
    setting.write(folder, "index.html", f"<!DOCTYPE html><title>Sample</title>{styles}{''.join(parts)}")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=folder)

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def picture(number: int) -> str:
    """About 20 KB."""
    shapes = "".join(
        f'<circle cx="{(number * 31 + i * 7) % 300}" cy="{i * 13 % 200}" r="{i % 20}" fill="#{i * 4099:06x}"/>'
        for i in range(350))
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200">{shapes}</svg>'


CASES = [
    Small(
        "record-small", "Recording to a .warc in a tmpfs, 4 KiB bodies",
        [Goal("forwarding", "rate", 0.9), Goal("mitmdump -w", "rate", 10), Goal("warcprox", "rate", 10)]),
    Large("record-large", "Recording to a .warc in a tmpfs, 100 MiB bodies"),
    Saved("save-page", "Saving a local page with 50 resources"),
]
