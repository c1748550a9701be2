"""Many URLs asked for at random, by requests that differ in Cookie, Referer and query, as people have them.

The other cases ask for one URL with the same bytes again and again, which is answered by what is known of the last.
"""

import contextlib
import os
import random

import peers
from cases.case import Comparison
from cases.http2 import certificate
from cases.retained import CACHEABLE
from cases.stored import NO_RULE
from compare import Contender, Goal
from load import H2Load, Load, ManyURLs, Request, ask_over_tls
from setting import HOST, Origin, Setting, content

NAME = "{:06d}.png"

# What a map says of the files in the folder `d`.
MAPS = {
    "folder": lambda scheme, count: f"  {scheme}://{HOST}/d/: d/\n",
    "exact": lambda scheme, count: "".join(
        f"  {scheme}://{HOST}/d/{NAME}: d/{NAME}\n".format(i, i) for i in range(count)),
    "pattern": lambda scheme, count: f"  ~^{scheme}://{HOST.replace('.', chr(92) + '.')}/d/(\\d+)\\.png: d/$1.png\n",
}


def count(setting: Setting, urls: int) -> int:
    return urls // 10 if setting.quick else urls


def load(urls: int = 10_000, **settings):
    return lambda setting: ManyURLs(count=count(setting, urls), **settings)


def mapped(kind: str, urls: int = 10_000, size: int = 4096, secure: bool = False):
    """Files in one folder, all with the same bytes, beside nginx with the same folder."""

    def contenders(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
        body, files = content(size), count(setting, urls)
        root = setting.subfolder("www")
        os.makedirs(os.path.join(root, "d"))
        for i in range(files):
            setting.write(root, f"d/{NAME.format(i)}", body)
        scheme = "https" if secure else "http"
        request = Request(f"{scheme}://{HOST}/d/{NAME.format(0)}")
        text = f"root: {root}\nsubstitutions:\n{MAPS[kind](scheme, files)}"
        more = {"ask": ask_over_tls} if secure else {}
        ours = Contender(
            "subproxy", lambda: peers.subproxy(setting, text), request, body,
            **({"tunnel": f"{HOST}:443"} if secure else {}), **more)
        tls = certificate(setting) if secure else None
        nginx = Contender(
            "nginx", lambda: peers.nginx(setting, root, tls=tls, files=files + 1000), request, body, **more)
        return ours, [nginx] if secure else [limit(setting, request, body, files), nginx]

    return contenders


def limit(setting: Setting, request: Request, body: bytes, files: int) -> Contender:
    """Nothing is cheaper than to read, and write one of as many ready responses."""
    return Contender(
        "limit", lambda: Origin(setting, body, name="limit", cores=setting.server_cores, copies=files).server, request,
        body)


def h2load(setting: Setting) -> Load:
    numbers = random.Random(7)
    targets = tuple(
        f"https://{HOST}/d/{NAME.format(numbers.randrange(count(setting, 10_000)))}" for _ in range(60_000))
    return H2Load(setting.programs["tunnel"], targets=targets)


def stored(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
    body = content(4096)

    def contender(name, start) -> Contender:
        origin = stack.enter_context(Origin(setting, body, CACHEABLE))
        request = Request(f"http://127.0.0.1:{origin.server.port}/d/{NAME.format(0)}")
        return Contender(name, lambda: start(origin.server.port), request, body, origin=origin)

    files = count(setting, 10_000)
    return contender("subproxy", lambda _: peers.subproxy(setting, NO_RULE)), [
        limit(setting, Request(f"http://{HOST}/d/{NAME.format(0)}"), body, files),
        contender("varnish", lambda port: peers.varnish(setting, port)),
        contender("squid", lambda _: peers.squid(setting, caching=True)),
        contender("trafficserver", lambda _: peers.traffic_server(setting, caching=True)),
    ]


def forwarded(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
    body = content(4096)
    origin = stack.enter_context(Origin(setting, body, "Cache-Control: no-store\r\n"))
    request = Request(f"http://127.0.0.1:{origin.server.port}/d/{NAME.format(0)}")

    def contender(name, start) -> Contender:
        return Contender(name, start, request, body, origin=origin, forwards=True)

    return contender("subproxy", lambda: peers.subproxy(setting, NO_RULE, "--cache-mode", "off")), [
        contender("squid", lambda: peers.squid(setting, caching=False)),
        contender("trafficserver", lambda: peers.traffic_server(setting, caching=False)),
        contender("libcurl", lambda: peers.libcurl(setting)),
    ]


UNIFORM = [Goal("nginx", "rate", 1), Goal("nginx", "cpu", 1.1)]
ZIPF = [Goal("nginx", "rate", 1.15), Goal("nginx", "cpu", 1.15)]

CASES = [
    Comparison(
        "many-folder", "10,000 mapped files of 4 KiB, by a folder's rule", load(), mapped("folder"), UNIFORM,
        peers=2, extra_seconds=10),
    Comparison(
        "many-exact", "10,000 mapped files of 4 KiB, by a rule each", load(), mapped("exact"), UNIFORM,
        peers=2, extra_seconds=10),
    Comparison(
        "many-pattern", "10,000 mapped files of 4 KiB, by a regular expression", load(), mapped("pattern"), UNIFORM,
        peers=2, extra_seconds=10),
    Comparison(
        "many-query", "10,000 mapped files of 4 KiB, by a folder's rule, with queries", load(queries=True),
        mapped("folder"), UNIFORM, peers=2, extra_seconds=10),
    Comparison(
        "many-folder-zipf", "10,000 mapped files of 4 KiB, by a folder's rule, some more often", load(zipf=True),
        mapped("folder"), ZIPF, peers=2, extra_seconds=10),
    Comparison(
        "many-exact-zipf", "10,000 mapped files of 4 KiB, by a rule each, some more often", load(zipf=True),
        mapped("exact"), ZIPF, peers=2, extra_seconds=10),
    Comparison(
        "many-100k", "100,000 mapped files of 1 KiB, by a folder's rule", load(100_000),
        mapped("folder", 100_000, 1024), [Goal("nginx", "rate", 1)], peers=2, extra_seconds=35),
    Comparison(
        "many-http2", "10,000 mapped files of 4 KiB, over TLS, HTTP/2", h2load, mapped("folder", secure=True),
        [Goal("nginx", "rate", 1.2)], extra_seconds=10),
    Comparison(
        "many-stored", "10,000 stored responses of 4 KiB", load(), stored,
        [Goal("squid", "cpu", 3), Goal("varnish", "cpu", 1.5)], peers=4, extra_seconds=10),
    Comparison(
        "many-stored-zipf", "10,000 stored responses of 4 KiB, some more often", load(zipf=True), stored,
        [Goal("squid", "cpu", 4), Goal("varnish", "cpu", 1.5)], peers=4, extra_seconds=10),
    Comparison(
        "many-forwarding", "Forwarding 10,000 URLs of 4 KiB, not stored", load(), forwarded,
        [Goal("trafficserver", "cpu", 1), Goal("libcurl", "cost", 1.4)], peers=3, extra_seconds=10),
]
