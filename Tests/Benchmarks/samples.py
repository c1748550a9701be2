"""Archives that are made for a measurement, the same in each run: as crawlers, DevTools and browsers write them."""

import base64
import dataclasses
import functools
import hashlib
import json
import math
import plistlib
import quopri
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

from setting import HOST, content

DATE = "2026-01-01T00:00:00Z"
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


@dataclasses.dataclass(frozen=True)
class Body:
    """One of the bodies that the entries of an archive have in turn."""

    media_type: str
    extension: str
    data: bytes

    @functools.cached_property
    def digest(self) -> str:
        return base64.b32encode(hashlib.sha1(self.data).digest()).decode()

    @functools.cached_property
    def deflated(self) -> bytes:
        """With the end of a WARC record behind it."""
        coder = zlib.compressobj(6, zlib.DEFLATED, -15)
        return coder.compress(self.data + b"\r\n\r\n") + coder.flush()

    @functools.cached_property
    def as_json(self) -> bytes:
        """The member `content` of a HAR's response."""
        value = {"size": len(self.data), "mimeType": self.media_type}
        if self.media_type.startswith("text/"):
            value["text"] = self.data.decode()
        else:
            value |= {"text": base64.b64encode(self.data).decode(), "encoding": "base64"}
        return json.dumps(value, ensure_ascii=False).encode()


def html(size: int) -> bytes:
    """A page of just that size, which compresses as pages do, to about a quarter."""
    numbers = random.Random(size)
    words = ["".join(numbers.choices("abcdefghijklmnopqrstuvwxyz", k=numbers.randrange(2, 11))) for _ in range(600)]
    lines = ["<!DOCTYPE html>\n<html><head><title>Sample</title></head><body>\n"]
    length = len(lines[0])
    while length < size:
        text = " ".join(numbers.choices(words, k=12))
        target = words[len(lines) % 600]
        lines.append(f'<div class="item row" id="i{len(lines)}"><a href="/{target}.html">{text}</a></div>\n')
        length += len(lines[-1])
    return "".join(lines).encode()[:size]


@functools.cache
def bodies() -> list[Body]:
    """64 of 1 to 128 KiB, the small ones more often (27 KiB on average): three pages, then an image."""
    sizes = [round(1024 * math.exp(math.log(128) * (i * 37 % 64 + 0.5) / 64)) for i in range(64)]
    return [
        Body("image/png", "png", content(size)) if i % 4 == 3 else Body("text/html; charset=utf-8", "html", html(size))
        for i, size in enumerate(sizes)]


def url(number: int, body: Body) -> str:
    return f"http://{HOST}/section-{number % 97}/{number:08d}.{body.extension}"


# MARK: WARC


def block(kind: str, number: int, of: str, http: bytes, length: int, fields: str = "") -> bytes:
    """A record's head and the head of the message in it; `length` is that of the body behind them."""
    return (f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012x}>\r\n"
            f"WARC-Date: {DATE}\r\nWARC-Target-URI: {of}\r\nWARC-IP-Address: 192.0.2.7\r\n{fields}"
            f"Content-Type: application/http; msgtype={kind}\r\nContent-Length: {len(http) + length}\r\n\r\n"
            ).encode() + http


def records(number: int, of: str, body: Body) -> tuple[bytes, bytes]:
    """The request's record, whole, and the response's without its body and the end behind that."""
    path = of.split("/", 3)[3]
    asked = (f"GET /{path} HTTP/1.1\r\nHost: {HOST}\r\nUser-Agent: {AGENT}\r\nAccept: */*\r\n"
             "Accept-Language: en-US,en;q=0.5\r\n\r\n").encode()
    answered = (f"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nServer: nginx\r\n"
                f"Content-Type: {body.media_type}\r\nContent-Length: {len(body.data)}\r\nETag: \"{number:x}\"\r\n"
                "Last-Modified: Wed, 31 Dec 2025 00:00:00 GMT\r\nCache-Control: max-age=600\r\n\r\n").encode()
    return (block("request", 2 * number, of, asked, 0) + b"\r\n\r\n",
            block("response", 2 * number + 1, of, answered, len(body.data),
                  f"WARC-Payload-Digest: sha1:{body.digest}\r\n"))


GZIP = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


def member(head: bytes, body: bytes = b"", deflated: bytes | None = None) -> bytes:
    """A member of gzip. Where the body has been deflated it is not again: only what stands before it is."""
    coder = zlib.compressobj(6, zlib.DEFLATED, -15)
    if deflated is None:
        packed = coder.compress(head + body) + coder.flush()
    else:
        packed = coder.compress(head) + coder.flush(zlib.Z_FULL_FLUSH) + deflated
    return GZIP + packed + struct.pack("<II", zlib.crc32(body, zlib.crc32(head)), len(head) + len(body))


@dataclasses.dataclass
class Made:
    """An archive, and its last entry."""

    path: str
    entries: int
    url: str
    body: bytes
    # The bytes of all URLs of responses.
    url_bytes: int


def write(path: str, size: int, parts: Callable[[int, str, Body], bytes], begin: bytes = b"", end: bytes = b"",
          between: bytes = b"") -> Made:
    """Entries until the file has this size, but at least one."""
    every, number, total, url_bytes = bodies(), 0, len(begin), 0
    with open(path, "wb", buffering=1 << 20) as file:
        file.write(begin)
        while number == 0 or total < size:
            body = every[number % len(every)]
            of = url(number, body)
            part = (between if number else b"") + parts(number, of, body)
            file.write(part)
            total, number, url_bytes = total + len(part), number + 1, url_bytes + len(of)
        file.write(end)
    return Made(path, number, of, body.data, url_bytes)


def warc(path: str, size: int) -> Made:
    def parts(number: int, of: str, body: Body) -> bytes:
        request, response = records(number, of, body)
        return b"".join((request, response, body.data, b"\r\n\r\n"))

    return write(path, size, parts)


def warc_gz(path: str, size: int) -> Made:
    def parts(number: int, of: str, body: Body) -> bytes:
        request, response = records(number, of, body)
        return member(request) + member(response, body.data + b"\r\n\r\n", body.deflated)

    return write(path, size, parts)


def warc_of(path: str, entries: Iterator[tuple[str, Body]], *, compressed: bool = False) -> None:
    """A WARC of responses alone."""
    with open(path, "wb", buffering=1 << 20) as file:
        for number, (of, body) in enumerate(entries):
            record = records(number, of, body)[1] + body.data + b"\r\n\r\n"
            file.write(member(record) if compressed else record)


# MARK: HAR

HAR_BEGIN = b'{"log":{"version":"1.2","creator":{"name":"bench","version":"1"},"pages":[],"entries":[\n'
HAR_END = b"\n]}}\n"


def har_entry(number: int, of: str, body: Body) -> bytes:
    """As DevTools writes it, but for what its own members have."""
    def fields(pairs: dict[str, str]) -> list[dict[str, str]]:
        return [{"name": name, "value": value} for name, value in pairs.items()]

    request = {
        "method": "GET", "url": of, "httpVersion": "HTTP/1.1", "queryString": [], "cookies": [],
        "headers": fields({"Host": HOST, "User-Agent": AGENT, "Accept": "*/*", "Accept-Language": "en-US,en;q=0.5",
                           "Accept-Encoding": "gzip, deflate", "Referer": f"http://{HOST}/"}),
        "headersSize": 300, "bodySize": 0}
    response = {
        "status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [],
        "headers": fields({"Content-Type": body.media_type, "Content-Length": str(len(body.data)), "Server": "nginx",
                           "Date": "Thu, 01 Jan 2026 00:00:00 GMT", "Cache-Control": "max-age=600",
                           "ETag": f'"{number:x}"'}),
        "redirectURL": "", "headersSize": 200, "bodySize": len(body.data)}
    before = json.dumps({"startedDateTime": "2026-01-01T00:00:00.000Z", "time": 12.5, "request": request,
                         "response": response})
    after = json.dumps({"cache": {}, "timings": {"send": 0.1, "wait": 10.2, "receive": 2.2}})
    # The response's object stays open for its content.
    return before[:-2].encode() + b', "content": ' + body.as_json + b"}, " + after[1:].encode()


def har(path: str, size: int) -> Made:
    return write(path, size, har_entry, HAR_BEGIN, HAR_END, b",\n")


def har_of(path: str, entries: list[tuple[str, Body]]) -> None:
    with open(path, "wb") as file:
        file.write(HAR_BEGIN + b",\n".join(har_entry(i, *entry) for i, entry in enumerate(entries)) + HAR_END)


def picture(number: int) -> bytes:
    """A PNG of 4 KiB that can't be compressed, of 64 by 64 greys."""
    greys = random.Random(number).randbytes(64 * 64)
    rows = b"".join(b"\0" + greys[at:at + 64] for at in range(0, len(greys), 64))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


SECURE_PAGE = f"https://{HOST}/page.html"


def har_of_page(path: str, count: int) -> dict[str, int]:
    """A HAR of a page with so many resources, of which one in twenty is a style and one in twenty a script. Returns how
    many there are of each."""
    entries, parts = [], {"styles": [], "scripts": [], "images": []}
    for i in range(count):
        kind, tag, body = (
            ("styles", '<link rel="stylesheet" href="r{}.css">',
             Body("text/css", "css", f".c{i} {{ color: #{i:06x} }}\n".encode() * 150)) if i % 20 == 0 else
            ("scripts", '<script src="r{}.js"></script>',
             Body("text/javascript", "js", b"window.scripts = (window.scripts || 0) + 1\n" + b"// line\n" * 500))
            if i % 20 == 10 else
            ("images", '<img src="r{}.png" alt="">', Body("image/png", "png", picture(i))))
        parts[kind].append(tag.format(i))
        entries.append((f"https://{HOST}/r{i}.{body.extension}", body))
    text = "".join(["<!DOCTYPE html><title>Sample</title>", *parts["styles"], *parts["images"], *parts["scripts"]])
    har_of(path, [(SECURE_PAGE, Body("text/html; charset=utf-8", "html", text.encode())), *entries])
    return {kind: len(tags) for kind, tags in parts.items()}


# MARK: Saved pages

PAGE = f"http://{HOST}/page.html"


def resources(size: int) -> tuple[bytes, list[tuple[str, Body]]]:
    """A document, and 50 images and styles beside it; `size` is that of all."""
    document = html(size // 10)
    each = (size - len(document)) // 50
    return document, [
        (f"http://{HOST}/r{i}.{'css' if i % 10 == 0 else 'png'}",
         Body("text/css", "css", html(each + i)) if i % 10 == 0 else Body("image/png", "png", content(each + i)))
        for i in range(50)]


def part(file: BinaryIO, of: str, media_type: str, coding: str, data: bytes) -> None:
    file.write(f"------MultipartBoundary--bench----\r\nContent-Type: {media_type}\r\n"
               f"Content-Transfer-Encoding: {coding}\r\nContent-Location: {of}\r\n\r\n".encode() + data + b"\r\n")


def mhtml(path: str, size: int) -> bytes:
    """As Chromium writes it, text quoted-printable and the rest in base64; the file has about that size. Returns the
    document as it is answered."""
    document, others = resources(size * 3 // 4)
    with open(path, "wb") as file:
        file.write(f"From: <Saved by Blink>\r\nSnapshot-Content-Location: {PAGE}\r\nSubject: Sample\r\n"
                   "Date: Thu, 1 Jan 2026 00:00:00 -0000\r\nMIME-Version: 1.0\r\n"
                   'Content-Type: multipart/related;\r\n\ttype="text/html";\r\n'
                   '\tboundary="----MultipartBoundary--bench----"\r\n\r\n\r\n'.encode())
        part(file, PAGE, "text/html", "quoted-printable", quoted(document))
        for of, body in others:
            if body.extension == "css":
                part(file, of, body.media_type, "quoted-printable", quoted(body.data))
            else:
                part(file, of, body.media_type, "base64", base64.encodebytes(body.data).replace(b"\n", b"\r\n"))
        file.write(b"------MultipartBoundary--bench------\r\n")
    # Lines of quoted-printable end in CRLF. (RFC 2045 §6.7)
    return document.replace(b"\n", b"\r\n")


def quoted(data: bytes) -> bytes:
    return quopri.encodestring(data).replace(b"\n", b"\r\n")


def webarchive(path: str, size: int) -> bytes:
    """As Safari writes it. Returns the document."""
    document, others = resources(size)

    def resource(of: str, media_type: str, data: bytes) -> dict:
        return {"WebResourceURL": of, "WebResourceMIMEType": media_type, "WebResourceData": data,
                **({"WebResourceTextEncodingName": "UTF-8"} if media_type.startswith("text/") else {})}

    with open(path, "wb") as file:
        plistlib.dump({
            "WebMainResource": resource(PAGE, "text/html", document) | {"WebResourceFrameName": ""},
            "WebSubresources": [resource(of, body.media_type, body.data) for of, body in others],
        }, file, fmt=plistlib.FMT_BINARY)
    return document
