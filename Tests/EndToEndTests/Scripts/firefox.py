"""A headless Firefox behind a proxy, driven by Marionette: commands are JSON arrays [0, id, name, parameters] with their
length and a colon before them, over TCP. Standard library only.
"""
import base64
import json
import os
import socket
import subprocess
import time

PREFERENCES = {
    'network.proxy.type': 1,
    'network.proxy.allow_hijacking_localhost': True,
    'network.proxy.no_proxies_on': '',
    'marionette.port': 0,
    'security.enterprise_roots.enabled': False,
    # Nothing is asked of Mozilla's servers.
    'app.normandy.enabled': False,
    'app.update.enabled': False,
    'browser.safebrowsing.malware.enabled': False,
    'browser.safebrowsing.phishing.enabled': False,
    'browser.shell.checkDefaultBrowser': False,
    'browser.startup.homepage_override.mstone': 'ignore',
    'browser.startup.page': 0,
    'browser.newtabpage.enabled': False,
    'browser.aboutwelcome.enabled': False,
    'datareporting.policy.dataSubmissionEnabled': False,
    'datareporting.policy.dataSubmissionPolicyBypassNotification': True,
    'dom.security.https_first': False,
    'extensions.getAddons.cache.enabled': False,
    'network.captive-portal-service.enabled': False,
    'network.connectivity-service.enabled': False,
    'services.settings.server': 'http://127.0.0.1:1',
    'toolkit.telemetry.enabled': False,
    'toolkit.telemetry.unified': False,
}


class Firefox:
    def __init__(self, program, proxy, profile, preferences=None):
        os.makedirs(profile)
        host, port = proxy.rsplit(':', 1)
        values = dict(PREFERENCES)
        for scheme in ('http', 'ssl'):
            values[f'network.proxy.{scheme}'] = host
            values[f'network.proxy.{scheme}_port'] = int(port)
        values.update(preferences or {})
        with open(os.path.join(profile, 'user.js'), 'w') as file:
            for name, value in values.items():
                file.write(f'user_pref({json.dumps(name)}, {json.dumps(value)});\n')
        environment = dict(os.environ, HOME=profile, MOZ_CRASHREPORTER_DISABLE='1', no_proxy='')
        self.process = subprocess.Popen(
            [program, '--headless', '--no-remote', '--profile', profile, '--marionette',
             '--remote-allow-system-access', '--width', '900', '--height', '700', 'about:blank'],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket = self.connect(profile)
        self.buffer = b''
        self.number = 0
        self.receive()
        self.call('WebDriver:NewSession', acceptInsecureCerts=True)
        self.call('WebDriver:SetTimeouts', script=300000, pageLoad=600000)

    def connect(self, profile):
        """The port that Firefox picked is in a file of its profile."""
        deadline = time.monotonic() + 300
        while True:
            try:
                with open(os.path.join(profile, 'MarionetteActivePort')) as file:
                    connection = socket.create_connection(('127.0.0.1', int(file.read())), timeout=5)
                connection.settimeout(600)
                return connection
            except (OSError, ValueError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def receive(self):
        while b':' not in self.buffer:
            self.fill()
        length, _, rest = self.buffer.partition(b':')
        while len(rest) < int(length):
            self.fill()
            _, _, rest = self.buffer.partition(b':')
        self.buffer = rest[int(length):]
        return json.loads(rest[:int(length)])

    def fill(self):
        chunk = self.socket.recv(1 << 16)
        if not chunk:
            raise EOFError('Firefox has ended')
        self.buffer += chunk

    def call(self, name, **parameters):
        self.number += 1
        text = json.dumps([0, self.number, name, parameters]).encode()
        self.socket.sendall(b'%d:%s' % (len(text), text))
        while True:
            _, number, error, result = self.receive()
            if number == self.number:
                if error:
                    raise RuntimeError(f"{name}: {error['error']}: {error['message']}")
                return result

    def chrome(self, script, *arguments):
        """Runs a script in the browser's own window, where the user's buttons are."""
        self.call('Marionette:SetContext', value='chrome')
        try:
            return self.call('WebDriver:ExecuteScript', script=script, args=list(arguments), sandbox=None)['value']
        finally:
            self.call('Marionette:SetContext', value='content')

    def evaluate(self, expression):
        return self.call('WebDriver:ExecuteScript', script=f'return ({expression})', args=[])['value']

    def navigate(self, url):
        self.call('WebDriver:Navigate', url=url)

    def click(self, selector):
        element = self.call('WebDriver:FindElement', using='css selector', value=selector)['value']
        self.call('WebDriver:ElementClick', id=next(iter(element.values())))

    def screenshot(self, path):
        shot = self.call('WebDriver:TakeScreenshot', full=False)['value']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(shot))

    def end(self):
        try:
            self.call('Marionette:Quit', flags=['eForceQuit'])
        except (OSError, EOFError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
