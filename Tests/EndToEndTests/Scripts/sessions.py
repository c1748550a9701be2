#!/usr/bin/env python3
"""Restores sessions in a headless browser through a proxy, as a user would, and prints as JSON what became of them.

usage: sessions.py --browser chromium|firefox --program PATH --proxy 127.0.0.1:PORT --profile FOLDER --screenshots FOLDER
       --scenario restore|fragment|button|unclicked|fifty|pages|hostile [--session JSON] [--other URL]

Chromium's own Back is Alt and the left arrow; in Firefox the pages go back by themselves, and one scenario presses its
button. Standard library only.
"""
import argparse
import base64
import json
import os
import time
import urllib.parse

from chromium import Browser
from firefox import Firefox


class Chromium:
    def __init__(self, options):
        self.browser = Browser([
            options.program, '--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run',
            '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update',
            '--disable-default-apps', '--disable-sync', '--disable-extensions',
            '--allow-pre-commit-input', '--remote-debugging-pipe',
            '--window-size=900,700', '--user-data-dir=' + options.profile, '--ignore-certificate-errors',
            '--proxy-server=http://' + options.proxy, '--proxy-bypass-list=<-loopback>', 'about:blank',
        ])
        self.session = self.browser.attach()
        self.browser.call('Runtime.enable', self.session)
        self.browser.call('Log.enable', self.session)

    def navigate(self, url):
        self.browser.call('Page.navigate', self.session, url=url)

    def evaluate(self, expression):
        deadline = time.monotonic() + 20
        while True:
            try:
                answer = self.browser.call(
                    'Runtime.evaluate', self.session, expression=expression, awaitPromise=True, returnByValue=True)
                return answer['result'].get('value')
            except RuntimeError:
                # The page went meanwhile.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def url(self):
        # At once: the history may change between two questions.
        index, urls = self.entries()
        return urls[index]

    def entries(self):
        deadline = time.monotonic() + 20
        while True:
            try:
                history = self.browser.call('Page.getNavigationHistory', self.session)
                break
            except RuntimeError:
                # Between two pages there is none.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        return history['currentIndex'], [entry['url'] for entry in history['entries']]

    def click(self, selector):
        wait(lambda: self.evaluate(f'document.querySelector({json.dumps(selector)}) !== null'))
        x, y = self.evaluate(
            f'(r => [r.x + r.width / 2, r.y + r.height / 2])'
            f'(document.querySelector({json.dumps(selector)}).getBoundingClientRect())')
        for kind in ('mousePressed', 'mouseReleased'):
            self.browser.call(
                'Input.dispatchMouseEvent', self.session, type=kind, x=x, y=y, button='left', clickCount=1)

    def drawn(self):
        """Waits until the page is drawn: before that a browser drops what is typed."""
        self.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))')

    def key(self, key, code, modifiers=0):
        for kind in ('rawKeyDown', 'keyUp'):
            self.browser.call(
                'Input.dispatchKeyEvent', self.session, type=kind, modifiers=modifiers, key=key, code=key,
                windowsVirtualKeyCode=code, nativeVirtualKeyCode=code)

    def enter(self):
        for kind, text in (('keyDown', '\r'), ('keyUp', '')):
            self.browser.call(
                'Input.dispatchKeyEvent', self.session, type=kind, key='Enter', code='Enter', text=text,
                windowsVirtualKeyCode=13, nativeVirtualKeyCode=13)

    def back(self):
        self.drawn()
        self.key('ArrowLeft', 37, modifiers=1)

    def forward(self):
        self.drawn()
        self.key('ArrowRight', 39, modifiers=1)

    def reload(self):
        self.browser.call('Page.reload', self.session)

    def appearance(self, width, scheme):
        self.browser.call(
            'Emulation.setDeviceMetricsOverride', self.session, width=width, height=640, deviceScaleFactor=1,
            mobile=False)
        self.browser.call(
            'Emulation.setEmulatedMedia', self.session, features=[{'name': 'prefers-color-scheme', 'value': scheme}])

    def screenshot(self, path):
        shot = self.browser.call('Page.captureScreenshot', self.session, format='png')['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(shot))

    def complaints(self):
        """What the browser has to say of the pages, in its console."""
        kinds = ('Log.entryAdded', 'Runtime.exceptionThrown', 'Runtime.consoleAPICalled')
        return [json.dumps(event['params'])[:300] for event in self.browser.events if event.get('method') in kinds]

    def end(self):
        self.browser.end()


class FirefoxBrowser(Firefox):
    def __init__(self, options):
        super().__init__(options.program, options.proxy, options.profile)

    def url(self):
        return self.chrome('return gBrowser.currentURI.spec')

    def entries(self):
        return self.chrome(
            'const list = gBrowser.selectedBrowser.browsingContext.sessionHistory; const urls = [];'
            'for (let i = 0; i < list.count; i++) urls.push(list.getEntryAtIndex(i).URI.spec);'
            'return [list.index, urls]')

    def back(self):
        self.evaluate('void setTimeout(() => history.back())')

    def forward(self):
        self.evaluate('void setTimeout(() => history.forward())')

    def button(self):
        """What the Back button does, by whichever of its rules."""
        self.chrome('document.getElementById("Browser:Back").doCommand()')

    def reload(self):
        self.call('WebDriver:Refresh')


def wait(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def restored(browser, proxy):
    """Waits until the page that is shown is none of the proxy's own any more; how long that took, in seconds."""
    start = time.monotonic()
    if not wait(lambda: f'//{proxy}/' not in browser.url() and browser.url() != 'about:blank'):
        raise TimeoutError(f'{browser.url()} is still shown')
    return time.monotonic() - start


def ready(browser):
    if not wait(lambda: browser.evaluate("document.getElementById('restore')?.disabled === false")):
        raise TimeoutError('the button is not ready')


def step(browser, name):
    """Goes a step, and says where that led: to wherever the browser is when it is not where it was."""
    before = browser.entries()[0]
    getattr(browser, name)()
    if not wait(lambda: browser.entries()[0] != before):
        raise TimeoutError(f'{name} led nowhere from {browser.url()}')
    last = None
    # The entry's own URL is the redirect's or the page's until the target is there; a page of another site begins as an
    # empty one in another process.
    def still():
        nonlocal last
        here, before = browser.url(), last
        last = here
        return here == before and '/session' not in here and here != 'about:blank'
    wait(still)
    return browser.url()


def button(browser, options):
    """After the click: where Firefox's Back button leads."""
    browser.navigate('http://before.test/')
    # The empty page that Firefox starts with may have become one of its history: the button goes by this one then, unless
    # somebody has done something in it.
    browser.click('body')
    browser.navigate(f'http://{options.proxy}/sessions/shop')
    ready(browser)
    browser.click('#restore')
    restored(browser, options.proxy)
    return {'pressed': [step(browser, 'button') for _ in range(2)],
            'isStrict': browser.chrome("return Services.prefs.getBoolPref('browser.navigation.requireUserInteraction')")}


def restore(browser, options):
    browser.navigate('http://before.test/')
    wait(lambda: browser.url() == 'http://before.test/')
    base = f'http://{options.proxy}'
    if options.scenario == 'fragment':
        browser.navigate(f'{base}/session/restore#session={urllib.parse.quote(options.session)}')
    else:
        browser.navigate(f'{base}/sessions/shop')
    ready(browser)
    browser.screenshot(os.path.join(options.screenshots, f'{options.browser}-{options.scenario}.png'))
    browser.click('#restore')
    restored(browser, options.proxy)
    result = {'shown': browser.url(), 'count': len(browser.entries()[1])}
    result['back'] = [step(browser, 'back') for _ in range(3)]
    result['forward'] = [step(browser, 'forward') for _ in range(5)]
    browser.reload()
    wait(lambda: browser.evaluate('document.readyState') == 'complete')
    result['reloaded'] = browser.url()
    result['entries'] = browser.entries()[1][-5:]
    return result


def unclicked(browser, options):
    """Without a click: what the Back button does, and history.back()."""
    browser.navigate('http://before.test/')
    wait(lambda: browser.url() == 'http://before.test/')
    browser.navigate(f'http://{options.proxy}/sessions/shop?restore=now')
    # As if it had been typed: the page before has not led there.
    wait(lambda: browser.url() != 'http://before.test/')
    restored(browser, options.proxy)
    result = {'shown': browser.url()}
    browser.evaluate('void setTimeout(() => history.back())')
    wait(lambda: browser.url() == 'http://b.test/two')
    result['script'] = browser.url()
    result['button'] = step(browser, 'back')
    return result


def fifty(browser, options):
    browser.navigate(f'http://{options.proxy}/sessions/fifty')
    ready(browser)
    browser.click('#restore')
    seconds = restored(browser, options.proxy)
    index, urls = browser.entries()
    return {'seconds': seconds, 'index': index, 'count': len(urls), 'shown': browser.url(),
            'back': [step(browser, 'back') for _ in range(2)]}


def pages(browser, options):
    """What the pages look like, by keyboard, narrow, light and dark."""
    base = f'http://{options.proxy}'
    result = {'widths': [], 'focus': '', 'backgrounds': []}
    for width, scheme in ((900, 'light'), (360, 'dark'), (360, 'light')):
        browser.appearance(width, scheme)
        for name, place in (
            ('saved', '/sessions/shop'), ('offered', '/session/restore#session=' + urllib.parse.quote(options.session)),
            ('nothing', '/session/restore'),
        ):
            browser.navigate('about:blank')
            wait(lambda: browser.url() == 'about:blank')
            browser.navigate(base + place)
            wait(lambda: browser.evaluate("document.readyState === 'complete' && document.styleSheets.length === 1"))
            result['widths'].append([width, browser.evaluate('document.documentElement.scrollWidth')])
            browser.screenshot(os.path.join(options.screenshots, f'session-{name}-{width}-{scheme}.png'))
        result['backgrounds'].append(browser.evaluate('getComputedStyle(document.body).backgroundColor'))
    browser.navigate(base + '/sessions/shop')
    ready(browser)
    browser.key('Tab', 9)
    result['focus'] = browser.evaluate('document.activeElement.id')
    browser.enter()
    restored(browser, options.proxy)
    result['shown'] = browser.url()
    result['complaints'] = browser.complaints()
    return result


def hostile(browser, options):
    """What addresses and another site's page make of the restoring pages: nothing without a click, nothing at all else."""
    base = f'http://{options.proxy}'
    result = {'offers': []}
    offers = json.loads(options.session)
    for offer in offers:
        browser.navigate('about:blank')
        wait(lambda: browser.url() == 'about:blank')
        browser.navigate(base + offer)
        wait(lambda: browser.evaluate("location.href !== 'about:blank' && document.readyState === 'complete'"))
        time.sleep(0.2)
        result['offers'].append([
            browser.url().split('/')[2], browser.evaluate("document.getElementById('restore')?.disabled"),
            browser.evaluate("document.querySelectorAll('#entries a').length")])
    browser.navigate(options.other)
    wait(lambda: browser.evaluate("document.title") == 'done')
    result['other'] = browser.evaluate('JSON.stringify(window.outcome)')
    # A link of that site's: the page comes, and asks.
    browser.click('#link')
    wait(lambda: '/sessions/shop' in browser.url())
    ready(browser)
    time.sleep(0.2)
    result['led'] = browser.url().split('/', 3)[3]
    return result


def main():
    parser = argparse.ArgumentParser()
    for name in ('browser', 'program', 'proxy', 'profile', 'screenshots', 'scenario'):
        parser.add_argument('--' + name, required=True)
    parser.add_argument('--session', default='')
    parser.add_argument('--other', default='')
    options = parser.parse_args()
    browser = {'chromium': Chromium, 'firefox': FirefoxBrowser}[options.browser](options)
    scenarios = {
        'restore': restore, 'fragment': restore, 'button': button, 'unclicked': unclicked, 'fifty': fifty, 'pages': pages,
        'hostile': hostile}
    try:
        print(json.dumps(scenarios[options.scenario](browser, options)))
    finally:
        browser.end()


if __name__ == '__main__':
    main()
