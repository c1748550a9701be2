#!/usr/bin/env python3
"""Uses the page of config/shop in headless Chromium through a proxy, as a person would, and prints as JSON what it showed.

usage: chromiumshop.py --chromium PATH --proxy 127.0.0.1:PORT --profile FOLDER

The output has, for each step, the rows of the table, the line below it and the message. Standard library only.
"""
import argparse
import json
import time

from chromium import Browser

PAGE = 'http://shop.example.test/'

# What the page shows.
SHOWN = """JSON.stringify({
  rows: Array.from(document.querySelectorAll('#rows tr'),
    line => Array.from(line.cells, cell => cell.textContent).slice(0, 4).join(' ')),
  page: document.getElementById('page').textContent,
  message: document.getElementById('message').textContent,
})"""

# Each step: its name, what a person does, and what the page shows when it is done.
STEPS = (
    ('list', '', "page.textContent.startsWith('page 1 of 3')"),
    ('next', "next.click()", "page.textContent.startsWith('page 2 of 3')"),
    ('filter', "choose(brand, 'acme')", "page.textContent.endsWith(', 5 products')"),
    ('sort', "choose(sort, '-price')", "rows.rows[0].cells[0].textContent == 'Hammer'"),
    ('add', "fill({ name: 'Axe', brand: 'acme', price: 30, stock: 3 })", "message.textContent == 'saved'"),
    ('refuse', "fill({ name: 'Axe', brand: 'acme', price: 1, stock: 1 })", "message.textContent.includes('UNIQUE')"),
    ('edit', "form.reset(); press('Axe', 'Edit')", "form.elements.price.value == '30'"),
    ('save', "fill({ price: 2 })", "message.textContent == 'saved'"),
    ('delete', "press('Hammer', 'Delete')", "message.textContent == 'deleted'"),
)

ELEMENTS = """
const [page, rows, next, brand, sort, message, form] =
  ['page', 'rows', 'next', 'brand', 'sort', 'message', 'form'].map(id => document.getElementById(id));
const choose = (list, value) => { list.value = value; list.dispatchEvent(new Event('input')); };
const fill = values => {
  message.textContent = '';
  for (const name in values) form.elements[name].value = values[name];
  form.requestSubmit();
};
const press = (name, text) => {
  message.textContent = '';
  Array.from(rows.rows).find(line => line.cells[0].textContent == name)
    .querySelectorAll('button').forEach(button => { if (button.textContent == text) button.click(); });
};
"""


def evaluate(browser, session, script):
    answer = browser.call('Runtime.evaluate', session, expression='(() => {%s})()' % (ELEMENTS + script))
    if 'exceptionDetails' in answer:
        raise RuntimeError(answer['exceptionDetails'])
    return answer['result'].get('value')


def wait(browser, session, condition, step):
    deadline = time.monotonic() + 300
    while not evaluate(browser, session, f'return Boolean({condition});'):
        if time.monotonic() > deadline:
            raise TimeoutError(step + ': ' + evaluate(browser, session, f'return {SHOWN};'))
        time.sleep(0.02)


def load(browser, session, url=PAGE):
    browser.events = []
    browser.call('Page.navigate', session, url=url)
    browser.wait('Page.loadEventFired')


def main():
    parser = argparse.ArgumentParser()
    for name in ('chromium', 'proxy', 'profile'):
        parser.add_argument('--' + name, required=True)
    options = parser.parse_args()
    browser = Browser.start(options.chromium, options.proxy, options.profile)
    try:
        session = browser.attach()
        load(browser, session)
        wait(browser, session, 'brand.options.length == 4', 'brands')
        result = {}
        for name, action, condition in STEPS:
            evaluate(browser, session, action)
            wait(browser, session, condition, name)
            result[name] = json.loads(evaluate(browser, session, f'return {SHOWN};'))
        load(browser, session)
        wait(browser, session, "page.textContent != ''", 'reload')
        result['reload'] = json.loads(evaluate(browser, session, f'return {SHOWN};'))
        print(json.dumps(result))
    finally:
        browser.end()


if __name__ == '__main__':
    main()
