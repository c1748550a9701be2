#!/usr/bin/env python3
"""Measures subproxy beside its peers on this machine, in one run: A B A B …, the same client load, one worker each.

usage: bench.py --binary .build/release/subproxy [--rounds 5] [--seconds 3] [--only retained|stored|forward|map] [--json FILE]

Needs wrk, nginx and squid (Debian's packages). All traffic stays on 127.0.0.1. CPU time is the server processes' own
accounting (/proc/PID/stat), so it does not depend on what else the machine does. Every process that is started here
is ended here.
"""
import argparse
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TICK = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing listens on port {port}")


def family(pid):
    """The process and its descendants."""
    found, queue = [pid], [pid]
    while queue:
        parent = queue.pop()
        try:
            with open(f"/proc/{parent}/task/{parent}/children") as f:
                children = [int(c) for c in f.read().split()]
        except OSError:
            children = []
        found += children
        queue += children
    return found


def cpu_seconds(pid):
    total = 0
    for p in family(pid):
        try:
            with open(f"/proc/{p}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        except OSError:
            pass
    return total / TICK


def peak_rss(pid):
    peak = 0
    for p in family(pid):
        try:
            with open(f"/proc/{p}/status") as f:
                m = re.search(r"VmHWM:\s+(\d+) kB", f.read())
            peak += int(m[1]) if m else 0
        except OSError:
            pass
    return peak


class Server:
    def __init__(self, name, argv, port, **kw):
        self.name, self.port = name, port
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=kw.pop("stderr", subprocess.DEVNULL), **kw)
        wait_for(port)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(8)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def nginx(folder, root, port, name="nginx", extra=""):
    prefix = os.path.join(folder, name)
    os.makedirs(prefix, exist_ok=True)
    conf = os.path.join(prefix, "nginx.conf")
    with open(conf, "w") as f:
        f.write(f"""
daemon off; worker_processes 1; pid {prefix}/pid; error_log /dev/null crit; user root;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; keepalive_timeout 75s;
  open_file_cache max=1000 inactive=60s; open_file_cache_valid 60s; types {{ image/png png; }}
  client_body_temp_path {prefix}/b; proxy_temp_path {prefix}/p; fastcgi_temp_path {prefix}/f;
  uwsgi_temp_path {prefix}/u; scgi_temp_path {prefix}/s;
  server {{ listen 127.0.0.1:{port}; root {root}; {extra} }}
}}
""")
    return Server(name, ["nginx", "-p", prefix, "-c", conf], port)


def squid(folder, port, cache="cache deny all", name="squid"):
    prefix = os.path.join(folder, name)
    os.makedirs(prefix, exist_ok=True)
    shutil.chown(prefix, "proxy", "proxy") if os.getuid() == 0 else None
    os.chmod(folder, 0o755)
    conf = os.path.join(prefix, "squid.conf")
    with open(conf, "w") as f:
        f.write(f"""
http_port 127.0.0.1:{port}
http_access allow localhost
{cache}
access_log none
cache_log /dev/null
pid_filename none
coredump_dir {prefix}
shutdown_lifetime 0 seconds
max_filedescriptors 8192
server_persistent_connections on
client_persistent_connections on
""")
    return Server(name, ["squid", "-N", "-f", conf], port)


def subproxy(binary, folder, map_text, name="subproxy", extra=()):
    port = free_port()
    path = os.path.join(folder, f"{name}.yaml")
    with open(path, "w") as f:
        f.write(map_text)
    argv = [binary, "--map", path, "--listen", f"127.0.0.1:{port}", "--threads", "1", "--log-file", "/dev/null", *extra]
    return Server(name, argv, port)


def wrk(port, target, host, connections, seconds):
    env = dict(os.environ, BENCH_TARGET=target, BENCH_HOST=host)
    out = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", os.path.join(HERE, "absolute.lua"),
         f"http://127.0.0.1:{port}/"], env=env, capture_output=True, text=True, timeout=seconds + 60).stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
    count = int(re.search(r"(\d+) requests in", out)[1])
    errors = sum(int(n) for n in re.findall(r"(?:Non-2xx or 3xx responses: |connect |read |write |timeout )(\d+)", out))

    def latency(p):
        value, unit = re.search(rf"{p}%\s+([\d.]+)(us|ms|s)", out).groups()
        return float(value) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]

    return {"rate": rate, "count": count, "errors": errors, "p50_us": latency(50), "p99_us": latency(99)}


def measure(server, target, host, connections, seconds):
    before = cpu_seconds(server.process.pid)
    result = wrk(server.port, target, host, connections, seconds)
    result["cpu_us"] = (cpu_seconds(server.process.pid) - before) * 1e6 / max(result["count"], 1)
    return result


def compare(title, ours, peers, args, connections=32):
    """Runs ours and each peer in turn, several rounds; the ratio is of neighbours in time."""
    print(f"\n{title}, {connections} connections")
    rows = {s.name: [] for s, *_ in [ours, *peers]}
    for server, target, host in [ours, *peers]:
        wrk(server.port, target, host, connections, 1)
    for _ in range(args.rounds):
        for server, target, host in [ours, *peers]:
            rows[server.name].append(measure(server, target, host, connections, args.seconds))
    print(f"  {'':14}{'requests/s':>12}{'ratio':>8}{'spread':>14}{'CPU µs':>8}{'p50 µs':>8}{'p99 µs':>8}{'RSS MiB':>9}{'errors':>8}")
    out = {}
    for server, *_ in [ours, *peers]:
        mine = rows[ours[0].name]
        theirs = rows[server.name]
        ratios = [a["rate"] / b["rate"] for a, b in zip(mine, theirs)]
        median = {k: statistics.median(r[k] for r in theirs) for k in ("rate", "cpu_us", "p50_us", "p99_us")}
        median["errors"] = sum(r["errors"] for r in theirs)
        median["ratio"] = statistics.median(ratios)
        median["peak_rss_kib"] = peak_rss(server.process.pid)
        print(f"  {server.name:14}{median['rate']:12.0f}{median['ratio']:8.2f}"
              f"{min(ratios):7.2f}–{max(ratios):.2f}{median['cpu_us']:9.1f}{median['p50_us']:8.0f}{median['p99_us']:8.0f}"
              f"{median['peak_rss_kib'] / 1024:9.1f}{median['errors']:8d}")
        out[server.name] = median
    return out


def retained(args, folder, results):
    root = os.path.join(folder, "www")
    os.makedirs(root, exist_ok=True)
    with open(os.path.join(root, "f.png"), "wb") as f:
        f.write(os.urandom(4096))
    peer = nginx(folder, root, free_port())
    ours = subproxy(args.binary, folder, f"root: {root}\nsubstitutions:\n  http://images.example.test/f.png: f.png\n")
    try:
        results["retained 4 KiB"] = compare(
            "Retained hit, 4 KiB, keep-alive, absolute-form with a browser's fields",
            (ours, "http://images.example.test/f.png", "images.example.test"),
            [(peer, "http://images.example.test/f.png", "images.example.test")], args)
    finally:
        ours.stop()
        peer.stop()


def forward(args, folder, results):
    root = os.path.join(folder, "www")
    os.makedirs(root, exist_ok=True)
    with open(os.path.join(root, "g.png"), "wb") as f:
        f.write(os.urandom(4096))
    origin = nginx(folder, root, free_port(), "origin")
    peer = squid(folder, free_port())
    ours = subproxy(
        args.binary, folder, "substitutions:\n  http://other.example.test/x: { text: x }\n", "subproxy-fwd",
        ["--cache-mode", "off"])
    target = f"http://127.0.0.1:{origin.port}/g.png"
    host = f"127.0.0.1:{origin.port}"
    try:
        results["forwarded 4 KiB"] = compare(
            "Forwarding 4 KiB, not stored", (ours, target, host), [(peer, target, host)], args)
    finally:
        for s in (ours, peer, origin):
            s.stop()


def stored(args, folder, results):
    """What is stored beside what the map retains, and beside Squid's memory hits."""
    root = os.path.join(folder, "www")
    os.makedirs(root, exist_ok=True)
    for name in ("f.png", "s.png"):
        with open(os.path.join(root, name), "wb") as f:
            f.write(os.urandom(4096))
    origin = nginx(folder, root, free_port(), "stored-origin", 'add_header Cache-Control "public, max-age=3600";')
    peer = squid(
        folder, free_port(), "cache_mem 256 MB\nmaximum_object_size_in_memory 8 MB\nmemory_cache_mode always",
        "squid-memory")
    host = f"127.0.0.1:{origin.port}"
    target = f"http://{host}/s.png"
    ours = subproxy(args.binary, folder, "substitutions:\n  http://other.example.test/x: { text: x }\n", "stored")
    mapped = subproxy(
        args.binary, folder, f"root: {root}\nsubstitutions:\n  http://images.example.test/f.png: f.png\n", "retained")
    try:
        results["stored 4 KiB"] = compare(
            "Stored hit, 4 KiB, keep-alive, absolute-form with a browser's fields", (ours, target, host),
            [(mapped, "http://images.example.test/f.png", "images.example.test"), (peer, target, host)], args)
    finally:
        for s in (ours, mapped, peer, origin):
            s.stop()


def big_map(args, folder, results):
    """Load time and memory of a map of 1,000,000 exact rules, and what its look-up costs beside a map of one."""
    root = os.path.join(folder, "www")
    os.makedirs(root, exist_ok=True)
    with open(os.path.join(root, "f.png"), "wb") as f:
        f.write(os.urandom(4096))
    count = args.rules
    target = f"http://images.example.test/{count // 2:07d}.png"
    lines = "".join(f"  http://images.example.test/{i:07d}.png: f.png\n" for i in range(count))
    begin = time.monotonic()
    many = subproxy(args.binary, folder, f"root: {root}\nsubstitutions:\n{lines}", "many-rules")
    loaded = time.monotonic() - begin
    rss = peak_rss(many.process.pid) / 1024
    one = subproxy(args.binary, folder, f"root: {root}\nsubstitutions:\n  {target}: f.png\n", "one-rule")
    try:
        print(f"\nA map of {count:,} exact rules: serving after {loaded:.2f} s, peak RSS {rss:.0f} MiB")
        rows = compare("Retained hit, 4 KiB, by the size of the map", (many, target, "images.example.test"),
                       [(one, target, "images.example.test")], args)
        results["map"] = {"rules": count, "load_s": loaded, "peak_rss_mib": rss, "hits": rows}
    finally:
        one.stop()
        many.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.path.join(HERE, "../../.build/release/subproxy"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rules", type=int, default=1_000_000)
    parser.add_argument("--only", choices=["retained", "stored", "forward", "map"])
    parser.add_argument("--json")
    args = parser.parse_args()
    for tool in ("wrk", "nginx", "squid"):
        if not shutil.which(tool) and not os.path.exists(f"/usr/sbin/{tool}"):
            sys.exit(f"{tool} is missing: apt-get install wrk nginx squid")
    os.environ["PATH"] += ":/usr/sbin"
    results = {}
    with tempfile.TemporaryDirectory(prefix="subproxy-bench-") as folder:
        for name, run in (("retained", retained), ("stored", stored), ("forward", forward), ("map", big_map)):
            if args.only in (None, name):
                run(args, folder, results)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(results, f, indent=2)


if __name__ == "__main__":
    main()
