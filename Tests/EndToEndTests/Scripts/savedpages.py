#!/usr/bin/env python3
"""Opens pages in Chromium by Playwright, and prints as JSON what a person would see of them.

Standard input has an object: `chromium`, the program; `views`, a list of objects with `name`, `url` and how the page
comes: `hosts` (names that are this machine's), `proxy` (HOST:PORT), `har` (a file for routeFromHAR, and nothing else).
`scroll`, a text, goes to the page's end first, until the text is there, and back. `pictures` is a folder for screenshots.

The output has for each name: `text`, of the document and of its frames; `picture`, the SHA-256 of a screenshot;
`images`, how many there are and how many of them show something; `failed`, URLs that were not answered.
"""
import hashlib
import json
import os
import sys

from playwright.sync_api import sync_playwright

# Milliseconds: no wait ends since the machine is busy, and each ends before whoever started this gives up.
PATIENCE = 250_000
IMAGES = """() => {
  const images = [...document.images], roots = [...document.querySelectorAll('*')].map(e => e.shadowRoot);
  for (const root of roots) if (root) images.push(...root.querySelectorAll('img'));
  return [images.length, images.filter(image => image.complete && image.naturalWidth > 0).length];
}"""
END = """async text => {
  for (let step = 0; step < 1000; step++) {
    scrollBy(0, innerHeight);
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 100))));
    if (document.body.innerText.includes(text) && scrollY + innerHeight >= document.documentElement.scrollHeight - 1) break;
  }
  await Promise.all([...document.images].filter(i => i.src && !i.complete).map(
    i => new Promise(done => { i.onload = i.onerror = done })));
  scrollTo(0, 0);
}"""


def settle(page, url):
    """Waits until nothing has been asked for in half a second.

    A file asks for nothing, and for an .mhtml file Playwright's "networkidle" sometimes never comes.
    """
    if url.startswith("file:"):
        page.wait_for_timeout(500)
    else:
        page.wait_for_load_state("networkidle")


def look(playwright, chromium, view, pictures):
    arguments = ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"]
    if view.get("hosts"):
        arguments.append("--host-resolver-rules=" + ",".join(f"MAP {host} 127.0.0.1" for host in view["hosts"]))
    proxy = {"server": "http://" + view["proxy"], "bypass": "<-loopback>"} if view.get("proxy") else None
    browser = playwright.chromium.launch(executable_path=chromium, args=arguments, proxy=proxy, timeout=PATIENCE)
    try:
        context = browser.new_context(viewport={"width": 1280, "height": 800}, ignore_https_errors=True)
        if view.get("har"):
            context.route_from_har(view["har"], not_found="abort")
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        failed = []
        page.on("requestfailed", lambda request: failed.append(request.url))
        page.goto(view["url"], wait_until="load")
        settle(page, view["url"])
        if view.get("scroll"):
            page.evaluate(END, view["scroll"])
            settle(page, view["url"])
        text = [frame.evaluate("document.body ? document.body.innerText : ''") for frame in page.frames]
        # Fields are grey in .mhtml files, and what is typed as a password is not saved.
        picture = page.screenshot(
            path=os.path.join(pictures, view["name"] + ".png"), style="input, textarea, select { visibility: hidden }")
        return {
            "text": sorted(text),
            "picture": hashlib.sha256(picture).hexdigest(),
            "images": page.evaluate(IMAGES),
            "failed": [url for url in failed if not url.endswith("/favicon.ico")],
        }
    finally:
        browser.close()


def main():
    task = json.load(sys.stdin)
    with sync_playwright() as playwright:
        seen = {view["name"]: look(playwright, task["chromium"], view, task["pictures"]) for view in task["views"]}
    json.dump(seen, sys.stdout)


main()
