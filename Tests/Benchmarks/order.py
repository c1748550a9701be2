#!/usr/bin/env python3
"""Writes config/functions.txt: the functions that the program runs until it has answered a few requests.

`make release` has the linker put these next to each other. The kernel maps 64 KiB of a program around each page that
is touched; when what the start needs is scattered over 24 MB, that maps most of them.

Usage: order.py PROGRAM FILE. PROGRAM is a release build with its symbols (not stripped). Needs valgrind and nm. Names that
a later program doesn't have are passed over when it is linked, so that the file may be older than the sources.
"""

import http.client
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

MAP = """\
substitutions:
  http://order.test/page: page.html
  http://order.test/files/*: files/
  http://order.test/text: { text: text }
"""
PATHS = ["/page", "/files/one.css", "/files/missing.css", "/text"]
START_SECONDS = 120


def listening_port(log, process):
    """The port that the program says it listens on. It is slow below valgrind."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with open(log, encoding="utf-8", errors="replace") as file:
            found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", file.read())
        if found:
            return int(found.group(1))
        time.sleep(0.1)
    with open(log, encoding="utf-8", errors="replace") as file:
        raise SystemExit(f"error: the program did not start below valgrind:\n{file.read()}")


def ask(port):
    """Two requests for each path, the second with the validator that the first one brought."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)
    for path in PATHS:
        fields = {"Accept-Encoding": "gzip", "Cookie": "a=b"}
        for _ in range(2):
            client.request("GET", "http://order.test" + path, headers=fields)
            response = client.getresponse()
            response.read()
            if response.getheader("ETag"):
                fields["If-None-Match"] = response.getheader("ETag")
    client.close()


def executed(profile, program):
    """The names of the program's own functions in a callgrind profile; names and objects are numbered at first use."""
    names, objects, found, is_own = {}, {}, set(), False
    with open(profile, encoding="utf-8", errors="replace") as file:
        for line in file:
            use = re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?", line.rstrip("\n"))
            if not use:
                continue
            is_callee, kind, number, name = use.groups()
            table = objects if kind == "ob" else names
            if name:
                table[number] = name
            if is_callee:
                continue
            if kind == "ob":
                is_own = os.path.realpath(table[number]) == os.path.realpath(program)
            elif is_own:
                # A function that calls itself is counted by depth, as NAME'2.
                found.add(table[number].split("'")[0])
    return found


def profiled(program):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/files")
        for name, text in {"page.html": "<p>page", "files/one.css": "p {}", "map.yaml": MAP}.items():
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        profile, log = f"{folder}/profile", f"{folder}/log"
        with open(log, "wb") as output:
            process = subprocess.Popen(
                ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={profile}",
                 program, "--map", f"{folder}/map.yaml", "--listen", "127.0.0.1:0", "--threads", "1", "--offline"],
                stdout=output, stderr=output)
            try:
                ask(listening_port(log, process))
                process.send_signal(signal.SIGTERM)
                process.wait(START_SECONDS)
            finally:
                if process.poll() is None:
                    process.kill()
        return executed(profile, program)


def main():
    program, target = sys.argv[1:]
    symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    functions = {fields[-1] for fields in map(str.split, symbols.splitlines()) if len(fields) == 3 and fields[1] in "tTwW"}
    names = sorted(profiled(program) & functions)
    if len(names) < 1000:
        raise SystemExit(f"error: only {len(names)} functions were seen; has {program} its symbols?")
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(names) + "\n")
    print(f"{target}: {len(names)} functions")


if __name__ == "__main__":
    main()
