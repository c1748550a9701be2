#!/usr/bin/env python3
"""Measures subproxy beside its peers on this machine: A B A B in one run, the same load, one worker each.

Builds a release unless --binary names one, installs the peers (Debian's packages, mitmproxy and others from PyPI), and
ends every process that it has started. All traffic stays on 127.0.0.1. docs/performance.md says how to read the table.
"""

import argparse
import datetime
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import install
import report
from cases import Case, Comparison, all_cases
from compare import Result
from machine import Unusable, describe
from setting import Setting


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these cases; a name also stands for NAME-…")
    parser.add_argument("--list", action="store_true", help="list the cases and end")
    parser.add_argument("--rounds", type=int, help="pairs a comparison (default: 3)")
    parser.add_argument("--seconds", type=float, help="whole seconds a load (default: 3)")
    parser.add_argument("--quick", action="store_true",
                        help="one round of 1 s, small maps, bodies and archives: does it work?")
    parser.add_argument("--binary", metavar="FILE", help="this program instead of a release build")
    parser.add_argument("--beside", metavar="FILE",
                        help="compare with this other build in place of the peers; cases without peers are left out")
    parser.add_argument("--json", metavar="FILE",
                        help="where results are kept (default: bench-results.json; with --quick or --beside nowhere)")
    parser.add_argument("--write-doc", metavar="FILE",
                        help="put the results of the JSON file into this document (--only none: measure nothing)")
    parser.add_argument("--server-cores", type=cores, default=None, metavar="LIST",
                        help="cores of the servers, as 0,1 (default: the first)")
    parser.add_argument("--load-cores", type=cores, default=None, metavar="LIST",
                        help="cores of the load and of origins (default: all others)")
    parser.add_argument("--no-pinning", action="store_true", help="leave all cores to the scheduler")
    args = parser.parse_args()
    if args.quick and args.write_doc:
        parser.error("--quick is no measurement: --write-doc does not go with it")
    if args.beside and args.write_doc:
        parser.error("--beside compares two builds: --write-doc does not go with it")
    if not args.json and not args.quick and not args.beside:
        args.json = os.path.join(install.ROOT, "bench-results.json")
    return args


def cores(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def chosen(names: list[str] | None) -> list[Case]:
    every = all_cases()
    if not names:
        return every
    if names == ["none"]:
        return []
    found = [case for case in every if any(case.name == name or case.name.startswith(name + "-") for name in names)]
    for name in names:
        if not any(case.name == name or case.name.startswith(name + "-") for case in every):
            sys.exit(f"no case has the name {name}; --list shows them")
    return found


def build() -> str:
    subprocess.run(["make", "-s", "release"], cwd=install.ROOT, check=True)
    return os.path.join(install.ROOT, ".build/release/subproxy")


def commit() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=install.ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "?"


def new_folder() -> str:
    """A folder for this run that servers which give their privileges up can enter."""
    folder = tempfile.mkdtemp(prefix="subproxy-bench-")
    os.chmod(folder, 0o755)
    return folder


def main() -> int:
    args = arguments()
    selected = chosen(args.only)
    if args.beside:
        selected = [case for case in selected if isinstance(case, Comparison)]
    if args.list:
        for case in selected:
            print(f"{case.name:20} {case.title}")
        return 0
    # Servers are in /usr/sbin, which is not in everyone's path.
    os.environ["PATH"] += ":/usr/sbin"
    # What begins with a signal ends with everything stopped and removed, as with Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    binary = os.path.abspath(args.binary) if args.binary else build()
    install.install_packages()
    programs = install.compile_tools()
    if mitmdump := install.install_mitmproxy():
        programs["mitmdump"] = mitmdump
    programs |= install.install_archive_programs()
    if "CHROMIUM" not in os.environ:
        install.install_if_possible("chromium", "chromium")
    available = sorted(os.sched_getaffinity(0))
    pinned = not args.no_pinning and len(available) > 1
    setting = Setting(
        binary=binary, folder=new_folder(), programs=programs,
        server_cores=(args.server_cores or available[:1]) if pinned else None,
        load_cores=(args.load_cores or available[1:]) if pinned else None,
        rounds=args.rounds or (1 if args.quick else 3), seconds=args.seconds or (1 if args.quick else 3),
        warm_seconds=1, quick=args.quick, beside=os.path.abspath(args.beside) if args.beside else None,
        numbers=itertools.count())
    about = {
        "date": datetime.date.today().isoformat(), "commit": commit(), "machine": describe(),
        "rounds": setting.rounds, "seconds": setting.seconds, "quick": args.quick,
        "cores": (f"servers on core {listed(setting.server_cores)}, the load and origins on core "
                  f"{listed(setting.load_cores)}") if pinned else "no cores set apart",
        "versions": install.versions(programs),
    }
    results = []
    try:
        for result in measure(selected, setting):
            results.append(result)
            if args.json:
                report.write_json(args.json, about, results, [case.name for case in all_cases()])
    finally:
        shutil.rmtree(setting.folder, ignore_errors=True)
    if args.write_doc:
        report.write_document(args.write_doc, *report.read_json(args.json))
    return summary(results)


def listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def measure(selected: list[Case], setting: Setting) -> Iterator[Result]:
    total = sum(case.seconds(setting) for case in selected)
    print(f"{len(selected)} cases, about {total / 60:.0f} minutes: " + ", ".join(
        f"{case.name} {case.seconds(setting):.0f} s" for case in selected) + "\n", flush=True)
    begin = time.monotonic()
    for case in selected:
        try:
            result = case.run(setting)
        except (Unusable, OSError, subprocess.SubprocessError) as error:
            result = Result(case.name, case.title, "", failures=[f"{case.name}: {error}"])
        print(report.text(result) + "\n", flush=True)
        yield result
    print(f"{time.monotonic() - begin:.0f} s")


def summary(results: list[Result]) -> int:
    verdicts = [verdict for result in results for verdict in result.verdicts]
    failures = [failure for result in results for failure in result.failures]
    print(f"{sum(v.met for v in verdicts)} of {len(verdicts)} goals met")
    for failure in failures:
        print(f"NOT MEASURED {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
