"""Requests as a browser sends them through a proxy, and the programs that send them as fast as they are answered."""

import dataclasses
import hashlib
import itertools
import os
import re
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import Protocol

from machine import Server, Unusable, on_cores

HERE = os.path.dirname(os.path.abspath(__file__))

# What Firefox sends for an image of a page, with a cookie.
BROWSER_FIELDS = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Accept": "image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5",
    "Accept-Language": "en-US,en;q=0.5",
    "Accept-Encoding": "gzip, deflate",
    "Referer": "http://www.example.test/index.html",
    "Cookie": "session=0123456789abcdef0123456789abcdef; theme=light",
}


@dataclasses.dataclass(frozen=True)
class Request:
    """A GET in absolute-form. `extra` are fields beside a browser's usual ones."""

    target: str
    extra: tuple[tuple[str, str], ...] = ()

    @property
    def authority(self) -> str:
        return self.target.split("/")[2]

    @property
    def fields(self) -> dict[str, str]:
        return {"Host": self.authority, **BROWSER_FIELDS, **dict(self.extra)}

    def head(self, *, origin_form: bool = False) -> bytes:
        target = "/" + self.target.split("/", 3)[3] if origin_form else self.target
        lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in self.fields.items()), "", ""]
        return "\r\n".join(lines).encode()


@dataclasses.dataclass(frozen=True)
class Response:
    status: int
    fields: dict[str, str]
    body: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.body).hexdigest()


def ask(port: int, request: Request, *, tunnel: str | None = None, origin_form: bool = False) -> Response:
    """Sends the request's very bytes once and reads the response whole."""
    with socket.create_connection(("127.0.0.1", port), 20) as s, s.makefile("rb") as stream:
        if tunnel:
            s.sendall(f"CONNECT {tunnel} HTTP/1.1\r\nHost: {tunnel}\r\n\r\n".encode())
            status, _ = read_head(stream)
            if status != 200:
                raise Unusable(f"CONNECT {tunnel} on port {port} was answered with {status}")
        s.sendall(request.head(origin_form=origin_form))
        status, fields = read_head(stream)
        if status == 304:
            body = b""
        elif "chunked" in fields.get("transfer-encoding", ""):
            parts = []
            while size := int(stream.readline().split(b";")[0], 16):
                parts.append(stream.read(size))
                stream.readline()
            body = b"".join(parts)
        elif "content-length" in fields:
            body = stream.read(int(fields["content-length"]))
        else:
            body = stream.read()
        return Response(status, fields, body)


def ask_over_tls(port: int, request: Request, *, tunnel: str | None = None, origin_form: bool = False) -> Response:
    """The same by HTTP/2, with curl; through a proxy where `tunnel` is given."""
    way = ["-x", f"http://127.0.0.1:{port}"] if tunnel else ["--connect-to", f"::127.0.0.1:{port}"]
    fields = [f"-H{name}: {value}" for name, value in request.fields.items() if name != "Host"]
    done = subprocess.run(
        ["curl", "-sk", "--http2", "-w", "%{stderr}%{http_code} %{http_version}", "--noproxy", "", *way, *fields,
         request.target], capture_output=True, timeout=20)
    status, _, version = done.stderr.decode().partition(" ")
    if done.returncode != 0 or version != "2":
        raise Unusable(f"curl on port {port}: status {done.returncode}, HTTP/{version}")
    return Response(int(status), {}, done.stdout)


def read_head(stream) -> tuple[int, dict[str, str]]:
    line = stream.readline().decode("latin-1").split(" ", 2)
    if len(line) < 2 or not line[1].isdigit():
        raise Unusable(f"no status line: {line}")
    fields = {}
    while (field := stream.readline().decode("latin-1").rstrip("\r\n")):
        name, _, value = field.partition(":")
        fields[name.lower()] = value.strip()
    return int(line[1]), fields


@dataclasses.dataclass
class Sample:
    """What one load saw. `bytes` is None where it did not count them."""

    count: int
    seconds: float
    errors: int
    p50_us: float | None = None
    p99_us: float | None = None
    bytes: int | None = None

    @property
    def rate(self) -> float:
        """What is compared: bytes a second where they were counted, else requests."""
        return (self.count if self.bytes is None else self.bytes) / self.seconds


class Load(Protocol):
    """A way of asking. `words` says it in a title."""

    words: str

    def run(self, server: Server, request: Request, seconds: float, cores: Sequence[int] | None) -> Sample: ...

    def prepare(self, server: Server, request: Request, cores: Sequence[int] | None) -> None:
        """Asks for what the server is to know before its first load."""


def output(argv: Sequence[str], seconds: float, cores: Sequence[int] | None, env: dict[str, str]) -> str:
    done = subprocess.run(
        [*on_cores(cores), *argv], env=dict(os.environ, **env), capture_output=True, text=True, timeout=seconds + 60,
        stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Unusable(f"{argv[0]} ended with status {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def found(pattern: str, text: str) -> tuple[str, ...]:
    match = re.search(pattern, text)
    if match is None:
        raise Unusable(f"no {pattern} in: {text.strip()}")
    return match.groups()


def microseconds(text: str) -> float:
    value, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(value) * {"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6}[unit]


@dataclasses.dataclass(frozen=True)
class Wrk(Load):
    """wrk: each connection asks again as soon as it was answered."""

    connections: int = 32
    pipeline: int = 1
    threads: int = 1

    @property
    def words(self) -> str:
        pipelined = f", {self.pipeline} requests at a time" if self.pipeline > 1 else ""
        return f"wrk, {self.connections} keep-alive connections{pipelined}"

    def run(self, server: Server, request: Request, seconds: float, cores: Sequence[int] | None) -> Sample:
        return self.wrk(
            server, seconds, cores, "absolute.lua",
            {"BENCH_TARGET": request.target, "BENCH_PIPELINE": str(self.pipeline),
             "BENCH_FIELDS": "".join(f"{name}: {value}\n" for name, value in request.fields.items())})

    def wrk(self, server: Server, seconds: float, cores: Sequence[int] | None, script: str,
            env: dict[str, str]) -> Sample:
        text = output(
            ["wrk", f"-t{self.threads}", f"-c{self.connections}", f"-d{max(round(seconds), 1)}s", "--latency", "-s",
             os.path.join(HERE, "tools", script), f"http://127.0.0.1:{server.port}/"], seconds, cores, env)
        errors = re.findall(r"(?:Non-2xx or 3xx responses: |connect |read |write |timeout )(\d+)", text)
        count, elapsed = found(r"(\d+) requests in ([\d.]+\w+)", text)
        percentiles = dict(re.findall(r"^\s+(50|99)%\s+(\S+)", text, re.MULTILINE))
        # wrk prints 0 where it has seen too little.
        p50, p99 = (microseconds(percentiles[p]) or None for p in ("50", "99"))
        return Sample(int(count), microseconds(elapsed) / 1e6, sum(map(int, errors)), p50, p99)


@dataclasses.dataclass(frozen=True)
class ManyURLs(Wrk):
    """wrk, which asks for `count` URLs that end in a number of six digits and an extension.

    Each request has another Cookie and Referer, and where `queries` another query. Before its first load a server is
    asked for each URL once.
    """

    count: int = 10_000
    zipf: bool = False
    queries: bool = False

    @property
    def words(self) -> str:
        chosen = "Zipf (s = 1)" if self.zipf else "all alike"
        queries = ", query" if self.queries else ""
        return f"{super().words}; {self.count:,} URLs at random, {chosen}; another Cookie, Referer{queries} each time"

    def prepare(self, server: Server, request: Request, cores: Sequence[int] | None) -> None:
        asked, end = 0, time.monotonic() + 60
        while asked < self.count and time.monotonic() < end:
            asked += self.wrk(
                server, 2, cores, "many.lua", self.env(request) | {"BENCH_WALK": str(asked)}).count

    def run(self, server: Server, request: Request, seconds: float, cores: Sequence[int] | None) -> Sample:
        chosen = {"BENCH_ZIPF": "1"} if self.zipf else {}
        queries = {"BENCH_QUERY": "1"} if self.queries else {}
        return self.wrk(server, seconds, cores, "many.lua", self.env(request) | chosen | queries)

    def env(self, request: Request) -> dict[str, str]:
        fields = {name: value for name, value in request.fields.items() if name not in ("Host", "Cookie", "Referer")}
        return {"BENCH_TARGET": request.target, "BENCH_COUNT": str(self.count),
                "BENCH_FIELDS": "".join(f"{name}: {value}\n" for name, value in fields.items())}


@dataclasses.dataclass(frozen=True)
class Busters(Wrk):
    """wrk with another number at the end of the target each time, also from one load to the next."""

    loads: itertools.count = dataclasses.field(default_factory=itertools.count)

    @property
    def words(self) -> str:
        return f"{super().words}; another ?t= each time"

    def run(self, server: Server, request: Request, seconds: float, cores: Sequence[int] | None) -> Sample:
        prefix, number = re.fullmatch(r"(.*?)(\d+)", request.target).groups()
        fields = {name: value for name, value in request.fields.items() if name != "Host"}
        return self.wrk(
            server, seconds, cores, "fresh.lua",
            {"BENCH_TARGET": f"{prefix}{int(number) + next(self.loads) * 100_000_000}",
             "BENCH_FIELDS": "".join(f"{name}: {value}\n" for name, value in fields.items())})


@dataclasses.dataclass(frozen=True)
class H2Load(Load):
    """h2load: HTTP/2 over TLS with several streams a connection, through a tunnel where the server is a proxy.

    Where `targets` are given they are asked for in turn, by each connection from the first.
    """

    shim: str
    connections: int = 16
    streams: int = 10
    targets: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        urls = f"; {len(set(self.targets)):,} URLs at random" if self.targets else ""
        return f"h2load, {self.connections} connections of {self.streams} streams{urls}"

    def command(self, server: Server, request: Request, tunnelled: bool) -> tuple[list[str], dict[str, str]]:
        env = {"LD_PRELOAD": self.shim, "TUNNEL_PORT": str(server.port), "TUNNEL_AUTHORITY": request.authority + ":443"}
        fields = [f"-H{name.lower()}: {value}" for name, value in request.fields.items() if name != "Host"]
        # One cipher for all, since what a server picks by itself differs.
        return (["h2load", "-t1", f"-c{self.connections}", f"-m{self.streams}",
                 "--tls13-ciphers=TLS_AES_128_GCM_SHA256", f"--connect-to=127.0.0.1:{server.port}", *fields,
                 request.target], env if tunnelled else {})

    def run(self, server: Server, request: Request, seconds: float, cores: Sequence[int] | None) -> Sample:
        tunnelled = server.name.startswith("subproxy")
        argv, env = self.command(server, request, tunnelled)
        with tempfile.NamedTemporaryFile("w", prefix="subproxy-bench-") as file:
            if self.targets:
                file.writelines(f"{target}\n" for target in self.targets)
                file.flush()
                argv = [*argv[:-1], "-i", file.name]
            text = output([*argv[:1], f"-D{max(round(seconds), 1)}", *argv[1:]], seconds, cores, env)
        good, failed = found(r"requests: .* (\d+) succeeded, (\d+) failed", text)
        (elapsed,) = found(r"finished in ([\d.]+\w+),", text)
        if found(r"Application protocol: (\S+)", text) != ("h2",):
            raise Unusable(f"{server.name} does not speak HTTP/2")
        return Sample(int(good), microseconds(elapsed) / 1e6, int(failed))

    def percentiles(self, server: Server, request: Request, cores: Sequence[int] | None) -> tuple[float, float]:
        """p50 and p99 of one second with a line written for each request, which costs the client too much for more."""
        with tempfile.NamedTemporaryFile(prefix="subproxy-bench-") as log:
            argv, env = self.command(server, request, server.name.startswith("subproxy"))
            output([*argv[:1], "-D1", f"--log-file={log.name}", *argv[1:]], 1, cores, env)
            times = [int(line.split()[2]) for line in log]
        cuts = statistics.quantiles(times, n=100)
        return cuts[49], cuts[98]


@dataclasses.dataclass(frozen=True)
class Pull(Load):
    """Bodies as large as they come, dropped unseen; where `tunnelled`, a proxy is first asked for a tunnel."""

    program: str
    connections: int = 4
    tunnelled: bool = False

    @property
    def words(self) -> str:
        return f"{self.connections} connections"

    def run(self, server: Server, request: Request, seconds: float, cores: Sequence[int] | None) -> Sample:
        tunnel = request.authority if self.tunnelled and server.name.startswith("subproxy") else None
        with tempfile.NamedTemporaryFile(prefix="subproxy-bench-") as head:
            head.write(request.head(origin_form=self.tunnelled))
            head.flush()
            text = output(
                [self.program, str(server.port), head.name, str(self.connections), str(seconds),
                 *([tunnel] if tunnel else [])], seconds, cores, {})
        size, count, errors, elapsed = text.split()
        return Sample(int(count), float(elapsed), int(errors), bytes=int(size))


@dataclasses.dataclass
class Series(Load):
    """wrk with requests that differ by the numbers in their targets and bodies, as tools/series.lua has them."""

    connections: int = 8
    # How many numbers there are, and for the servers that have others.
    count: int = 1_000_000
    counts: dict[str, int] = dataclasses.field(default_factory=dict)
    method: str = "GET"
    body: str = ""
    # How many requests each server has had.
    used: dict[int, int] = dataclasses.field(default_factory=dict)

    @property
    def words(self) -> str:
        return f"wrk, {self.connections} keep-alive connections, each URL once"

    def run(self, server: Server, request: Request, seconds: float, cores: Sequence[int] | None) -> Sample:
        first, count = self.used.get(server.pid, 0), self.counts.get(server.name, self.count)
        # Only a proxy is asked in absolute-form.
        target = request.target if server.name.startswith("subproxy") else "/" + request.target.split("/", 3)[3]
        fields = "".join(f"{name}: {value}\n" for name, value in request.fields.items())
        sample = Wrk(self.connections).wrk(
            server, seconds, cores, "series.lua",
            {"BENCH_TARGET": target, "BENCH_FIELDS": fields, "BENCH_COUNT": str(count), "BENCH_FIRST": str(first),
             "BENCH_METHOD": self.method, "BENCH_BODY": self.body})
        # What was under way at the end has not been counted.
        self.used[server.pid] = self.used.get(server.pid, 0) + sample.count + self.connections
        return sample
