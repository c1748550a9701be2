"""What goes to the origin each time, in small responses."""

import contextlib

import peers
from cases.case import Comparison
from cases.retained import wrk
from cases.stored import NO_RULE
from compare import Contender, Goal
from setting import Origin, Setting, content


def forwarding(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
    body = content(4096)
    origin = stack.enter_context(Origin(setting, body, "Cache-Control: no-store\r\n"))

    def contender(name, start, **fields) -> Contender:
        return Contender(name, start, origin.request(), body, origin=origin, forwards=True, **fields)

    # No cache, as for all of them.
    return contender("subproxy", lambda: peers.subproxy(setting, NO_RULE, "--cache-mode", "off")), [
        contender("squid", lambda: peers.squid(setting, caching=False)),
        contender("tinyproxy", lambda: peers.tinyproxy(setting), closes=True),
        contender("haproxy", lambda: peers.haproxy(setting, origin=origin.server.port)),
        contender("trafficserver", lambda: peers.traffic_server(setting, caching=False)),
        contender("mitmproxy", lambda: peers.mitmproxy(setting)),
    ]


CASES = [
    Comparison(
        "forwarding", "Forwarding 4 KiB, not stored", wrk(), forwarding,
        [Goal("squid", "rate", 1.5), Goal("squid", "cpu", 1.5), Goal("tinyproxy", "rate", 3),
         Goal("mitmproxy", "rate", 10)],
        peers=5),
]
