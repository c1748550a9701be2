"""Ours against each peer: A B A B, the ratio of each pair, and the goals that are judged by them."""

import dataclasses
import statistics
import time
from collections.abc import Callable

from load import H2Load, Load, Request, Response, Sample, ask
from machine import CPUClock, Server, Unusable, peak_rss
from setting import Origin, Setting


@dataclasses.dataclass
class Contender:
    """A server, and how it is shown to do what the row says before and after it is timed."""

    name: str
    start: Callable[[], Server]
    request: Request
    body: bytes
    # Requests are made conditional with what the server itself said of its response, and are to be answered with 304.
    conditional: bool = False
    # An origin that may not be asked while this one answers, or has to be asked each time.
    origin: Origin | None = None
    forwards: bool = False
    # It closes connections after each response without saying so, which wrk counts as an error of reading.
    closes: bool = False
    # The requests go through a tunnel to here, or to a server that has no part in HTTP, in origin-form.
    tunnel: str | None = None
    origin_form: bool = False
    # How an answer is had that can be looked at; None where there is nothing to see.
    ask: Callable[..., Response] | None = ask

    def prepare(self, server: Server) -> Request:
        """Sees what is answered, until it is as the row says, and returns the request that the load repeats."""
        server.settle()
        if self.ask is None:
            return self.request
        request, status = self.request, 200
        first = self._ask(server, request, 200)
        if self.conditional:
            extra = {"If-None-Match": first.fields["etag"]}
            if modified := first.fields.get("last-modified"):
                extra["If-Modified-Since"] = modified
            request, status = Request(request.target, tuple(extra.items())), 304
        # A cache may still be writing what it has just had when it is asked again.
        for _ in range(20):
            before = self.origin.asked if self.origin else 0
            self._ask(server, request, status)
            asked = self.origin.asked - before if self.origin else 0
            if asked == int(self.forwards):
                return request
            time.sleep(0.1)
        raise Unusable(f"{self.name} asked the origin {asked} times for one request")

    def _ask(self, server: Server, request: Request, status: int) -> Response:
        response = self.ask(server.port, request, tunnel=self.tunnel, origin_form=self.origin_form)
        if response.status != status:
            raise Unusable(f"{self.name} answered {request.target} with {response.status}, not {status}")
        if status == 200 and response.body != self.body:
            raise Unusable(f"{self.name} answered {request.target} with {len(response.body)} other bytes")
        return response

    def judge(self, sample: Sample, asked: int) -> None:
        """Sees after a load that it was the one that the row is about."""
        if sample.count == 0 and not sample.bytes:
            raise Unusable(f"{self.name} answered nothing")
        if not self.closes and sample.errors > sample.count // 1000:
            raise Unusable(f"{self.name}: {sample.errors} errors beside {sample.count} responses")
        if self.origin and not self.forwards and asked > 0:
            raise Unusable(f"{self.name} asked the origin {asked} times where all should be hits")
        if self.origin and self.forwards and asked < sample.count:
            raise Unusable(f"{self.name} answered {sample.count} requests, of which the origin saw {asked}")


@dataclasses.dataclass
class Measured:
    """One load of one server."""

    sample: Sample
    # Processor time of the server: for each request, or each MiB where bytes are counted; and as a share of one core.
    cpu_us: float
    core: float


@dataclasses.dataclass
class Spread:
    """A median with the least and the greatest it is of."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.least:.2f}–{self.most:.2f})"


@dataclasses.dataclass
class Row:
    """A server's medians. The ratios are of pairs that were measured one after the other; ours has none."""

    name: str
    unit: str
    rate: float
    cpu_us: float
    core: float | None = None
    p50_us: float | None = None
    p99_us: float | None = None
    peak_rss_kib: int | None = None
    errors: int = 0
    # Ours by theirs in requests (or bytes) a second, and in those a second of processor time.
    rate_ratio: Spread | None = None
    cpu_ratio: Spread | None = None
    p99_ratio: Spread | None = None


@dataclasses.dataclass
class Figure:
    """A number that is no comparison of servers."""

    what: str
    value: float
    unit: str
    goal: float | None = None
    least: float | None = None
    most: float | None = None


@dataclasses.dataclass
class Verdict:
    goal: str
    measured: str
    met: bool


@dataclasses.dataclass
class Result:
    name: str
    title: str
    load: str
    rows: list[Row] = dataclasses.field(default_factory=list)
    figures: list[Figure] = dataclasses.field(default_factory=list)
    verdicts: list[Verdict] = dataclasses.field(default_factory=list)
    failures: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Goal:
    """A bound of a ratio of ours to a peer's: at least, where `least`, else at most."""

    peer: str
    measure: str
    bound: float

    WORDS = {
        "rate": "≥ {bound:g} × {peer}",
        "cpu": "≥ {bound:g} × {peer}, by CPU time",
        "cost": "CPU time ≤ {bound:g} × {peer}",
        "p99": "p99 ≤ {bound:g} × {peer}",
    }

    def __str__(self) -> str:
        return self.WORDS[self.measure].format(bound=self.bound, peer=self.peer)

    def judge(self, rows: list[Row]) -> Verdict | None:
        row = next((row for row in rows if row.name == self.peer), None)
        if row is None:
            return None
        if self.measure == "cost":
            ratio = row.cpu_ratio
            value = Spread(1 / ratio.median, 1 / ratio.most, 1 / ratio.least)
        else:
            value = {"rate": row.rate_ratio, "cpu": row.cpu_ratio, "p99": row.p99_ratio}[self.measure]
        if value is None:
            return None
        met = value.median >= self.bound if self.measure in ("rate", "cpu") else value.median <= self.bound
        return Verdict(str(self), str(value), met)


def measure(contender: Contender, server: Server, request: Request, load: Load, setting: Setting, seconds: float,
            cores: list[int] | None) -> Measured:
    asked = contender.origin.asked if contender.origin else 0
    clock, begin = CPUClock(server.pid), time.monotonic()
    sample = load.run(server, request, seconds, cores)
    nanoseconds, elapsed = clock.nanoseconds(), time.monotonic() - begin
    contender.judge(sample, contender.origin.asked - asked if contender.origin else 0)
    amount = sample.count if sample.bytes is None else sample.bytes / (1 << 20)
    return Measured(sample, nanoseconds / 1e3 / amount, nanoseconds / 1e9 / elapsed)


def row(name: str, server: Server, of: list[Measured]) -> Row:
    def median(values: list[float | None]) -> float | None:
        present = [value for value in values if value is not None]
        return statistics.median(present) if present else None

    bulk = of[0].sample.bytes is not None
    return Row(
        name, "MiB" if bulk else "request",
        statistics.median(m.sample.rate for m in of) / (1 << 20 if bulk else 1),
        statistics.median(m.cpu_us for m in of), statistics.median(m.core for m in of),
        median([m.sample.p50_us for m in of]), median([m.sample.p99_us for m in of]), peak_rss(server.pid),
        sum(m.sample.errors for m in of))


def compare(setting: Setting, ours: Contender, peers: list[Contender], load: Load, result: Result,
            cores: list[int] | None = None) -> None:
    """Measures ours and each peer in turn, into the result. A peer that can't be measured is one of its failures."""
    cores = cores or setting.load_cores
    mine: list[Measured] = []
    with ours.start() as our_server:
        our_request = ours.prepare(our_server)
        load.prepare(our_server, our_request, cores)
        measure(ours, our_server, our_request, load, setting, setting.warm_seconds, cores)
        rows = []
        for peer in peers:
            try:
                with peer.start() as server:
                    request = peer.prepare(server)
                    load.prepare(server, request, cores)
                    measure(peer, server, request, load, setting, setting.warm_seconds, cores)
                    pairs = [
                        (measure(ours, our_server, our_request, load, setting, setting.seconds, cores),
                         measure(peer, server, request, load, setting, setting.seconds, cores))
                        for _ in range(setting.rounds)
                    ]
                    theirs = row(peer.name, server, [b for _, b in pairs])
                    if isinstance(load, H2Load):
                        theirs.p50_us, theirs.p99_us = load.percentiles(server, request, cores)
            except Unusable as error:
                result.failures.append(str(error))
                continue
            mine += [a for a, _ in pairs]
            theirs.rate_ratio = Spread.of([a.sample.rate / b.sample.rate for a, b in pairs])
            theirs.cpu_ratio = Spread.of([b.cpu_us / a.cpu_us for a, b in pairs])
            if all(m.sample.p99_us for pair in pairs for m in pair):
                theirs.p99_ratio = Spread.of([a.sample.p99_us / b.sample.p99_us for a, b in pairs])
            rows.append(theirs)
        if mine:
            own = row(ours.name, our_server, mine)
            if isinstance(load, H2Load):
                own.p50_us, own.p99_us = load.percentiles(our_server, our_request, cores)
            # The limit is the first row.
            at = 1 if rows and rows[0].name == "limit" else 0
            result.rows = [*rows[:at], own, *rows[at:]]
