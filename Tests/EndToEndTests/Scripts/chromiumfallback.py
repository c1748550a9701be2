#!/usr/bin/env python3
"""Uses the page of config/shop in headless Chromium while its origin goes away, comes back and fails, and prints as JSON what the
page showed.

usage: chromiumfallback.py --chromium PATH --proxy 127.0.0.1:PORT --profile FOLDER

The origin is this program's own, on a free port of 127.0.0.1. It has two products of its own. The output has, for each step, what
chromiumshop.py says, and as 'origin' the names of the products that the origin has at the end. Standard library only.
"""
import argparse
import http.server
import json
import socket
import threading
import urllib.parse

import chromiumshop
from chromium import Browser

# Each step: its name, what becomes of the origin before, what a person does, and what the page shows when it is done.
STEPS = (
    ('from origin', None, '', "page.textContent.endsWith(', 2 products')"),
    ('added there', None, "fill({ name: 'Vise', brand: 'origin', price: 50, stock: 1 })", "message.textContent == 'saved'"),
    ('gone', 'end', "choose(sort, 'name')", "page.textContent.endsWith(', 12 products')"),
    ('added here', None, "fill({ name: 'Adze', brand: 'acme', price: 30, stock: 3 })", "message.textContent == 'saved'"),
    ('edit', None, "press('Adze', 'Edit')", "form.elements.price.value == '30'"),
    ('edited here', None, "fill({ price: 31 })", "message.textContent == 'saved'"),
    ('deleted here', None, "press('Chisel', 'Delete')", "message.textContent == 'deleted'"),
    ('back', 'begin', "choose(sort, 'name')", "page.textContent.endsWith(', 3 products')"),
    ('deleted there', None, "press('Vise', 'Delete')", "message.textContent == 'deleted'"),
    ('failing', 'fail', "choose(sort, 'name')", "page.textContent.endsWith(', 12 products')"),
    ('well', 'mend', "choose(sort, 'name')", "page.textContent.endsWith(', 2 products')"),
)


class Shop(http.server.BaseHTTPRequestHandler):
    """The part of the shop's interface that the page uses."""
    protocol_version = 'HTTP/1.1'
    lock = threading.Lock()
    failing = False
    connections = []
    rows = [{'id': number, 'name': name, 'brand': 'origin', 'price': 1, 'stock': 1}
            for number, name in ((1, 'Anvil'), (2, 'Bellows'))]

    def log_message(self, *arguments):
        pass

    def setup(self):
        super().setup()
        with self.lock:
            self.connections.append(self.connection)

    def answer(self, status, value, **fields):
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {'Content-Type': 'application/json', 'Content-Length': str(len(body)), **fields}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        url = urllib.parse.urlsplit(self.path)
        key = url.path.removeprefix('/api/products').strip('/')
        with self.lock:
            rows = type(self).rows
            row = next((row for row in rows if str(row['id']) == key), None)
            if self.failing:
                self.answer(503, {'detail': 'the origin fails'})
            elif key and not row:
                self.answer(404, {'detail': 'no such product'})
            elif self.command == 'POST':
                rows.append({'id': max(row['id'] for row in rows) + 1, **json.loads(body)})
                self.answer(201, rows[-1])
            elif self.command == 'PATCH':
                row.update(json.loads(body))
                self.answer(200, row)
            elif self.command == 'DELETE':
                rows.remove(row)
                self.answer(200, row)
            elif key:
                self.answer(200, row, ETag='"1"')
            elif '_page' in urllib.parse.parse_qs(url.query):
                self.answer(200, {'first': 1, 'prev': None, 'next': None, 'last': 1, 'pages': 1, 'items': len(rows), 'data': rows})
            else:
                self.answer(200, rows)

    do_GET = do_POST = do_PATCH = do_DELETE = handle_request


class Origin:
    """The server of the shop, which can end, connections and all, and begin again on the same port."""

    def __init__(self):
        self.port = 0
        self.begin()

    def begin(self):
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', self.port), Shop)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()
        with Shop.lock:
            for connection in Shop.connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            Shop.connections.clear()

    def fail(self):
        Shop.failing = True

    def mend(self):
        Shop.failing = False


def main():
    parser = argparse.ArgumentParser()
    for name in ('chromium', 'proxy', 'profile'):
        parser.add_argument('--' + name, required=True)
    options = parser.parse_args()
    origin = Origin()
    browser = Browser.start(options.chromium, options.proxy, options.profile)
    try:
        session = browser.attach()
        chromiumshop.load(browser, session, f'http://127.0.0.1:{origin.port}/')
        result = {}
        for name, change, action, condition in STEPS:
            if change:
                getattr(origin, change)()
            chromiumshop.evaluate(browser, session, action)
            chromiumshop.wait(browser, session, condition, name)
            result[name] = json.loads(chromiumshop.evaluate(browser, session, f'return {chromiumshop.SHOWN};'))
        print(json.dumps({'shown': result, 'origin': [row['name'] for row in Shop.rows]}))
    finally:
        browser.end()


if __name__ == '__main__':
    main()
