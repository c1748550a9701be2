#!/usr/bin/env python3
"""Loads a page with frames, images and fetches in headless Chromium through a proxy, and leaves a site by a link.

usage: navigations.py --chromium PATH --proxy 127.0.0.1:PORT --profile FOLDER --screenshots FOLDER
       --kinds URL --kinds URL … [--leaving URL --outside URL]

For each URL of --kinds, whose page names what it has got in `outcome`, the output has that, what a load of `thing`
beside it in the top frame gets, and its version of HTTP. --leaving is a page with a link to --outside.
Standard library only.
"""
import argparse
import json
import os
import types

from sessions import Chromium, wait


def kinds(browser, url):
    browser.navigate(url)
    if not wait(lambda: browser.evaluate('window.outcome?.isWhole') is True):
        raise TimeoutError('the page is not whole: %s' % browser.evaluate('JSON.stringify(window.outcome)'))
    result = browser.evaluate('window.outcome')
    result['version'] = browser.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol")
    thing = url.rsplit('/', 1)[0] + '/thing'
    browser.navigate(thing)
    wait(lambda: browser.url() == thing and browser.evaluate("document.readyState === 'complete'"))
    result['top'] = browser.evaluate('document.body.innerText')
    return result


def leave(browser, options):
    browser.navigate(options.leaving)
    wait(lambda: browser.evaluate("document.getElementById('out') !== null"))
    # What is no document goes on to the other site.
    result = {'fetched': browser.evaluate(
        f"fetch({json.dumps(options.outside)}, {{mode: 'no-cors'}}).then(answer => answer.type)")}
    browser.click('#out')
    wait(lambda: browser.evaluate("document.getElementById('on') !== null"))
    result['asked'] = browser.url()
    browser.screenshot(os.path.join(options.screenshots, 'leaving.png'))
    browser.click('#on')
    wait(lambda: browser.url() == options.outside)
    result['outside'] = browser.url()
    browser.click('#inside')
    wait(lambda: browser.url().endswith('/inside'))
    result['inside'] = browser.url()
    vetoed = options.leaving.rsplit('/', 1)[0] + '/vetoed'
    browser.navigate(vetoed)
    wait(lambda: browser.url() == vetoed and browser.evaluate("document.readyState === 'complete'"))
    result['vetoed'] = browser.evaluate('document.body.innerText')
    browser.screenshot(os.path.join(options.screenshots, 'vetoed.png'))
    browser.evaluate('window.isOld = true')
    browser.browser.call('Page.reload', browser.session, ignoreCache=True)
    wait(lambda: browser.evaluate("window.isOld === undefined && document.readyState === 'complete'"))
    result['reloaded'] = browser.evaluate('document.body.innerText')
    return result


def main():
    parser = argparse.ArgumentParser()
    for name in ('chromium', 'proxy', 'profile', 'screenshots'):
        parser.add_argument('--' + name, required=True)
    parser.add_argument('--kinds', action='append', default=[])
    for name in ('leaving', 'outside'):
        parser.add_argument('--' + name)
    options = parser.parse_args()
    browser = Chromium(types.SimpleNamespace(program=options.chromium, proxy=options.proxy, profile=options.profile))
    try:
        result = {'kinds': [kinds(browser, url) for url in options.kinds]}
        if options.leaving:
            result['leaving'] = leave(browser, options)
        print(json.dumps(result))
    finally:
        browser.end()


main()
