"""What the map answers from memory, beside servers that have the same file."""

import contextlib

import peers
from cases.case import Comparison
from compare import Contender, Goal
from load import Load, Wrk
from setting import Origin, Setting, content

CACHEABLE = "Cache-Control: public, max-age=86400\r\n"


def retained(*names: str, size: int = 4096, conditional: bool = False, sendfile: bool = False):
    """Ours, and those of the peers that have a name here."""

    def contenders(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
        body = content(size)
        root = setting.subfolder("www")
        path = setting.write(root, "f.png", body)

        def contender(name, start, **fields) -> Contender:
            request = fields.pop("request", peers.RETAINED)
            return Contender(name, start, request, body, conditional=conditional, **fields)

        def cached(name, start) -> Contender:
            origin = stack.enter_context(Origin(setting, body, CACHEABLE))
            return contender(name, lambda: start(origin.server.port), request=origin.request(), origin=origin)

        status = "304 Not Modified" if conditional else "200 OK"
        made = {
            "limit": lambda: Contender(
                "limit",
                lambda: Origin(setting, body, status=status, name="limit", cores=setting.server_cores).server,
                peers.RETAINED, body, **({"ask": None} if conditional else {})),
            "nginx": lambda: contender("nginx", lambda: peers.nginx(setting, root, sendfile=sendfile)),
            "haproxy": lambda: contender("haproxy", lambda: peers.haproxy(setting, file=path)),
            "mitmproxy": lambda: contender(
                "mitmproxy", lambda: peers.mitmproxy(setting, mapped=(peers.RETAINED.target, path))),
            "squid": lambda: cached("squid", lambda _: peers.squid(setting, caching=True)),
            "varnish": lambda: cached("varnish", lambda port: peers.varnish(setting, port)),
            "trafficserver": lambda: cached("trafficserver", lambda _: peers.traffic_server(setting, caching=True)),
        }
        ours = contender("subproxy", lambda: peers.subproxy(setting, peers.mapped(root)))
        return ours, [made[name]() for name in names]

    return contenders


def wrk(**settings: int):
    def load(setting: Setting) -> Load:
        return Wrk(**settings)

    return load


NGINX = Goal("nginx", "rate", 1.25)

CASES = [
    Comparison(
        "retained", "Retained hit, 4 KiB, HTTP/1.1, absolute-form with a browser's fields", wrk(),
        retained("limit", "nginx", "squid", "varnish", "trafficserver", "haproxy", "mitmproxy"),
        [NGINX, Goal("squid", "rate", 2.7), Goal("mitmproxy", "rate", 80), Goal("nginx", "p99", 1),
         Goal("limit", "cost", 1.25)],
        peers=7),
    Comparison(
        "pipelined", "Retained hit, 4 KiB, pipelined", wrk(pipeline=16), retained("limit", "nginx"), [NGINX], peers=2),
    Comparison(
        "connections", "Retained hit, 4 KiB, 256 connections", wrk(connections=256), retained("limit", "nginx"),
        [NGINX], peers=2),
    Comparison("small", "Retained hit, 100 B", wrk(), retained("limit", "nginx", size=100), [NGINX], peers=2),
    Comparison(
        "large", "Retained hit, 1 MiB", wrk(), retained("limit", "nginx", size=1 << 20, sendfile=True),
        [Goal("nginx", "rate", 1)], peers=2),
    Comparison(
        "not-modified", "Conditional request answered 304", wrk(), retained("limit", "nginx", conditional=True),
        [NGINX], peers=2),
]
