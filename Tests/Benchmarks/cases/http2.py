"""Retained hits over TLS with HTTP/2."""

import contextlib
import subprocess

import peers
from cases.case import Comparison
from compare import Contender, Goal
from load import H2Load, Load, Request, ask_over_tls
from setting import HOST, Setting, content

REQUEST = Request(f"https://{HOST}/f.png")


def certificate(setting: Setting) -> tuple[str, str]:
    """A certificate and key of the kind that the proxy makes: ECDSA P-256."""
    folder = setting.subfolder("certificate")
    paths = f"{folder}/certificate.pem", f"{folder}/key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
         "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}", "-out", paths[0], "-keyout", paths[1]],
        check=True, capture_output=True)
    return paths


def retained(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
    body = content(4096)
    root = setting.subfolder("www")
    setting.write(root, "f.png", body)
    rule = f"root: {root}\nsubstitutions:\n  https://{HOST}/f.png: f.png\n"
    ours = Contender(
        "subproxy", lambda: peers.subproxy(setting, rule), REQUEST, body, tunnel=f"{HOST}:443", ask=ask_over_tls)
    theirs = Contender(
        "nginx", lambda: peers.nginx(setting, root, tls=certificate(setting)), REQUEST, body, ask=ask_over_tls)
    return ours, [theirs]


def h2load(setting: Setting) -> Load:
    return H2Load(setting.programs["tunnel"])


CASES = [
    Comparison(
        "http2", "Retained hit, 4 KiB, over TLS, HTTP/2", h2load, retained, [Goal("nginx", "rate", 1.1)],
        extra_seconds=5),
]
