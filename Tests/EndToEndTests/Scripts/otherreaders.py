#!/usr/bin/env python3
"""Reads archives with other programs than this one, and prints as JSON what they find.

usage: otherreaders.py har|warc|pywb|webarchive FILE

`har` checks it against the schema of HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), `warc` reads it with
warcio, digests included, `pywb` indexes it and asks a server for each URL, `webarchive` reads it with plistlib. The
output is an object: URL → SHA-256 of the decoded body.
"""
import base64
import hashlib
import json
import os
import plistlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

TEXT, NUMBER, BYTES = {"type": "string"}, {"type": "number"}, {"type": "integer", "minimum": -1}
TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"}


def members(required, **properties):
    return {"type": "object", "required": required.split(), "properties": properties}


def each(items):
    return {"type": "array", "items": items}


PAIRS = each(members("name value", name=TEXT, value=TEXT))
COOKIES = each(members("name value", name=TEXT, value=TEXT, expires=TEXT))
SCHEMA = members(
    "log",
    log=members(
        "version creator entries",
        version={"const": "1.2"},
        creator=members("name version", name=TEXT, version=TEXT),
        pages=each(members("startedDateTime id title pageTimings", startedDateTime=TIME, id=TEXT, title=TEXT,
                           pageTimings={"type": "object"})),
        entries=each(members(
            "startedDateTime time request response cache timings",
            startedDateTime=TIME, time=NUMBER, pageref=TEXT, cache={"type": "object"},
            request=members(
                "method url httpVersion cookies headers queryString headersSize bodySize",
                method=TEXT, url=TEXT, httpVersion=TEXT, cookies=COOKIES, headers=PAIRS, queryString=PAIRS,
                headersSize=BYTES, bodySize=BYTES,
                postData=members("mimeType", mimeType=TEXT, text=TEXT, params={"type": "array"})),
            response=members(
                "status statusText httpVersion cookies headers content redirectURL headersSize bodySize",
                status=BYTES, statusText=TEXT, httpVersion=TEXT, cookies=COOKIES, headers=PAIRS,
                content=members("size mimeType", size=BYTES, mimeType=TEXT, text=TEXT, encoding=TEXT),
                redirectURL=TEXT, headersSize=BYTES, bodySize=BYTES),
            timings=members("send wait receive", send=NUMBER, wait=NUMBER, receive=NUMBER))),
    ),
)


def digest(body):
    return hashlib.sha256(body).hexdigest()


def har(path):
    import jsonschema

    with open(path, "rb") as file:
        log = json.load(file)
    jsonschema.Draft7Validator(SCHEMA).validate(log)
    found = {}
    for entry in log["log"]["entries"]:
        content = entry["response"]["content"]
        text = content.get("text", "")
        body = base64.b64decode(text) if content.get("encoding") == "base64" else text.encode()
        found.setdefault(entry["request"]["url"], digest(body))
    return found


def warc(path):
    from warcio.archiveiterator import ArchiveIterator

    found = {}
    with open(path, "rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            body = record.content_stream().read()
            if record.rec_type == "response":
                found.setdefault(record.rec_headers.get_header("WARC-Target-URI"), digest(body))
    return found


def pywb(path):
    found = {}
    tools = os.path.dirname(sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        for words in (["init", "site"], ["add", "site", os.path.abspath(path)]):
            subprocess.run([f"{tools}/wb-manager", *words], cwd=folder, check=True, capture_output=True)
        urls = []
        with open(f"{folder}/collections/site/indexes/index.cdxj") as index:
            for line in index:
                fields = json.loads(line[line.index("{"):])
                if fields["status"] == "200":
                    urls.append((line.split(" ")[1], fields["url"]))
        # Nobody else gets the port meanwhile, and the server does, which binds with the same option.
        free = socket.socket()
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with open(f"{folder}/log", "wb") as log:
            server = subprocess.Popen(
                [f"{tools}/wayback", "-b", "127.0.0.1", "-p", str(port)], cwd=folder, stdout=log, stderr=log)
        try:
            while not answers(port):
                if server.poll() is not None:
                    with open(f"{folder}/log") as log:
                        raise SystemExit(log.read())
                time.sleep(0.1)
            for moment, url in urls:
                asked = f"http://127.0.0.1:{port}/site/{moment}id_/{url}"
                found.setdefault(url, digest(urllib.request.urlopen(asked).read()))
        finally:
            server.terminate()
            server.wait()
    return found


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except ConnectionRefusedError:
        return False


def webarchive(path):
    with open(path, "rb") as file:
        archive = plistlib.load(file)
    # The independent reader of property lists has to agree.
    text = subprocess.run([shutil.which("plistutil"), "-i", path, "-f", "xml"], check=True, capture_output=True).stdout
    assert plistlib.loads(text) == archive, "plistutil and plistlib differ"
    found = {}
    for resource in [archive["WebMainResource"], *archive.get("WebSubresources", [])]:
        found.setdefault(resource["WebResourceURL"], digest(resource["WebResourceData"]))
    return found


json.dump({"har": har, "warc": warc, "pywb": pywb, "webarchive": webarchive}[sys.argv[1]](sys.argv[2]), sys.stdout)
