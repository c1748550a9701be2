#!/usr/bin/env python3
"""Writes an image and a font whose sizes tell which of two they are. Standard library only.

usage: pagefiles.py image FILE WIDTH HEIGHT RED GREEN BLUE
       pagefiles.py font FILE ADVANCE   (a TrueType font of 1000 units an em, each character a box of that advance)
"""
import struct
import sys
import zlib


def png(width, height, colour):
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    rows = b''.join(b'\0' + bytes(colour) * width for _ in range(height))
    head = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')


def truetype(advance):
    """Two glyphs, .notdef and a box; the characters from space to tilde are all the box."""
    right = max(advance - 100, 100)
    box = struct.pack('>hhhhh', 1, 50, 0, right, 700) + struct.pack('>HH', 3, 0)
    box += bytes([1, 1, 1, 1])
    box += struct.pack('>hhhh', 50, right - 50, 0, 50 - right) + struct.pack('>hhhh', 0, 0, 700, 0)
    box += b'\0' * (-len(box) % 4)
    segments = struct.pack('>HHHHHHH', 4, 32, 0, 4, 4, 1, 0)
    segments += struct.pack('>HH', 0x7e, 0xffff) + struct.pack('>H', 0) + struct.pack('>HH', 0x20, 0xffff)
    # Each character's place in the glyph array follows from the range offset: 95 times glyph 1.
    segments += struct.pack('>hh', 0, 1) + struct.pack('>HH', 4, 0) + struct.pack('>H', 1) * 95
    segments = struct.pack('>HH', 4, len(segments)) + segments[4:]
    family, style = 'Wide'.encode('utf-16-be'), 'Regular'.encode('utf-16-be')
    names = [(1, family), (2, style), (3, family), (4, family), (5, 'Version 1.0'.encode('utf-16-be')), (6, family)]
    records, storage = b'', b''
    for number, text in names:
        records += struct.pack('>HHHHHH', 3, 1, 0x409, number, len(text), len(storage))
        storage += text
    tables = {
        b'OS/2': struct.pack(
            '>HhHHHhhhhhhhhhhh10sIIII4sHHHhhhHH', 3, advance, 400, 5, 0, 650, 600, 0, 75, 650, 600, 0, 350, 50, 258, 0,
            bytes(10), 1, 0, 0, 0, b'NONE', 0x40, 0x20, 0x7e, 800, -200, 0, 800, 200) + struct.pack(
            '>IIhhHHH', 1, 0, 500, 700, 0, 0x20, 0),
        b'cmap': struct.pack('>HHHHI', 0, 1, 3, 1, 12) + segments,
        b'glyf': box,
        b'head': struct.pack(
            '>IIIIHHQQhhhhHHhhh', 0x10000, 0x10000, 0, 0x5f0f3cf5, 11, 1000, 0, 0, 0, 0, right, 700, 0, 8, 2, 1, 0),
        b'hhea': struct.pack('>IhhhHhhhhhhhhhhhH', 0x10000, 800, -200, 0, advance, 0, 0, right, 1, 0, 0, 0, 0, 0, 0, 0, 2),
        b'hmtx': struct.pack('>HhHh', advance, 0, advance, 50),
        b'loca': struct.pack('>III', 0, 0, len(box)),
        b'maxp': struct.pack('>IHHHHHHHHHHHHHH', 0x10000, 2, 4, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0),
        b'name': struct.pack('>HHH', 0, len(names), 6 + len(records)) + records + storage,
        b'post': struct.pack('>IIhhIIIII', 0x30000, 0, -100, 50, 0, 0, 0, 0, 0),
    }
    count = len(tables)
    power = 1 << (count.bit_length() - 1)
    out = struct.pack('>IHHHH', 0x10000, count, power * 16, power.bit_length() - 1, count * 16 - power * 16)
    offset, body = 12 + 16 * count, b''
    for tag in sorted(tables):
        data = tables[tag]
        padded = data + b'\0' * (-len(data) % 4)
        total = sum(struct.unpack('>%dI' % (len(padded) // 4), padded)) & 0xffffffff
        out += tag + struct.pack('>III', total, offset + len(body), len(data))
        body += padded
    return out + body


def main():
    kind, path, *numbers = sys.argv[1:]
    numbers = [int(number) for number in numbers]
    data = png(numbers[0], numbers[1], numbers[2:]) if kind == 'image' else truetype(numbers[0])
    with open(path, 'wb') as file:
        file.write(data)


main()
