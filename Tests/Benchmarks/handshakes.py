#!/usr/bin/env python3
"""Measures full TLS 1.3 handshakes a second of subproxy beside nginx's, in one run: A B A B …, one worker each.

usage: handshakes.py --binary .build/release/subproxy [--rounds 5] [--seconds 2] [--threads 2] [--json]

Certificates are ECDSA P-256 everywhere, with a chain of two. subproxy is measured twice: at an https listener of its own,
and inside CONNECT tunnels that it decrypts; what a tunnel costs up to its 200 is measured by itself. CPU time is the server
processes' own accounting (/proc/PID/stat), so it does not depend on what else the machine does. Needs a C compiler,
libssl-dev and nginx. All traffic stays on 127.0.0.1; every process that is started here is ended here.
"""
import argparse
import json
import os
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
NAME = "mapped.test"


def free_port():
    with socket.socket() as stream:
        stream.bind(("127.0.0.1", 0))
        return stream.getsockname()[1]


def cpu_seconds(pid):
    """User and system time of a process and its children."""
    total, queue = 0, [pid]
    while queue:
        one = queue.pop()
        with open(f"/proc/{one}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
        with open(f"/proc/{one}/task/{one}/children") as file:
            queue += map(int, file.read().split())
    return total / TICK


def start(argv, ports):
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    for port in ports:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > end or process.poll() is not None:
                    raise SystemExit(f"{argv[0]} does not listen on port {port}") from None
                time.sleep(0.05)
    return process


def stop(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(8)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def certificates(folder):
    """A chain of two, P-256 both, as that of a decrypted host."""
    with open(f"{folder}/leaf.cnf", "w") as file:
        file.write(f"subjectAltName=DNS:{NAME}\nextendedKeyUsage=serverAuth\nkeyUsage=digitalSignature\n")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"]
    for arguments in (
            ["req", "-x509", *key, "-subj", "/O=subproxy/CN=of the benchmark", "-days", "30", "-keyout", "ca-key.pem",
             "-out", "ca.pem"],
            ["req", *key, "-subj", f"/CN={NAME}", "-keyout", "key.pem", "-out", "leaf.csr"],
            ["x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca-key.pem", "-days", "30", "-extfile",
             "leaf.cnf", "-out", "leaf.pem"]):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    with open(f"{folder}/chain.pem", "w") as chain:
        for name in ("leaf.pem", "ca.pem"):
            with open(f"{folder}/{name}") as file:
                chain.write(file.read())


def nginx(folder):
    port = free_port()
    with open(f"{folder}/nginx.conf", "w") as file:
        file.write(f"""
daemon off; worker_processes 1; pid {folder}/pid; error_log /dev/null crit; user root;
events {{ worker_connections 4096; }}
http {{
  access_log off; root {folder};
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port} ssl; ssl_protocols TLSv1.3; ssl_certificate {folder}/chain.pem;
    ssl_certificate_key {folder}/key.pem;
  }}
}}
""")
    return start(["nginx", "-p", folder, "-c", f"{folder}/nginx.conf"], [port]), port


def subproxy(folder, binary):
    clear, secure = free_port(), free_port()
    with open(f"{folder}/m.yaml", "w") as file:
        file.write(f"substitutions:\n  https://{NAME}/x: {{ text: x }}\n")
    os.mkdir(f"{folder}/authority", 0o700)
    process = start(
        [binary, "--map", f"{folder}/m.yaml", "--listen", f"127.0.0.1:{clear}", "--listen", f"https://127.0.0.1:{secure}",
         "--tls-cert", f"{folder}/chain.pem", "--tls-key", f"{folder}/key.pem", "--ca-dir", f"{folder}/authority",
         "--log-file", "/dev/null", "--threads", "1"], [clear, secure])
    return process, clear, secure


def measure(binary, rounds=5, seconds=2.0, threads=2):
    """Rates and CPU times of each way, as medians with what all rounds gave."""
    folder = tempfile.mkdtemp(prefix="handshakes-")
    servers = []
    try:
        client = f"{folder}/client"
        subprocess.run(
            ["cc", "-O2", "-o", client, f"{HERE}/handshakes.c", "-lssl", "-lcrypto", "-lpthread"], check=True)
        certificates(folder)
        peer, peer_port = nginx(folder)
        servers.append(peer)
        own, clear, secure = subproxy(folder, binary)
        servers.append(own)
        ways = {
            "nginx": (peer, peer_port, []), "subproxy https listener": (own, secure, []),
            "subproxy in CONNECT": (own, clear, ["--connect"]),
            "subproxy CONNECT alone": (own, clear, ["--connect-only"]),
        }
        found = {way: {"rate": [], "cpu_us": [], "shake_ms": []} for way in ways}

        def once(way, length):
            process, port, more = ways[way]
            before = cpu_seconds(process.pid)
            done, took, shaking = subprocess.run(
                [client, str(port), NAME, str(length), str(threads), *more], check=True, capture_output=True,
                text=True).stdout.split()
            # The server may still be at the last connection's end.
            time.sleep(0.05)
            cpu = cpu_seconds(process.pid) - before
            done = int(done)
            return done / float(took), cpu / done * 1e6, float(shaking) / done * 1e3

        for way in ways:
            once(way, 0.3)
        for _ in range(rounds):
            for way, results in found.items():
                for name, value in zip(("rate", "cpu_us", "shake_ms"), once(way, seconds)):
                    results[name].append(round(value, 3))
        median = {way: {name: statistics.median(values) for name, values in results.items()}
                  for way, results in found.items()}
        cpu = {way: values["cpu_us"] for way, values in median.items()}
        inside = cpu["subproxy in CONNECT"] - cpu["subproxy CONNECT alone"]
        return {
            "rounds": found, "median": median,
            "rate_to_nginx": {way: round(median[way]["rate"] / median["nginx"]["rate"], 3)
                              for way in ("subproxy https listener", "subproxy in CONNECT")},
            "nginx_cpu_to": {"subproxy https listener": round(cpu["nginx"] / cpu["subproxy https listener"], 3),
                             "subproxy in CONNECT": round(cpu["nginx"] / cpu["subproxy in CONNECT"], 3),
                             "subproxy in CONNECT, less CONNECT alone": round(cpu["nginx"] / inside, 3)},
        }
    finally:
        for server in servers:
            stop(server)
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = measure(options.binary, options.rounds, options.seconds, options.threads)
    if options.json:
        json.dump(results, sys.stdout, indent=1)
        return
    print(f"{'':26}{'a second':>10}{'CPU µs each':>13}{'ms each':>9}")
    for way, values in results["median"].items():
        print(f"{way:26}{values['rate']:10.0f}{values['cpu_us']:13.0f}{values['shake_ms']:9.2f}")
    print("rate, as a part of nginx's:", results["rate_to_nginx"])
    print("nginx's CPU time, as a part of:", results["nginx_cpu_to"])


if __name__ == "__main__":
    main()
