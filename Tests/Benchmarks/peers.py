"""The proxies and servers that are compared, each set up as its own documentation would have it for this work.

The same for all: one worker, event loop or thread pool; access logs off; connections kept open on both sides for as
many requests as come; what is cached is cached in memory.
"""

import os
import resource
import shutil
import subprocess
from collections.abc import Sequence

from load import Request
from machine import Server, Unusable, free_port
from setting import Setting

VERSIONS = {
    "nginx": ["nginx", "-v"], "squid": ["squid", "-v"], "varnish": ["varnishd", "-V"], "haproxy": ["haproxy", "-v"],
    "tinyproxy": ["tinyproxy", "-v"], "trafficserver": ["traffic_server", "-V"], "jq": ["jq", "--version"],
    "chromium": ["chromium", "--version"],
}


def subproxy(setting: Setting, map_text: str, *options: str, threads: int = 1, log: str = "/dev/null",
             name: str = "subproxy", cores: list[int] | None = None) -> Server:
    folder = setting.subfolder(name.replace(" ", "-"))
    port = free_port()
    return Server(
        name,
        [setting.binary, "serve", "--map", setting.write(folder, "map.yaml", map_text), "--listen", f"127.0.0.1:{port}",
         "--threads", str(threads), "--log-file", log, "--ca-dir", os.path.join(setting.folder, "ca"), *options],
        port, cores=cores or setting.server_cores)


def with_archive(setting: Setting, command: str, *arguments: str, name: str = "subproxy") -> Server:
    """`replay ARCHIVE …`, or `record -o OUT`."""
    port = free_port()
    return Server(
        name, [setting.binary, command, *arguments, *archive_options(setting, port)], port, cores=setting.server_cores)


def archive_options(setting: Setting, port: int) -> list[str]:
    return ["--listen", f"127.0.0.1:{port}", "--threads", "1", "--log-file", "/dev/null",
            "--ca-dir", os.path.join(setting.folder, "ca")]


def libcurl(setting: Setting) -> Server:
    """A program in C that forwards with libcurl's multi interface and epoll, and does nothing else."""
    port = free_port()
    return Server("libcurl", [setting.programs["forward"], str(port)], port, cores=setting.server_cores)


NGINX = """
daemon off;
worker_processes 1;
worker_rlimit_nofile {descriptors};
pid {folder}/pid;
error_log /dev/null crit;
{user}
events {{ worker_connections 4096; }}
http {{
  access_log off;
  types {{ image/png png; }}
  # Neither the number of requests nor time closes a connection (the default is 1000 requests).
  keepalive_requests 1000000000;
  keepalive_timeout 75s;
  # Descriptors, sizes and times of files are kept, so that a request opens nothing.
  open_file_cache max={files} inactive=600s;
  open_file_cache_valid 60s;
  # For small files reading is cheaper than sendfile, which is a call more; for large ones sendfile is.
  sendfile {sendfile};
  tcp_nopush {sendfile};
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port} {listen};
    root {root};
    {tls}
  }}
}}
"""

NGINX_TLS = """
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    ssl_protocols TLSv1.3;
    http2_max_concurrent_streams 128;
"""


def nginx(setting: Setting, root: str, *, sendfile: bool = False, tls: tuple[str, str] | None = None,
          files: int = 1000) -> Server:
    """Serves the folder `root`, and keeps as many of its files open as it may."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if allowed != resource.RLIM_INFINITY:
        files = min(files, allowed - 5000)
    folder, port = setting.subfolder("nginx"), free_port()
    conf = setting.write(folder, "nginx.conf", NGINX.format(
        folder=folder, root=root, port=port, sendfile="on" if sendfile else "off", files=files,
        descriptors=files + 5000,
        user="user root;" if is_root() else "", listen="ssl http2" if tls else "",
        tls=NGINX_TLS.format(certificate=tls[0], key=tls[1]) if tls else ""))
    return Server("nginx", ["nginx", "-p", folder, "-c", conf], port, cores=setting.server_cores)


SQUID = """
http_port 127.0.0.1:{port}
http_access allow localhost
{cache}
access_log none
cache_log /dev/null
cache_store_log none
pid_filename none
coredump_dir {folder}
shutdown_lifetime 0 seconds
max_filedescriptors 8192
# No bookkeeping of clients.
client_db off
client_persistent_connections on
server_persistent_connections on
# As many requests of one connection are read ahead as a pipelining client sends.
pipeline_prefetch 16
"""

SQUID_MEMORY = """
# Everything is kept in memory, nothing on disk.
cache_mem 256 MB
maximum_object_size_in_memory 8 MB
memory_cache_mode always
"""


def squid(setting: Setting, *, caching: bool) -> Server:
    folder, port = setting.subfolder("squid"), free_port()
    if is_root():
        shutil.chown(folder, "proxy", "proxy")
    conf = setting.write(folder, "squid.conf", SQUID.format(
        folder=folder, port=port, cache=SQUID_MEMORY if caching else "cache deny all"))
    return Server("squid", ["squid", "-N", "-f", conf], port, cores=setting.server_cores)


VARNISH = """
vcl 4.1;
backend origin {{ .host = "127.0.0.1"; .port = "{origin}"; }}
sub vcl_recv {{
  # Unless this is said, requests with cookies are passed on.
  unset req.http.Cookie;
  return (hash);
}}
"""


def varnish(setting: Setting, origin: int) -> Server:
    folder, port = setting.subfolder("varnish"), free_port()
    vcl = setting.write(folder, "default.vcl", VARNISH.format(origin=origin))
    return Server(
        "varnish",
        ["varnishd", "-F", "-n", os.path.join(folder, "work"), "-a", f"127.0.0.1:{port}", "-f", vcl,
         "-s", "malloc,256m",
         # One pool of threads; in it a thread a busy connection, as Varnish is built.
         "-p", "thread_pools=1", "-p", "thread_pool_min=100",
         # Its log in shared memory can't be switched off; what would be in it can.
         "-p", "vsl_mask=" + ",".join(f"-{tag}" for tag in VARNISH_LOG)],
        port, cores=setting.server_cores)


# The tags that are logged for each hit.
VARNISH_LOG = [
    "Begin", "End", "Link", "SessOpen", "SessClose", "ReqStart", "ReqMethod", "ReqURL", "ReqProtocol", "ReqHeader",
    "ReqUnset", "ReqAcct", "RespProtocol", "RespStatus", "RespReason", "RespHeader", "RespUnset", "VCL_call",
    "VCL_return", "VCL_use", "Hit", "Timestamp", "Length", "Filters", "Storage", "TTL", "BereqAcct",
]


HAPROXY = """
global
  nbthread 1
  maxconn 4096
defaults
  mode {mode}
  timeout connect 5s
  timeout client 75s
  timeout server 75s
  {options}
frontend bench
  bind 127.0.0.1:{port}
  {answer}
"""

HAPROXY_BACKEND = """
  default_backend origin
backend origin
  server origin 127.0.0.1:{origin}
"""


def haproxy(setting: Setting, *, file: str | None = None, origin: int | None = None, mode: str = "http") -> Server:
    """Answers with a file that is read at the start, or passes everything to one origin: it is no forward proxy."""
    folder, port = setting.subfolder("haproxy"), free_port()
    answer = (f"http-request return status 200 content-type image/png file {file}" if file
              else HAPROXY_BACKEND.format(origin=origin))
    # Bodies stay in the kernel where HAProxy finds that this pays; connections to the origin are for anyone's requests.
    options = "option splice-auto" + ("\n  http-reuse always" if mode == "http" else "")
    conf = setting.write(folder, "haproxy.cfg", HAPROXY.format(
        mode=mode, port=port, answer=answer, options=options if origin else ""))
    return Server("haproxy", ["haproxy", "-db", "-q", "-f", conf], port, cores=setting.server_cores)


TINYPROXY = """
Port {port}
Listen 127.0.0.1
Timeout 60
MaxClients 1000
LogFile "{folder}/log"
LogLevel Critical
"""


def tinyproxy(setting: Setting) -> Server:
    """A thread a connection, and a connection a request on both sides: it does not keep any open."""
    folder, port = setting.subfolder("tinyproxy"), free_port()
    conf = setting.write(folder, "tinyproxy.conf", TINYPROXY.format(folder=folder, port=port))
    return Server("tinyproxy", ["tinyproxy", "-d", "-c", conf], port, cores=setting.server_cores)


TRAFFIC_SERVER = """
CONFIG proxy.config.http.server_ports STRING {port}:ip-in=127.0.0.1
CONFIG proxy.config.admin.user_id STRING #-1
# One event loop, which also accepts.
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT 1
CONFIG proxy.config.accept_threads INT 0
CONFIG proxy.config.task_threads INT 1
CONFIG proxy.config.cache.threads_per_disk INT 1
CONFIG proxy.config.url_remap.remap_required INT 0
CONFIG proxy.config.reverse_proxy.enabled INT 0
CONFIG proxy.config.log.logging_enabled INT 0
CONFIG proxy.config.http.cache.http INT {caching}
CONFIG proxy.config.cache.ram_cache.size INT 268435456
CONFIG proxy.config.cache.ram_cache_cutoff INT 8388608
CONFIG proxy.config.http.keep_alive_enabled_in INT 1
CONFIG proxy.config.http.keep_alive_enabled_out INT 1
CONFIG proxy.config.http.server_session_sharing.match STRING both
CONFIG proxy.config.http.server_session_sharing.pool STRING thread
CONFIG proxy.config.http.background_fill_active_timeout INT 0
"""


TRAFFIC_SERVER_FOLDERS = """
prefix: {folder}
sysconfdir: {folder}/etc
localstatedir: {folder}
logdir: {folder}/log
runtimedir: {folder}/run
cachedir: {folder}/cache
bindir: /usr/bin
sbindir: /usr/sbin
libdir: /usr/lib/trafficserver
libexecdir: /usr/lib/trafficserver/modules
datadir: /usr/share
includedir: /usr/include
"""


def traffic_server(setting: Setting, *, caching: bool) -> Server:
    folder, port = setting.subfolder("trafficserver"), free_port()
    for name in ("cache", "log", "run", "etc"):
        os.makedirs(os.path.join(folder, name))
    etc = os.path.join(folder, "etc")
    for name in ("ip_allow.yaml", "logging.yaml", "sni.yaml", "strategies.yaml"):
        if os.path.exists(f"/etc/trafficserver/{name}"):
            shutil.copy(f"/etc/trafficserver/{name}", etc)
    for name in ("remap.config", "plugin.config", "ssl_multicert.config", "hosting.config", "volume.config",
                 "cache.config", "parent.config", "socks.config", "splitdns.config"):
        setting.write(etc, name, "")
    setting.write(etc, "records.config", TRAFFIC_SERVER.format(port=port, caching=int(caching)))
    # The cache has a file below the memory, which is not read for what the memory holds.
    setting.write(etc, "storage.config", f"{folder}/cache 128M\n")
    runroot = setting.write(folder, "runroot.yaml", TRAFFIC_SERVER_FOLDERS.format(folder=folder))
    return Server("trafficserver", ["traffic_server", f"--run-root={runroot}"], port, cores=setting.server_cores)


def mitmproxy(setting: Setting, *, mapped: tuple[str, str] | None = None, options: Sequence[str] = ()) -> Server:
    folder, port = setting.subfolder("mitmproxy"), free_port()
    program = found_program(setting, "mitmproxy", "mitmdump")
    if mapped:
        options = [*options, "--map-local", f"|{mapped[0]}|{mapped[1]}"]
    return Server(
        "mitmproxy",
        [program, "--quiet", "--listen-host", "127.0.0.1", "--listen-port", str(port),
         "--set", f"confdir={folder}",
         # No connection to the origin before there is something to ask it.
         "--set", "connection_strategy=lazy", *options],
        port, cores=setting.server_cores)


def mitmproxy_replaying(setting: Setting, har: str) -> Server:
    """The flows of a HAR, each as often as it is asked for, and nothing from origins."""
    return mitmproxy(setting, options=[
        "--server-replay", har, "--set", "server_replay_reuse=true", "--set", "server_replay_extra=kill",
        "--set", "server_replay_refresh=false"])


PYWB = """
proxy:
  coll: bench
  enable_content_rewrite: false
  enable_banner: false
  enable_wombat: false
debug: false
"""

# Without its access logs, for which it has no option.
PYWB_SERVER = """
from gevent import monkey
monkey.patch_all()
import gevent.pywsgi, pywb.apps.cli
gevent.pywsgi.WSGIHandler.log_request = lambda self: None
pywb.apps.cli.wayback()
"""


def pywb(setting: Setting, archive: str) -> Server:
    """As a proxy in front of one collection, without rewriting and banner. It closes connections after each response."""
    program = found_program(setting, "pywb", "wayback")
    folder, port = setting.subfolder("pywb"), free_port()
    manager = os.path.join(os.path.dirname(program), "wb-manager")
    for arguments in (["init", "bench"], ["add", "bench", archive]):
        done = subprocess.run([manager, *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unusable(f"wb-manager ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
    setting.write(folder, "config.yaml", PYWB)
    return Server(
        "pywb",
        [os.path.join(os.path.dirname(program), "python"), "-c", PYWB_SERVER, "-d", folder, "-b", "127.0.0.1", "-p",
         str(port)], port, cores=setting.server_cores)


# It refuses origins on this machine unless this is set.
WARCPROX = """
import warcprox.main, warcprox.warcproxy
warcprox.warcproxy.WarcProxyHandler.allow_localhost = True
warcprox.main.main()
"""


def warcprox(setting: Setting, out: str) -> Server:
    """Writes a plain WARC into a folder, without its databases of digests and statistics."""
    program = found_program(setting, "warcprox", "warcprox")
    folder, port = setting.subfolder("warcprox"), free_port()
    return Server(
        "warcprox",
        [os.path.join(os.path.dirname(program), "python"), "-c", WARCPROX, "-q", "-b", "127.0.0.1", "-p", str(port),
         "-d", out, "-c", os.path.join(folder, "ca.pem"), "--certs-dir", os.path.join(folder, "certs"),
         "--dedup-db-file=/dev/null", "--stats-db-file=/dev/null"], port, cores=setting.server_cores)


def found_program(setting: Setting, package: str, program: str) -> str:
    if program not in setting.programs:
        raise Unusable(f"{package} can't be installed")
    return setting.programs[program]


def chromium() -> str:
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome-stable")
    if not program:
        raise Unusable("there is no Chromium; CHROMIUM names one")
    return program


def is_root() -> bool:
    return os.getuid() == 0


def mapped(root: str, *, rules: str = "") -> str:
    """A map of one rule, for the URL that `Request` of the retained cases asks for."""
    return f"root: {root}\nsubstitutions:\n  http://images.example.test/f.png: f.png\n{rules}"


RETAINED = Request("http://images.example.test/f.png")
