"""What the map answers from a database of a million rows, and from templates: beside Datasette, beside an array behind
node:http as front ends are mocked with, and beside a loop over a prepared statement in C, which is the limit."""

import contextlib
import dataclasses
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import threading
import time
from collections.abc import Callable

import install
import peers
from cases.case import Case, Comparison, verdicts
from cases.process import Start
from cases.retained import wrk
from compare import Contender, Figure, Goal, Result, measure
from load import Request, Response, Sample, Series, Wrk, ask
from machine import Server, Unusable, free_port, on_cores, rss
from setting import Setting, content

ROWS = 1_000_000
BRANDS = 10_000
COLUMNS = "id", "name", "brand", "price", "stock", "added"
SCHEMA = """
CREATE TABLE products(id INTEGER PRIMARY KEY, name TEXT, brand TEXT, price REAL, stock INTEGER, added TEXT);
CREATE TABLE orders(id INTEGER PRIMARY KEY, product INTEGER, note TEXT, amount REAL);
"""
SHOP = "http://shop.example.test/api/"


def product(number: int, brands: int = BRANDS) -> tuple:
    return (number, f"Product {number}", f"b{number % brands + 1}", number % 10_000 / 4, number % 500,
            f"2026-01-{number % 28 + 1:02}")


def database(setting: Setting) -> str:
    """The folder of a database in WAL mode, made once a run."""
    folder = os.path.join(setting.folder, "database")
    if not os.path.exists(folder):
        os.makedirs(folder)
        with contextlib.closing(sqlite3.connect(os.path.join(folder, "shop.db"))) as made:
            made.execute("PRAGMA journal_mode = WAL")
            made.executescript(SCHEMA)
            made.executemany("INSERT INTO products VALUES(?, ?, ?, ?, ?, ?)", map(product, range(1, ROWS + 1)))
            made.execute("CREATE INDEX brands ON products(brand)")
            made.commit()
    return folder


def shop(setting: Setting, folder: str, options: str = "", rules: str = "", **settings) -> Server:
    return peers.subproxy(
        setting, f"root: {folder}\nsubstitutions:\n  {SHOP}: {{ sqlite: shop.db{options} }}\n{rules}", **settings)


def canonical(port: int, request: Request, **options) -> Response:
    """The rows that a request of a series gets for the number 1, in one form whoever answers."""
    target = request.target.replace("{n}", "1").replace("{n+100}", "101").replace("{u}", "0")
    response = ask(port, dataclasses.replace(request, target=target), **options)
    value = json.loads(response.body) if response.status == 200 else []
    rows = value if isinstance(value, list) else value.get("rows", [value])
    # JavaScript has one type for numbers.
    found = [[float(row[name]) if name == "price" else row[name] for name in COLUMNS] for row in rows]
    return dataclasses.replace(response, body=json.dumps(sorted(found)).encode())


def datasette(setting: Setting, folder: str) -> Server:
    if (program := install.install_from_pypi("datasette", "datasette")) is None:
        raise Unusable("datasette could not be installed")
    port = free_port()
    return Server(
        "datasette", [program, "serve", os.path.join(folder, "shop.db"), "--port", str(port), "--setting",
                      "max_returned_rows", "1000"], port, cores=setting.server_cores)


def node(setting: Setting) -> Server:
    if not shutil.which("node"):
        raise Unusable("node is not installed")
    folder, port = setting.subfolder("node"), free_port()
    rows = [dict(zip(COLUMNS, product(number, 100))) for number in range(1, 10_001)]
    path = setting.write(folder, "rows.json", json.dumps(rows))
    return Server("node", ["node", os.path.join(install.HERE, "tools/array.js"), str(port), path], port,
                  cores=setting.server_cores)


def limit(setting: Setting, path: str, kind: str, count: int) -> tuple[float, float]:
    """Microseconds of processor time and by the clock that the loop in C takes for each."""
    times = []
    for _ in range(setting.rounds):
        done = subprocess.run(
            [*on_cores(setting.server_cores), setting.programs["rows"], path, kind, str(count)],
            capture_output=True, text=True, check=True)
        times.append(tuple(map(float, done.stdout.split()[:2])))
    return statistics.median(cpu for cpu, _ in times), statistics.median(clock for _, clock in times)


@dataclasses.dataclass
class Rows(Comparison):
    """Ours, Datasette and node beside the loop in C."""

    kind: str = "row"
    factor: float = 1.0

    def run(self, setting: Setting) -> Result:
        result = super().run(setting)
        if result.rows:
            cpu, _ = limit(setting, os.path.join(database(setting), "shop.db"), self.kind, 2_000 if setting.quick else 20_000)
            ours = next(row for row in result.rows if row.name == "subproxy")
            bound = self.factor * cpu + (22 if self.factor == 1 else 20)
            result.figures = [
                Figure("the loop in C", cpu, "µs of CPU"), Figure("subproxy", ours.cpu_us, "µs of CPU", round(bound, 1))]
            result.verdicts += verdicts(result.figures)
        return result


def rows(numbers: range, brands: int = BRANDS) -> bytes:
    """Rows as `canonical` has them."""
    return json.dumps([list(product(number, brands)) for number in numbers]).encode()


def beside(path: str, of_datasette: str, numbers: range, of_node: range):
    """The path below the API, Datasette's path for the same rows, and the rows of number 1 of these and of node."""

    def contenders(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
        folder = database(setting)
        host = "http://shop.example.test/"

        def peer(name: str, start: Callable[[], Server], path: str, body: bytes) -> Contender:
            return Contender(name, start, Request(host + path), body, origin_form=True, ask=canonical)

        return Contender("subproxy", lambda: shop(setting, folder), Request(SHOP + path), rows(numbers), ask=canonical), [
            peer("datasette", lambda: datasette(setting, folder), of_datasette, rows(numbers)),
            peer("node", lambda: node(setting), path, rows(of_node, 100)),
        ]

    return contenders


def again(commits: bool):
    def contenders(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
        folder = database(setting)
        body = json.dumps(dict(zip(COLUMNS, product(1))), separators=(",", ":")).encode()
        if commits:
            committing = threading.Event()
            thread = threading.Thread(target=commit, args=(folder, committing))
            thread.start()
            stack.callback(thread.join)
            stack.callback(committing.set)
        text = f"substitutions:\n  {SHOP}products/1: {{ json: {json.dumps(json.loads(body))} }}\n"
        return Contender("subproxy", lambda: shop(setting, folder), Request(SHOP + "products/1"), body), [
            Contender("json rule", lambda: peers.subproxy(setting, text, name="json-rule"), Request(SHOP + "products/1"),
                      body)]

    return contenders


def commit(folder: str, end: threading.Event) -> None:
    """Another process's writes, as far as SQLite can tell: ten commits a second."""
    with contextlib.closing(sqlite3.connect(os.path.join(folder, "shop.db"), isolation_level=None)) as connection:
        while not end.wait(0.1):
            connection.execute("INSERT INTO orders(product, note, amount) VALUES(1, 'of another', 1)")


@dataclasses.dataclass
class Inserts(Case):
    """POST of one row a request, each its own transaction."""

    writes: str = "memory"

    def seconds(self, setting: Setting) -> float:
        return setting.rounds * (setting.seconds + 1) + 6

    def run(self, setting: Setting) -> Result:
        load = Series(method="POST", body='{"product":{n},"note":"a note","amount":9.5}')
        result = Result(self.name, self.title, load.words.replace("each URL once", "each body once"))
        try:
            with contextlib.ExitStack() as stack:
                folder = setting.subfolder("orders")
                with contextlib.closing(sqlite3.connect(os.path.join(folder, "shop.db"))) as made:
                    made.execute("PRAGMA journal_mode = WAL")
                    made.executescript(SCHEMA)
                request = Request(SHOP + "orders", (("Content-Type", "application/json"),))
                server = stack.enter_context(shop(setting, folder, f", writes: {self.writes}, limits: {{ memory: 4GiB }}"))
                ours = Contender("subproxy", lambda: server, request, b"")
                measured = [
                    measure(ours, server, request, load, setting, setting.seconds, setting.load_cores)
                    for _ in range(setting.rounds)]
                rate = statistics.median(m.sample.rate for m in measured)
                used = statistics.median(m.cpu_us for m in measured)
                if self.writes == "memory":
                    cpu, clock = limit(setting, ":memory:", "insert", 10_000 if setting.quick else 100_000)
                else:
                    cpu, clock = limit(setting, os.path.join(folder, "shop.db"), "insert", 200 if setting.quick else 2000)
            result.figures = [
                Figure("the loop in C", cpu, "µs of CPU"),
                Figure("subproxy", used, "µs of CPU", round(3 * cpu + 20, 1)),
                Figure("the loop in C", 1e6 / clock, "a second"), Figure("subproxy", rate, "a second"),
                Figure("the loop's time by ours", 1e6 / clock / rate, "×", round(1 / 0.7, 2))]
            result.verdicts = verdicts(result.figures)
        except Unusable as error:
            result.failures.append(str(error))
        return result


class Beside(Case):
    """How long another rule's hits take while clients scan all rows, against without."""

    def seconds(self, setting: Setting) -> float:
        return setting.rounds * 2 * (setting.seconds + 0.5) + 8

    def run(self, setting: Setting) -> Result:
        result = Result(self.name, self.title, Wrk(connections=8).words)
        hit, scan = Request("http://other.example.test/x"), Request(SHOP + "products?name:contains=zzz{u}")
        cores = setting.load_cores
        with contextlib.ExitStack() as stack:
            folder = database(setting)
            # Scans have the other cores for themselves, or the hits would wait for the processor and not for the loop.
            server = stack.enter_context(shop(
                setting, folder, rules="  http://other.example.test/x: { text: x }\n",
                cores=sorted(os.sched_getaffinity(0))))
            ratios = []
            for _ in range(setting.rounds):
                alone = Wrk(connections=8).run(server, hit, setting.seconds, cores)
                scans: list[Sample] = []
                scanning = threading.Thread(
                    target=lambda: scans.append(Series(connections=8).run(server, scan, setting.seconds + 1, cores)))
                scanning.start()
                time.sleep(0.5)
                during = Wrk(connections=8).run(server, hit, setting.seconds, cores)
                scanning.join()
                if not scans or scans[0].count == 0:
                    raise Unusable("nothing was scanned")
                ratios.append((alone.p99_us, during.p99_us, during.p99_us / alone.p99_us))
        result.figures = [
            Figure("p99 of a hit alone", statistics.median(a for a, _, _ in ratios), "µs"),
            Figure("p99 of a hit beside scans", statistics.median(b for _, b, _ in ratios), "µs"),
            Figure("beside by alone", statistics.median(c for _, _, c in ratios), "×", 2,
                   min(c for _, _, c in ratios), max(c for _, _, c in ratios))]
        result.verdicts = verdicts(result.figures)
        return result


PAGE = "<ul>{{#rows}}<li>{{id}} {{name}} {{brand}} {{price}}</li>\n{{/rows}}</ul>"


def page(rows: str) -> str:
    values = "[" + ", ".join(
        f"{{ id: {n}, name: Product {n}, brand: b{n}, price: {n}.5 }}" for n in range(100)) + "]"
    return (f"substitutions:\n  http://page.example.test/p:\n    template: {{ text: {json.dumps(rows)} }}\n"
            f"    values: {{ rows: {values} }}\n")


def kept_page(setting: Setting, stack: contextlib.ExitStack) -> tuple[Contender, list[Contender]]:
    body = "".join(["<ul>", *(f"<li>{n} Product {n} b{n} {n}.5</li>\n" for n in range(100)), "</ul>"]).encode()
    root = setting.subfolder("www")
    setting.write(root, "p.html", body)
    text = f"root: {root}\nsubstitutions:\n  http://page.example.test/p: p.html\n"
    request = Request("http://page.example.test/p")
    return Contender("subproxy", lambda: peers.subproxy(setting, page(PAGE)), request, body), [
        Contender("file", lambda: peers.subproxy(setting, text, name="file"), request, body)]


class Rendered(Case):
    """A page that each request has made anew, and what of it is not the request itself."""

    def seconds(self, setting: Setting) -> float:
        return setting.rounds * 2 * (setting.seconds + 0.5) + 3

    def run(self, setting: Setting) -> Result:
        load = Wrk(connections=8)
        result = Result(self.name, self.title, load.words)
        request = Request("http://page.example.test/p")
        with contextlib.ExitStack() as stack:
            kept = stack.enter_context(peers.subproxy(setting, page(PAGE)))
            made = stack.enter_context(peers.subproxy(setting, page(PAGE + "{{request.method}}"), name="made"))
            pairs = []
            for _ in range(setting.rounds):
                pair = []
                for server in (kept, made):
                    contender = Contender("subproxy", lambda: server, request, b"")
                    pair.append(measure(contender, server, request, load, setting, setting.seconds, setting.load_cores))
                pairs.append(pair)
        result.figures = [
            Figure("a page that is kept", statistics.median(a.cpu_us for a, _ in pairs), "µs of CPU"),
            Figure("a page made each time", statistics.median(b.cpu_us for _, b in pairs), "µs of CPU"),
            Figure("the rendering", statistics.median(b.cpu_us - a.cpu_us for a, b in pairs), "µs of CPU", 60)]
        result.verdicts = verdicts(result.figures)
        return result


class Unasked(Start):
    """A map that names databases of which none is asked for, against one that names none."""

    def run(self, setting: Setting) -> Result:
        root = setting.subfolder("www")
        setting.write(root, "f.png", content(4096))
        plain = peers.mapped(root)
        named = plain + "".join(
            f"  http://api{n}.example.test/: {{ sqlite: shop{n}.db, seed: [schema.sql] }}\n" for n in range(10))
        setting.write(root, "schema.sql", SCHEMA)
        times, sizes = [], []
        for _ in range(self.runs(setting)):
            pair = []
            for name, text in (("a.yaml", plain), ("b.yaml", named)):
                path = setting.write(root, name, text)
                pair.append(self.once(setting, path)[0])
            times.append(pair[1] - pair[0])
        for text in (plain, named):
            with peers.subproxy(setting, text) as server:
                ask(server.port, peers.RETAINED)
                sizes.append(rss(server.pid))
        figures = [
            Figure("start with ten databases named", statistics.median(times), "ms more", 0.5, min(times), max(times)),
            Figure("memory with ten databases named", (sizes[1] - sizes[0]) / 1024, "MiB more", 0.5)]
        return Result(self.name, self.title, f"{len(times)} pairs of starts", figures=figures, verdicts=verdicts(figures))


def series(count: int = ROWS, of_node: int = 10_000) -> Callable[[Setting], Series]:
    return lambda setting: Series(count=count, counts={"node": of_node})


def ratios(datasette_bound: float, node_bound: float) -> list[Goal]:
    return [Goal("datasette", "rate", datasette_bound), Goal("node", "rate", node_bound)]


CASES = [
    Rows("database-row", "A row by its key, of a million; each URL once", series(),
         beside("products/{n}", "shop/products/{n}.json?_shape=objects", range(1, 2), range(1, 2)),
         ratios(60, 10), peers=2, kind="row"),
    Rows("database-range", "100 rows by their keys; each URL once", series(ROWS - 100, 9_900),
         beside("products?id_gte={n}&id_lt={n+100}",
                "shop/products.json?_shape=array&id__gte={n}&id__lt={n+100}&_size=200", range(1, 101), range(1, 101)),
         ratios(30, 2), peers=2, kind="range", factor=1.5),
    Rows("database-index", "100 rows by an index; each URL once", series(BRANDS, 100),
         beside("products?brand=b{n}&_={u}", "shop/products.json?_shape=array&brand=b{n}&_size=200",
                range(BRANDS, ROWS + 1, BRANDS), range(100, 10_001, 100)),
         ratios(30, 2), peers=2, kind="index", factor=1.5),
    Comparison("database-again", "The same row again", wrk(connections=8), again(commits=False),
               [Goal("json rule", "rate", 0.95)]),
    Comparison("database-commits", "The same row again, while another commits ten times a second", wrk(connections=8),
               again(commits=True), [Goal("json rule", "rate", 0.8)]),
    Inserts("insert-memory", "A row inserted in memory, one a transaction", "memory"),
    Inserts("insert-file", "A row inserted in a file in WAL mode, one a transaction", "file"),
    Beside("database-scans", "Another rule's hits while 8 clients scan a million rows"),
    Comparison("template-kept", "A page of a template that uses nothing of the request", wrk(connections=8), kept_page,
               [Goal("file", "rate", 0.95)]),
    Rendered("template", "A template of 100 rows of 4 values, rendered for each request"),
    Unasked("database-unasked", "A map that names databases of which none is asked for"),
]
