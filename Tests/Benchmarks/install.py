"""Brings the peers, and the programs of the benchmark's own, onto the machine."""

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys

from load import HERE
from peers import VERSIONS

ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.path.join(ROOT, ".build/bench")

# What has to be there, a program or a file, and Debian's package of it.
PACKAGES = {
    "nginx": "nginx", "squid": "squid", "varnishd": "varnish", "haproxy": "haproxy", "tinyproxy": "tinyproxy",
    "traffic_server": "trafficserver", "wrk": "wrk", "h2load": "nghttp2-client", "gcc": "gcc", "curl": "curl",
    "openssl": "openssl", "taskset": "util-linux", "/usr/include/stdio.h": "libc6-dev",
    "/usr/include/openssl/ssl.h": "libssl-dev", "/usr/include/sqlite3.h": "libsqlite3-dev",
    "/usr/bin/curl-config": "libcurl4-openssl-dev", "/usr/include/zlib.h": "zlib1g-dev", "jq": "jq",
    "callgrind_control": "valgrind", "strip": "binutils",
}
if importlib.util.find_spec("ensurepip") is None:
    PACKAGES["ensurepip"] = "python3-venv"

# Services that come with the packages and would begin to listen on the machine's ports.
SERVICES = ["nginx", "squid", "varnish", "varnishncsa", "haproxy", "tinyproxy", "trafficserver"]


def as_root(*argv: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([*([] if os.getuid() == 0 else ["sudo"]), *argv], **options)


def install_packages() -> None:
    missing = sorted({
        package for name, package in PACKAGES.items() if not (shutil.which(name) or os.path.exists(name))})
    if not missing:
        return
    if not shutil.which("apt-get"):
        sys.exit("please install: " + " ".join(missing))
    print("installing:", *missing, flush=True)
    installed_before = [name for name in SERVICES if os.path.exists(f"/etc/init.d/{name}")]
    # Packages ask this program whether to start their services; it says no while they are installed here.
    policy = "/usr/sbin/policy-rc.d"
    ours = not os.path.exists(policy)
    if ours:
        as_root("sh", "-c", f"printf '#!/bin/sh\\nexit 101\\n' > {policy} && chmod +x {policy}", check=True)
    try:
        as_root("apt-get", "update", "-qq", check=True)
        as_root("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq", "--no-install-recommends",
                *missing, check=True, stdout=subprocess.DEVNULL)
    finally:
        if ours:
            as_root("rm", "-f", policy)
    if os.path.isdir("/run/systemd/system"):
        new = [name for name in SERVICES if name not in installed_before]
        as_root("systemctl", "disable", "--quiet", *new, stderr=subprocess.DEVNULL)


def install_from_pypi(name: str, program: str) -> str | None:
    """The newest of a package in a folder of its own; None where it can't be had."""
    folder = os.path.join(FOLDER, name)
    program = os.path.join(folder, "bin", program)
    if not works(program):
        print(f"installing: {name}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True)
            subprocess.run([f"{folder}/bin/pip", "install", "-q", name], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            shutil.rmtree(folder, ignore_errors=True)
    return program if works(program) else None


# Packages of PyPI that handle archives, and a program of each.
OF_ARCHIVES = {"pywb": "wayback", "warcio": "warcio", "warcprox": "warcprox", "playwright": "playwright"}


def install_archive_programs() -> dict[str, str]:
    """The programs that could be had, by their names."""
    found = {program: install_from_pypi(name, program) for name, program in OF_ARCHIVES.items()}
    return {name: path for name, path in found.items() if path}


def install_mitmproxy() -> str | None:
    """The newest from PyPI, else Debian's; None where neither can be had."""
    if program := install_from_pypi("mitmproxy", "mitmdump"):
        return program
    install_if_possible("mitmdump", "mitmproxy")
    return shutil.which("mitmdump")


def install_if_possible(program: str, package: str) -> None:
    """A package without which the cases that need it fail, and no other."""
    if not shutil.which(program) and shutil.which("apt-get"):
        with contextlib.suppress(OSError):
            as_root("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq",
                    "--no-install-recommends", package, stdout=subprocess.DEVNULL)


def works(program: str) -> bool:
    try:
        return subprocess.run([program, "--version"], capture_output=True).returncode == 0
    except OSError:
        return False


def compile_tools() -> dict[str, str]:
    """The programs of tools/, made anew where their source is newer."""
    os.makedirs(FOLDER, exist_ok=True)
    made = {}
    for name, product, options in [
        ("limit", "limit", []), ("pull", "pull", []), ("rows", "rows", ["-lsqlite3"]), ("forward", "forward", ["-lcurl"]),
        ("inflate", "inflate", ["-lz"]), ("quotes", "quotes", []),
        ("tunnel", "tunnel.so", ["-shared", "-fPIC", "-ldl"]),
    ]:
        source, made[name] = os.path.join(HERE, f"tools/{name}.c"), os.path.join(FOLDER, product)
        if not os.path.exists(made[name]) or os.path.getmtime(made[name]) < os.path.getmtime(source):
            subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-o", made[name], source, *options], check=True)
    return made


def versions(programs: dict[str, str]) -> dict[str, str]:
    found = {}
    of_pypi = {"mitmproxy": "mitmdump"} | OF_ARCHIVES
    programs_of_pypi = {name: [programs.get(program) or "", "--version"] for name, program in of_pypi.items()}
    for name, argv in (VERSIONS | programs_of_pypi).items():
        if shutil.which(argv[0]):
            done = subprocess.run(argv, capture_output=True, text=True)
            match = re.search(r"\d+\.\d+(\.\d+)?", done.stdout + done.stderr)
            found[name] = match[0] if match else "?"
    return found
