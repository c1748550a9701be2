#!/usr/bin/env python3
"""Reads scrapes of Prometheus's text format 0.0.4 strictly, and compares them.

usage: exposition.py SCRAPE [LATER-SCRAPE …] [--dashboard FILE] [--names FILE]

Of each scrape: HELP and TYPE stand once, in front of their family's samples, which stand together; no series is there
twice; names, labels and values have the form that the format gives them; a counter's name ends with _total; a histogram's
buckets are cumulative, and the last one, +Inf, is its count. Between scrapes no counter falls, and no series is lost.
With --dashboard, every query of the dashboard names metrics that the last scrape has, with labels that they have; with
--names, every subproxy_ name that the page has is a metric. Prints what is wrong; the exit status is 1 then.
"""
import argparse
import json
import math
import re

NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*'
SAMPLE = re.compile(r'(%s)(?:\{((?:%s="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)' % (NAME, LABEL))
PAIR = re.compile(r'(%s)="((?:[^"\\\n]|\\["\\n])*)"' % LABEL)
KINDS = ('counter', 'gauge', 'histogram', 'summary', 'untyped')


class Malformed(Exception):
    pass


def need(condition, message):
    if not condition:
        raise Malformed(message)


def number(text):
    if text in ('+Inf', '-Inf', 'NaN'):
        return float(text.replace('Inf', 'inf'))
    need(re.fullmatch(r'-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?', text), 'value ' + text)
    return float(text)


class Scrape:
    def __init__(self, text):
        self.kinds, self.series = {}, {}
        helps, closed, family = {}, set(), None
        need(text.endswith('\n'), 'the last line has no end')
        for line in text[:-1].split('\n'):
            need(line and line == line.strip(), 'line %r' % line)
            if line.startswith('#'):
                word, name, rest = re.fullmatch(r'# (HELP|TYPE) (%s) (.+)' % NAME, line).groups()
                if word == 'HELP':
                    need(name not in helps, 'HELP of %s twice' % name)
                    helps[name] = rest
                    if family:
                        closed.add(family)
                    family = None
                else:
                    need(name not in self.kinds, 'TYPE of %s twice' % name)
                    need(name in helps, 'TYPE of %s before its HELP' % name)
                    need(rest in KINDS, 'type ' + rest)
                    need((rest == 'counter') == name.endswith('_total'), 'the name of the %s %s' % (rest, name))
                    self.kinds[name] = rest
                    family = name
                continue
            match = SAMPLE.fullmatch(line)
            need(match, 'line %r' % line)
            name, labels, value = match.groups()
            need(family and family not in closed, 'sample outside of its family: ' + line)
            suffixes = ('_bucket', '_sum', '_count') if self.kinds[family] == 'histogram' else ('',)
            need(name in [family + suffix for suffix in suffixes], 'sample of another family: ' + line)
            pairs = PAIR.findall(labels or '')
            need(','.join('%s="%s"' % pair for pair in pairs) == (labels or ''), 'labels of ' + line)
            need(len(dict(pairs)) == len(pairs), 'a label twice: ' + line)
            key = (name, tuple(sorted(pairs)))
            need(key not in self.series, 'series twice: ' + line)
            self.series[key] = number(value)
            if self.kinds[family] in ('counter', 'histogram'):
                need(self.series[key] >= 0, 'negative: ' + line)
        need(set(helps) == set(self.kinds), 'HELP without TYPE')
        self.labels = {}
        for (name, pairs) in self.series:
            self.labels.setdefault(name, set()).update(pair[0] for pair in pairs)
        for name, kind in self.kinds.items():
            if kind == 'histogram':
                self.check_histogram(name)
            else:
                need(name in self.labels, 'no sample of ' + name)

    def check_histogram(self, name):
        groups = {}
        for (sample, pairs), value in self.series.items():
            if sample == name + '_bucket':
                bound = number(dict(pairs)['le'])
                rest = tuple(pair for pair in pairs if pair[0] != 'le')
                groups.setdefault(rest, []).append((bound, value))
        need(groups, 'no bucket of ' + name)
        for rest, buckets in groups.items():
            need(sorted(buckets) == buckets, 'the bounds of %s do not rise' % name)
            counts = [count for _, count in buckets]
            need(sorted(counts) == counts, 'the buckets of %s are not cumulative' % name)
            need(buckets[-1][0] == math.inf, '%s has no bucket without a bound' % name)
            need(self.series[(name + '_count', rest)] == counts[-1], 'the count of %s' % name)
            total = self.series[(name + '_sum', rest)]
            need(total > 0 or counts[-1] == 0, 'the sum of %s' % name)

    def is_counter(self, name):
        family = re.sub(r'_(bucket|sum|count)$', '', name)
        return self.kinds.get(name) == 'counter' or self.kinds.get(family) == 'histogram'


def check_dashboard(path, scrape):
    with open(path, encoding='utf-8') as file:
        dashboard = json.load(file)
    queries = []

    def walk(value):
        if isinstance(value, dict):
            for key, item in value.items():
                if key == 'expr':
                    queries.append(item)
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(dashboard)
    need(len(queries) >= 10, 'the dashboard has %d queries' % len(queries))
    for query in queries:
        used = re.findall(r'\b((?:subproxy|process)_[a-z0-9_]+)(?:\{([^}]*)\})?', query)
        need(used, 'no metric in %r' % query)
        for name, selector in used:
            need(name in scrape.labels, '%s is no metric: %r' % (name, query))
            for label, value in re.findall(r'(%s)\s*=~?\s*"([^"]*)"' % LABEL, selector):
                need(label in scrape.labels[name] | {'job', 'instance'}, '%s has no label %s' % (name, label))
                if '$' not in value and not re.search(r'[.*|+]', value):
                    need(any(n == name and (label, value) in pairs for n, pairs in scrape.series),
                         '%s has no %s="%s"' % (name, label, value))
            if scrape.is_counter(name):
                need(re.search(r'(rate|increase)\(\s*' + re.escape(name), query), '%s without rate(): %r' % (name, query))
        for grouping in re.findall(r'\bby\s*\(([^)]*)\)', query):
            for label in re.split(r'\s*,\s*', grouping.strip()):
                need(label in ('job', 'instance') or any(label in scrape.labels[name] for name, _ in used), 'no label %s in %r' % (label, query))


def check_names(path, scrape):
    with open(path, encoding='utf-8') as file:
        names = set(re.findall(r'\b(?:subproxy|process)_[a-z0-9_]+', file.read()))
    known = set(scrape.kinds)
    need(names - known == set(), 'no metrics: %s' % sorted(names - known))
    need(known - names == set(), 'not documented: %s' % sorted(known - names))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('scrapes', nargs='+')
    parser.add_argument('--dashboard')
    parser.add_argument('--names')
    options = parser.parse_args()
    earlier = None
    for path in options.scrapes:
        with open(path, encoding='utf-8', newline='') as file:
            scrape = Scrape(file.read())
        if earlier:
            lost = set(earlier.series) - set(scrape.series)
            need(not lost, 'lost: %s' % sorted(lost)[:3])
            for key, value in earlier.series.items():
                need(not scrape.is_counter(key[0]) or scrape.series[key] >= value, 'the counter %s fell' % (key,))
        earlier = scrape
    if options.dashboard:
        check_dashboard(options.dashboard, earlier)
    if options.names:
        check_names(options.names, earlier)
    print('%d series of %d families' % (len(earlier.series), len(earlier.kinds)))


try:
    main()
except Malformed as error:
    print(error)
    raise SystemExit(1)
