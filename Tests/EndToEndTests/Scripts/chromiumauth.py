#!/usr/bin/env python3
"""Loads pages in headless Chromium through a proxy that asks for credentials, and prints as JSON what it saw.

usage: chromiumauth.py --chromium PATH --proxy 127.0.0.1:PORT --profile FOLDER --name NAME --password PASSWORD URL …

The output has the text of each page, and how often Chromium would have asked its user. Standard library only.
"""
import argparse
import json
import time

from chromium import Browser


def load(browser, session, url, options):
    """Navigates, and answers what Chromium asks meanwhile; how often that was."""
    asked = 0
    browser.events = []
    browser.number += 1
    navigation = browser.number
    browser.post(navigation, 'Page.navigate', session, url=url)
    deadline = time.monotonic() + 300
    while True:
        event = browser.message(deadline)
        method, parameters = event.get('method'), event.get('params', {})
        if method == 'Fetch.authRequired':
            asked += 1
            challenge = parameters['authChallenge']
            if challenge['source'] != 'Proxy' or challenge['realm'] != 'subproxy' or asked > 3:
                raise RuntimeError('asked for %s' % challenge)
            browser.number += 1
            browser.post(
                browser.number, 'Fetch.continueWithAuth', session, requestId=parameters['requestId'],
                authChallengeResponse={
                    'response': 'ProvideCredentials', 'username': options.name, 'password': options.password})
        elif method == 'Fetch.requestPaused':
            browser.number += 1
            browser.post(browser.number, 'Fetch.continueRequest', session, requestId=parameters['requestId'])
        elif method == 'Page.loadEventFired':
            return asked
        elif event.get('id') == navigation and event.get('result', {}).get('errorText'):
            raise RuntimeError(event['result']['errorText'])


def main():
    parser = argparse.ArgumentParser()
    for name in ('chromium', 'proxy', 'profile', 'name', 'password'):
        parser.add_argument('--' + name, required=True)
    parser.add_argument('urls', nargs='+')
    options = parser.parse_args()
    browser = Browser.start(options.chromium, options.proxy, options.profile)
    try:
        session = browser.attach()
        browser.call('Fetch.enable', session, handleAuthRequests=True)
        texts, asked = [], 0
        for url in options.urls:
            asked += load(browser, session, url, options)
            value = browser.call('Runtime.evaluate', session, expression='document.body.innerText.trim()')
            texts.append(value['result']['value'])
        print(json.dumps({'texts': texts, 'asked': asked}))
    finally:
        browser.end()


main()
