#!/usr/bin/env python3
"""Loads a page in headless Chromium through a proxy, then reloads it past all caches, and prints as JSON what it saw.

usage: chromium.py --chromium PATH --proxy 127.0.0.1:PORT --profile FOLDER --page URL --screenshots FOLDER

The DevTools protocol is spoken over --remote-debugging-pipe: JSON messages that end with a zero byte, in by descriptor 3,
out by descriptor 4. For each of the two loads the output has what the page's expression gives, and of each response its
status, its Cache-Status and whether it came from Chromium's own cache. Standard library only.
"""
import argparse
import base64
import json
import os
import select
import subprocess
import time

EXPRESSION = """
(async () => {
  await document.fonts.ready;
  const image = document.getElementById('image');
  return JSON.stringify({
    script: document.getElementById('script').textContent,
    image: [image.naturalWidth, image.naturalHeight],
    fontIsLoaded: document.fonts.check('20px Wide'),
    textWidth: document.getElementById('text').getBoundingClientRect().width,
  });
})()
"""


class Browser:
    def __init__(self, command):
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()

        def descriptors():
            # Moved out of the way first: the numbers 3 and 4 may be among the four.
            a, b = os.dup2(to_read, 100), os.dup2(from_write, 101)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            command, preexec_fn=descriptors, pass_fds=(3, 4, to_read, from_write),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.out, self.into = to_write, from_read
        self.buffer = b''
        self.number = 0
        self.events = []

    def message(self, deadline):
        while b'\0' not in self.buffer:
            ready, _, _ = select.select([self.into], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError('Chromium is silent')
            chunk = os.read(self.into, 1 << 16)
            if not chunk:
                raise EOFError('Chromium has ended')
            self.buffer += chunk
        text, _, self.buffer = self.buffer.partition(b'\0')
        return json.loads(text)

    @classmethod
    def start(cls, chromium, proxy, profile):
        return cls([
            chromium, '--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-dev-shm-usage',
            '--disable-background-networking', '--disable-component-update', '--disable-default-apps', '--disable-sync',
            '--disable-extensions', '--allow-pre-commit-input',
            '--remote-debugging-pipe', '--window-size=800,400', '--user-data-dir=' + profile,
            '--proxy-server=http://' + proxy, '--proxy-bypass-list=<-loopback>', 'about:blank',
        ])

    def attach(self):
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        self.call('Page.enable', session)
        return session

    def post(self, number, method, session=None, **parameters):
        request = {'id': number, 'method': method, 'params': parameters}
        if session:
            request['sessionId'] = session
        os.write(self.out, json.dumps(request).encode() + b'\0')

    def call(self, method, session=None, seconds=300, **parameters):
        self.number += 1
        self.post(self.number, method, session, **parameters)
        deadline = time.monotonic() + seconds
        while True:
            message = self.message(deadline)
            if message.get('id') == self.number:
                if 'error' in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message['result']
            self.events.append(message)

    def wait(self, event, seconds=300):
        deadline = time.monotonic() + seconds
        while not any(e.get('method') == event for e in self.events):
            self.events.append(self.message(deadline))

    def responses(self):
        seen = {}
        for event in self.events:
            if event.get('method') != 'Network.responseReceived':
                continue
            response = event['params']['response']
            fields = {name.lower(): value for name, value in response['headers'].items()}
            seen[response['url'].rsplit('/', 1)[1]] = {
                'status': response['status'],
                'cacheStatus': fields.get('cache-status', ''),
                'httpVersion': response.get('protocol', ''),
                'isCached': response.get('fromDiskCache', False) or response.get('fromPrefetchCache', False),
            }
        return seen

    def end(self):
        try:
            self.call('Browser.close', seconds=5)
        except (OSError, EOFError, TimeoutError, RuntimeError):
            pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def main():
    parser = argparse.ArgumentParser()
    for name in ('chromium', 'proxy', 'profile', 'page', 'screenshots'):
        parser.add_argument('--' + name, required=True)
    options = parser.parse_args()
    browser = Browser.start(options.chromium, options.proxy, options.profile)
    try:
        session = browser.attach()
        browser.call('Network.enable', session)
        result = {}
        for name, load in (
            ('visit', ('Page.navigate', {'url': options.page})),
            ('reload', ('Page.reload', {})),
            ('hardReload', ('Page.reload', {'ignoreCache': True})),
        ):
            browser.events = []
            browser.call(load[0], session, **load[1])
            browser.wait('Page.loadEventFired')
            value = browser.call('Runtime.evaluate', session, expression=EXPRESSION, awaitPromise=True)
            result[name] = json.loads(value['result']['value'])
            result[name]['responses'] = browser.responses()
            shot = browser.call('Page.captureScreenshot', session, format='png')['data']
            with open(os.path.join(options.screenshots, name + '.png'), 'wb') as file:
                file.write(base64.b64decode(shot))
        print(json.dumps(result))
    finally:
        browser.end()


if __name__ == '__main__':
    main()
