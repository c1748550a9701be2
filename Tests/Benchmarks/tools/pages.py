"""Loads a page in one Chromium again and again, through a proxy or by routeFromHAR: run by Playwright's Python.

Standard input has a line of JSON: `chromium`, the program; `url`, the page's; `arguments`, further ones of Chromium.
Each line behind it is how the page comes, `{"proxy": "HOST:PORT"}` or `{"har": FILE}`, which is answered with
`"ready"`. The next line begins the load, which is answered with `seconds`, from the call to the load event, and what
the page has: `images` that show something, `styles` and `scripts`.
"""

import json
import sys
import time

from playwright.sync_api import Browser, sync_playwright

LOOK = """() => ({
  images: [...document.images].filter(image => image.complete && image.naturalWidth > 0).length,
  styles: document.styleSheets.length, scripts: window.scripts || 0 })"""


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


def load(browser: Browser, url: str, way: dict[str, str]) -> None:
    # Each load has a context of its own: without a cache, and without connections.
    proxy = {"server": "http://" + way["proxy"]} if "proxy" in way else None
    context = browser.new_context(proxy=proxy, ignore_https_errors=True)
    try:
        if "har" in way:
            context.route_from_har(way["har"], not_found="abort")
        page = context.new_page()
        say("ready")
        sys.stdin.readline()
        begin = time.monotonic()
        page.goto(url, wait_until="load", timeout=120_000)
        seconds = time.monotonic() - begin
        say({"seconds": seconds, **page.evaluate(LOOK)})
    finally:
        context.close()


def main() -> None:
    task = json.loads(sys.stdin.readline())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=task["chromium"], args=task["arguments"])
        while line := sys.stdin.readline():
            load(browser, task["url"], json.loads(line))
        browser.close()


main()
