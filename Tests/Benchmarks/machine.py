"""Processes that are started for a measurement, what they cost, and the machine they run on."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence

TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Unusable(Exception):
    """Something does not do what a row of the table says, so that the row would be a lie."""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def family(pid: int) -> list[int]:
    """The process and its descendants."""
    found, queue = [pid], [pid]
    while queue:
        parent = queue.pop()
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{parent}/task/{task}/children") as f:
                    children = [int(c) for c in f.read().split()]
                    found += children
                    queue += children
    return found


def birth(pid: int) -> str | None:
    """When the process began, which tells it from a later one with the same id; None where it is no more."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return None if fields[0] == "Z" else fields[19]
    except OSError:
        return None


def wants_to_run(pid: int) -> bool:
    """Whether a thread of the process or its descendants runs, waits for a core or for a disk."""
    for p in family(pid):
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{p}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{p}/task/{task}/stat") as f:
                    if f.read().rsplit(")", 1)[1].split()[0] in "RD":
                        return True
    return False


def read_status(pid: int, key: str) -> int:
    """A line of /proc/PID/status in KiB, summed over the process and its descendants."""
    total = 0
    for p in family(pid):
        with contextlib.suppress(OSError), open(f"/proc/{p}/status") as f:
            match = re.search(rf"^{key}:\s+(\d+) kB", f.read(), re.MULTILINE)
            total += int(match[1]) if match else 0
    return total


def peak_rss(pid: int) -> int:
    return read_status(pid, "VmHWM")


def rss(pid: int) -> int:
    return read_status(pid, "VmRSS")


class CPUClock:
    """Processor time, in the kernel and outside, that a process and its descendants use from now on.

    The scheduler's nanoseconds, summed over the threads. Where they fall behind utime and stime of /proc/PID/stat,
    threads have ended meanwhile and taken theirs along; then those count, in hundredths of a second.
    """

    def __init__(self, pid: int):
        self.pid = pid
        self.tasks, self.ticks = self._read()

    def _read(self) -> tuple[dict[str, int], int]:
        tasks, ticks = {}, 0
        for p in family(self.pid):
            with contextlib.suppress(OSError):
                with open(f"/proc/{p}/stat") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12])
                for task in os.listdir(f"/proc/{p}/task"):
                    with contextlib.suppress(OSError), open(f"/proc/{p}/task/{task}/schedstat") as f:
                        tasks[f"{p}/{task}"] = int(f.read().split()[0])
        return tasks, ticks

    @classmethod
    def total(cls, pid: int) -> int:
        """Nanoseconds since the process began."""
        clock = cls(pid)
        clock.tasks, clock.ticks = {}, 0
        return clock.nanoseconds()

    def nanoseconds(self) -> int:
        tasks, ticks = self._read()
        exact, rough = sum(tasks.values()) - sum(self.tasks.values()), (ticks - self.ticks) * TICK
        return exact if abs(rough - exact) <= 5 * TICK else rough


def on_cores(cores: Sequence[int] | None) -> list[str]:
    """What a command begins with so that it runs on these cores only; nothing where they are None."""
    return ["taskset", "-c", ",".join(map(str, cores))] if cores else []


def end(process: subprocess.Popen) -> None:
    """Ends the process and what it has started, by their ids: first asking, then not."""
    members = {pid: birth(pid) for pid in family(process.pid)}
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
    for pid, born in members.items():
        # An id that another process was given meanwhile is left alone.
        if born and birth(pid) == born:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    process.wait()


class Server:
    """A process that listens on a port of 127.0.0.1 until it is stopped. A context manager."""

    def __init__(
        self, name: str, argv: Sequence[str], port: int, *, cores: Sequence[int] | None = None,
        env: dict[str, str] | None = None, start_seconds: float = 120, wait: bool = True,
    ):
        self.name, self.port = name, port
        self.messages = tempfile.TemporaryFile()
        # A session of its own, so that Ctrl-C reaches this program first, which stops what it has started.
        self.process = subprocess.Popen(
            [*on_cores(cores), *argv], stdin=subprocess.DEVNULL, stdout=self.messages, stderr=self.messages,
            env=dict(os.environ, **(env or {})), start_new_session=True)
        if wait:
            try:
                self.await_port(start_seconds)
            except BaseException:
                self.stop()
                raise

    @property
    def pid(self) -> int:
        return self.process.pid

    def await_port(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            if self.process.poll() is not None:
                raise Unusable(f"{self.name} ended with status {self.process.returncode}: {self.last_words()}")
            time.sleep(0.01)
        raise Unusable(f"{self.name} does not listen on port {self.port}: {self.last_words()}")

    def last_words(self) -> str:
        self.messages.seek(0)
        return self.messages.read().decode(errors="replace").strip()[-500:]

    def settle(self, seconds: float = 60) -> None:
        """Waits until what it does after its start is done, or the time is over: no thread runs or wants to."""
        end, quiet = time.monotonic() + seconds, 0
        while quiet < 10 and time.monotonic() < end:
            clock = CPUClock(self.pid)
            time.sleep(0.03)
            quiet = 0 if clock.nanoseconds() > 2_000_000 or wants_to_run(self.pid) else quiet + 1

    def stop(self) -> None:
        end(self.process)
        self.messages.close()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def describe() -> dict[str, str | int]:
    """What a reader has to know of the machine."""
    def first(path: str, pattern: str) -> str:
        with contextlib.suppress(OSError), open(path) as f:
            match = re.search(pattern, f.read(), re.MULTILINE)
            return match[1].strip() if match else ""
        return ""

    memory = int(first("/proc/meminfo", r"^MemTotal:\s+(\d+) kB") or 0)
    return {
        "processor": first("/proc/cpuinfo", r"^model name\s*: (.*)$"),
        "cores": len(os.sched_getaffinity(0)),
        "memory": f"{memory / (1 << 20):.0f} GiB",
        "kernel": os.uname().release,
        "system": first("/etc/os-release", r'^PRETTY_NAME="(.*)"$'),
    }
