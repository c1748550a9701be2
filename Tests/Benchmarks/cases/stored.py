"""What the cache answers, beside other caches that hold their responses in memory."""

import contextlib

import peers
from cases.case import Comparison
from cases.retained import CACHEABLE, wrk
from compare import Contender, Goal
from setting import Origin, Setting, content

# A map is needed to serve; its one rule has no part in this.
NO_RULE = "substitutions:\n  http://other.example.test/x: { text: x }\n"


def stored(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
    body = content(4096)

    def contender(name, start) -> Contender:
        origin = stack.enter_context(Origin(setting, body, CACHEABLE))
        return Contender(name, lambda: start(origin.server.port), origin.request(), body, origin=origin)

    return contender("subproxy", lambda _: peers.subproxy(setting, NO_RULE)), [
        contender("varnish", lambda port: peers.varnish(setting, port)),
        contender("squid", lambda _: peers.squid(setting, caching=True)),
        contender("trafficserver", lambda _: peers.traffic_server(setting, caching=True)),
    ]


CASES = [
    Comparison(
        "stored", "Stored hit, 4 KiB", wrk(), stored, [Goal("varnish", "cpu", 1), Goal("squid", "cpu", 2.5)], peers=3),
]
