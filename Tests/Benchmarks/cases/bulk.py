"""Large bodies that pass through: what a byte costs, by processor time."""

import contextlib

import peers
from cases.case import Comparison
from cases.stored import NO_RULE
from compare import Contender, Goal
from load import Load
from setting import Origin, Setting, content


def bulk(tunnelled: bool):
    def contenders(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
        body = content(setting.bulk_bytes)
        origin = stack.enter_context(Origin(setting, body, "Cache-Control: no-store\r\n"))
        port = origin.server.port
        fields = {"origin": origin, "forwards": True, "origin_form": tunnelled}
        ours = Contender(
            "subproxy", lambda: peers.subproxy(setting, NO_RULE, "--cache-mode", "off", "--connect-ports", str(port)),
            origin.request(), body, tunnel=f"127.0.0.1:{port}" if tunnelled else None, **fields)
        theirs = Contender(
            "haproxy", lambda: peers.haproxy(setting, origin=port, mode="tcp" if tunnelled else "http"),
            origin.request(), body, **fields)
        return ours, [theirs]

    return contenders


def pull(tunnelled: bool):
    def load(setting: Setting) -> Load:
        return setting.pull(tunnelled=tunnelled)

    return load


HAPROXY = Goal("haproxy", "cpu", 0.9)

CASES = [
    Comparison("bodies", "Forwarding 100 MiB bodies", pull(False), bulk(False), [HAPROXY], extra_seconds=4),
    Comparison("tunnel", "100 MiB bodies through a tunnel", pull(True), bulk(True), [HAPROXY], extra_seconds=4),
]
