"""What is answered from archives: beside the same from the map, and beside programs that replay them too."""

import contextlib

import peers
import samples
from cases.case import Comparison
from cases.retained import wrk
from compare import Contender, Figure, Goal, Result
from load import Busters, Load, Request, ask
from machine import Server, peak_rss, read_status, rss
from samples import Body
from setting import HOST, Setting, content

RECORDED = f"http://{HOST}/f.png"


def one_entry(setting: Setting, of: str, body: Body, *, compressed: bool = False) -> tuple[str, str]:
    """A WARC and a HAR of one entry."""
    folder = setting.subfolder("archives")
    warc, har = f"{folder}/one.warc{'.gz' if compressed else ''}", f"{folder}/one.har"
    samples.warc_of(warc, iter([(of, body)]), compressed=compressed)
    samples.har_of(har, [(of, body)])
    return warc, har


def hit(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
    body = content(4096)
    root = setting.subfolder("www")
    setting.write(root, "f.png", body)
    warc, har = one_entry(setting, RECORDED, Body("image/png", "png", body))
    request = Request(RECORDED)
    return Contender("subproxy", lambda: peers.with_archive(setting, "replay", warc), request, body), [
        Contender("file", lambda: peers.subproxy(setting, peers.mapped(root), name="file"), request, body),
        Contender("pywb", lambda: peers.pywb(setting, warc), request, body, closes=True),
        Contender("mitmproxy", lambda: peers.mitmproxy_replaying(setting, har), request, body),
    ]


def busters(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
    body = content(4096)
    root = setting.subfolder("www")
    setting.write(root, "f.png", body)
    warc, _ = one_entry(setting, RECORDED + "?t=1690000000000", Body("image/png", "png", body))
    rule = f"root: {root}\nsubstitutions:\n  {RECORDED}: {{ file: f.png, query: ignore }}\n"
    request = Request(RECORDED + "?t=1700000000000")
    return Contender("subproxy", lambda: peers.with_archive(setting, "replay", warc), request, body), [
        Contender("rule", lambda: peers.subproxy(setting, rule, name="rule"), request, body)]


def unretained(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
    body = Body("text/html; charset=utf-8", "html", samples.html(64 << 10))
    request = Request(f"http://{HOST}/f.html")
    warc, _ = one_entry(setting, request.target, body, compressed=True)
    text = f"archives: [{{ file: {warc}, retain: false }}]\n"
    return Contender("subproxy", lambda: peers.subproxy(setting, text), request, body.data), [
        Contender("pywb", lambda: peers.pywb(setting, warc), request, body.data, closes=True)]


class Million:
    """An archive of many entries, and what it takes in memory beyond one of one entry."""

    def __init__(self) -> None:
        # By the name of the server: KiB resident, those of them that are no file's, and the most there have been.
        self.memory: dict[str, tuple[int, int, int]] = {}
        self.entries = self.url_bytes = 0

    def contenders(self, setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
        self.entries = 10_000 if setting.quick else 1_000_000
        self.url_bytes = 0
        small, asked = Body("image/png", "png", content(16)), Body("image/png", "png", content(4096))

        def entries():
            for i in range(self.entries):
                of = samples.url(i, asked)
                self.url_bytes += len(of)
                yield of, asked if i == self.entries - 1 else small

        folder = setting.subfolder("archives")
        many, one, last = f"{folder}/many.warc", f"{folder}/one.warc", samples.url(self.entries - 1, asked)
        samples.warc_of(many, entries())
        samples.warc_of(one, iter([(last, asked)]))

        def contender(name: str, path: str) -> Contender:
            return Contender(name, lambda: self.start(setting, name, path, Request(last)), Request(last), asked.data)

        return contender("subproxy", many), [contender("one entry", one)]

    def start(self, setting: Setting, name: str, path: str, request: Request) -> Server:
        server = peers.with_archive(setting, "replay", path, name=name)
        ask(server.port, request)
        server.settle()
        self.memory[name] = rss(server.pid), read_status(server.pid, "RssAnon"), peak_rss(server.pid)
        return server

    def figures(self, result: Result) -> list[Figure]:
        resident, anonymous, most = (
            ((many - one) * 1024 - self.url_bytes) / self.entries
            for many, one in zip(self.memory["subproxy"], self.memory["one entry"]))
        return [
            Figure(f"memory of each of {self.entries:,} entries beyond its URL's text", resident, "bytes", 200),
            Figure("the same without pages of files", anonymous, "bytes"),
            Figure("the same at the most, while it is read", most, "bytes"),
            Figure("text of a URL", self.url_bytes / self.entries, "bytes"),
        ]


def next_query(setting: Setting) -> Load:
    return Busters()


MILLION = Million()

CASES = [
    Comparison(
        "replay-hit", "A replayed entry, 4 KiB, retained", wrk(), hit,
        [Goal("file", "rate", 0.95), Goal("pywb", "rate", 20), Goal("mitmproxy", "rate", 80)], peers=3,
        extra_seconds=8),
    Comparison(
        "replay-busters", "The same, found without a cache buster; beside a rule with query: ignore", next_query,
        busters, [Goal("rule", "rate", 0.9)]),
    Comparison(
        "replay-unretained", "A replayed entry, 64 KiB of a .warc.gz, not retained", wrk(), unretained,
        [Goal("pywb", "cpu", 5)], extra_seconds=6),
    Comparison(
        "replay-million", "An archive of 1,000,000 entries beside one of one", wrk(), MILLION.contenders,
        [Goal("one entry", "rate", 0.95)], figures=MILLION.figures, extra_seconds=30),
]
