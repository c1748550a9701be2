#!/usr/bin/env python3
"""A shop, and the test of it that a team would have: Playwright, and what web apps do.

usage: shoptest.py serve         serves the shop on a free port of 127.0.0.1, which is the first line of output
       shoptest.py test URL      tests the shop at URL in Chromium (CHROMIUM names it) by the proxy of http_proxy

The page loads a style sheet, scripts, and more pictures at once than a browser has connections for, and posts meanwhile; each takes
another time. It logs in with a form (a redirect and a cookie), asks for a list with a cache
buster, polls until an order that it has posted is done, and speaks GraphQL and WebSocket. SEED makes the cache busters.
The test fails where anything is not as it should be, but for the WebSocket, whose word is printed.
"""
import base64
import hashlib
import http.server
import json
import os
import random
import sys
import threading
import time
import urllib.parse

PAGE = """<!doctype html><title>Shop</title><link rel=stylesheet href=style.css><script src=one.js></script>
<script src=two.js></script><script>
for (const path of ['/seen', '/log']) fetch(path, { method: 'POST', body: 'shop' });
</script><body>%s<script>
const buster = () => 1700000000000 + SEED * 1000 + (window.count = (window.count || 0) + 1);
async function json(url, options) { return (await fetch(url, options)).json(); }
async function graph(operationName, variables) {
  const query = `query ${operationName} { product }`;
  return json('/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json' },
                            body: JSON.stringify({ query, operationName, variables }) });
}
async function order() {
  const before = await json('/orders/1?_=' + buster());
  await json('/orders', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"product":2}' });
  const states = [before.state];
  do states.push((await json('/orders/1?_=' + buster())).state); while (states.at(-1) !== 'done');
  return states;
}
function word() {
  return new Promise(done => {
    const socket = new WebSocket('ws://' + location.host + '/socket');
    socket.onmessage = event => done(event.data);
    socket.onerror = () => done('no socket');
  });
}
</script>"""
# Milliseconds: no wait ends since the machine is busy.
PATIENCE = 600_000


class Shop(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lock = threading.Lock()
    orders = 0
    polls = 0

    def log_message(self, *arguments):
        pass

    def send(self, body, kind="application/json", status=200, fields=()):
        body = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        if path == "/":
            images = "".join(f"<img src=picture{number}.svg>" for number in range(24))
            self.send(PAGE % images, "text/html")
        elif path == "/login":
            self.send("<form method=post><input name=user><input name=password type=password><button>Go</button></form>",
                      "text/html")
        elif path == "/items":
            self.send(json.dumps([{"id": 1, "name": "Hammer"}, {"id": 2, "name": "Axe"}]))
        elif path == "/orders/1":
            with self.lock:
                shop = type(self)
                shop.polls += shop.orders > 0
                state = "none" if not shop.orders else "done" if shop.polls > 2 else "packing"
            self.send(json.dumps({"state": state}))
        elif path == "/socket":
            self.socket()
        elif path == "/reset":
            with self.lock:
                type(self).orders = type(self).polls = 0
            self.send("{}")
        elif path.endswith(".svg"):
            time.sleep(random.random() / 20)
            self.send("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>", "image/svg+xml")
        elif path.endswith(".css"):
            self.send("body { margin: 1px }", "text/css")
        elif path.endswith(".js"):
            self.send(f"window.{path[1:-3]} = true", "text/javascript")
        else:
            self.send("none", "text/plain", 404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/login":
            form = urllib.parse.parse_qs(body.decode())
            assert form["password"] == ["hunter2"], form
            self.send("", "text/plain", 303, [("Location", "/"), ("Set-Cookie", "sid=t0psecret; Path=/; HttpOnly")])
        elif self.path in ("/seen", "/log"):
            time.sleep(random.random() / 20)
            self.send(f'"{self.path}"')
        elif self.path == "/orders":
            with self.lock:
                type(self).orders += 1
            self.send('{"id":1}', status=201)
        else:
            asked = json.loads(body)
            self.send(json.dumps({"data": {"operation": asked["operationName"], "product": asked["variables"]["id"]}}))

    def socket(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.wfile.write(b"\x81\x05hello")
        self.close_connection = True


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    print(server.server_port, flush=True)
    server.serve_forever()


def test(url):
    from playwright.sync_api import sync_playwright

    seed = os.environ.get("SEED", "0")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ["CHROMIUM"], args=["--no-sandbox", "--disable-gpu"],
            proxy={"server": os.environ["http_proxy"], "bypass": "<-loopback>"}, timeout=PATIENCE)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.add_init_script(f"window.SEED = {seed}")
        page.goto(url + "/login")
        page.fill("[name=user]", "ann")
        page.fill("[name=password]", "hunter2")
        page.click("button")
        page.wait_for_load_state("networkidle")
        assert page.title() == "Shop", page.title()
        assert page.evaluate("one && two")
        assert page.evaluate("[...document.images].every(image => image.naturalWidth === 9)")
        items = page.evaluate("json('/items?utm_source=mail&_=' + buster())")
        assert [item["name"] for item in items] == ["Hammer", "Axe"], items
        states = page.evaluate("order()")
        assert states == ["none", "packing", "packing", "done"], states
        for operation, number in (("First", 1), ("Second", 2), ("First", 3)):
            answer = page.evaluate(f"graph('{operation}', {{ id: {number} }})")
            assert answer == {"data": {"operation": operation, "product": number}}, answer
        print(page.evaluate("word()"))
        browser.close()


serve() if sys.argv[1] == "serve" else test(sys.argv[2])
