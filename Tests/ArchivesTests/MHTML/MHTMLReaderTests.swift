import ProxyTestKit
import Synchronization
import Testing

@testable import Archives

@Suite("MHTML")
struct MHTMLReaderTests {
    /// As Chromium writes it: a style sheet that is `cid:`, a frame without URL, a shadow root.
    static let chromium = """
        From: <Saved by Blink>
        Snapshot-Content-Location: http://a.example/dir/page.html?x=1
        Subject: =?utf-8?Q?=C3=9Cn=C3=AF_?= =?utf-8?B?eA==?=
        Date: Mon, 23 Nov 2026 03:53:33 GMT
        MIME-Version: 1.0
        Content-Type: multipart/related;
        \ttype="text/html";
        \tboundary="----MultipartBoundary--Fp2f8----"


        ------MultipartBoundary--Fp2f8----
        Content-Type: text/html
        Content-ID: <frame-1@mhtml.blink>
        Content-Transfer-Encoding: quoted-printable
        Content-Location: http://a.example/dir/page.html?x=1

        <!DOCTYPE html><link href=3D"cid:css-1@mhtml.blink"><iframe src=3D'cid:fra=
        me-2@mhtml.blink'></iframe>=C3=A4 <template shadowmode=3D"open"></template><a hr=
        ef=3D"cid:none">
        ------MultipartBoundary--Fp2f8----
        Content-Type: application/octet-stream
        Content-Transfer-Encoding: base64
        Content-Location: http://a.example/p

        iVBORw0KGgo=

        ------MultipartBoundary--Fp2f8----
        Content-Type: text/css
        Content-Transfer-Encoding: quoted-printable
        Content-Location: cid:css-1@mhtml.blink

        a { b: url(cid:frame-2@mhtml.blink#x) }
        ------MultipartBoundary--Fp2f8----
        Content-Type: text/html
        Content-ID: <frame-2@mhtml.blink>
        Content-Transfer-Encoding: quoted-printable
        Content-Location: blob:http://a.example/e406b7fc

        <p>frame=0A</p>
        ------MultipartBoundary--Fp2f8------

        """

    @Test("in quoted-printable has no blanks at the ends of lines but encoded ones", arguments: [1, 3, 65_536])
    func blanks(_ pieces: Int) throws {
        let text = """
            Content-Type: multipart/related; boundary=b

            --b
            Content-Type: text/plain
            Content-Transfer-Encoding: quoted-printable
            Content-Location: http://a.example/

            a b \t
             c=20
            d  =
            e\u{20}\u{20}
            \t\u{20}

            f =3D \u{20}
            --b--

            """
        let decoded = "a b\n c \nd  e\n\n\nf ="
        #expect(try openArchive(Array(text.utf8), "a.mht").text(0, pieces: pieces) == decoded)
        #expect(try openArchive(text.crlf, "a.mht").body(0, pieces: pieces) == decoded.crlf)
    }

    @Test("that Chromium writes is read, with either line end, from pieces of any size", arguments: [1, 7, 65_536])
    func chromium(_ pieces: Int) throws {
        for bytes in [Self.chromium.crlf, Array(Self.chromium.utf8)] {
            let archive = try openArchive(bytes, "page.mhtml")
            #expect(archive.format == .mhtml)
            let folder = "http://a.example/dir/"
            #expect(
                archive.urls == [
                    "\(folder)page.html?x=1", "http://a.example/p", "\(folder).cid-css-1%40mhtml.blink",
                    "\(folder).cid-frame-2%40mhtml.blink",
                ])
            #expect(archive.documentText == "\(folder)page.html?x=1")
            #expect(archive.pages.map(\.title) == ["Ünï x"])
            #expect(archive.warnings.isEmpty)
            #expect(
                try archive.text(0, pieces: pieces) == """
                    <!DOCTYPE html><link href="\(folder).cid-css-1%40mhtml.blink"><iframe \
                    src='\(folder).cid-frame-2%40mhtml.blink'></iframe>ä <template shadowrootmode="open"></template>\
                    <a href="cid:none">
                    """)
            #expect(try archive.body(1, pieces: pieces) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
            #expect(try archive.text(2, pieces: pieces) == "a { b: url(\(folder).cid-frame-2%40mhtml.blink#x) }")
            #expect(try archive.text(3, pieces: pieces) == "<p>frame\n</p>")
            #expect(try archive.field("Content-Type", 0) == "text/html")
            #expect(try archive.field("Content-Type", 1) == "image/png")
            #expect(try archive.exchange(3).body.isRewritten == false)
            #expect(try archive.exchange(3).body.size == 13)
            let first = try archive.exchange(0)
            #expect(first.status == 200 && first.fields.count == 1 && first.body.isRewritten)
            #expect(String(decoding: first.url, as: UTF8.self) == archive.urls[0])
        }
    }

    @Test(
        "finds a part by the last segment of any URL",
        arguments: [
            (".cid-frame-2%40mhtml.blink", 3), (".cid-frame-2@mhtml.blink", 3), (".cid-css-1%40mhtml.blink", 2),
            (".cid-frame-1%40mhtml.blink", 0), (".cid-frame-2%2540mhtml.blink", nil), (".cid-none", nil),
            ("page.html", nil),
        ] as [(String, Int?)])
    func contentIDs(_ segment: String, _ index: Int?) throws {
        let ids = try openArchive(Self.chromium.crlf, "page.mhtml").table.contentIDs
        #expect(ids.entry(segment: segment.utf8) == index)
        #expect(ids.entry(url: "http://b.example/x/\(segment)?a/b".utf8) == index)
    }

    @Test("warns of what only decoding shows")
    func verified() throws {
        let archive = try openArchive(Self.chromium.crlf, "page.mhtml")
        #expect(try archive.verified().map { $0.drop { $0 != ":" } } == [": warning: entry 1: no part has cid:none"])
        let text = """
            Content-Type: multipart/related; boundary=b

            --b
            Content-Type: text/plain
            Content-Transfer-Encoding: base64
            Content-Location: http://a.example/1

            aGF!sbG8
            --b
            Content-Type: text/plain
            Content-Transfer-Encoding: quoted-printable
            Content-Location: http://a.example/2

            100=% =3D a=
            --b
            Content-Transfer-Encoding: x-uuencode
            Content-Location: http://a.example/3

            x
            """
        let broken = try openArchive(Array(text.utf8), "a.mht")
        #expect(try broken.text(0) == "hallo")
        #expect(try broken.text(1) == "100=% = a")
        #expect(try broken.text(2) == "x")
        #expect(
            broken.warnings.map { $0.description(file: "a.mht") } == [
                "a.mht@\(text.utf8.count): warning: the multipart that begins at 0 has no closing boundary"
            ])
        #expect(
            try broken.verified() == [
                "a.mht@149: warning: entry 1: this is no base64, and decoded as far as it goes",
                "a.mht@269: warning: entry 2: this is no quoted-printable, and decoded as far as it goes",
                "a.mht@283: warning: entry 3: the transfer encoding is unknown, and taken as binary",
            ])
    }

    @Test("of Internet Explorer: nested parts, folded locations, lines without a colon, a text about it before")
    func internetExplorer() throws {
        let text = """
            From: "Saved by Windows Internet Explorer 11"
            Subject: A page
            MIME-Version: 1.0
            Content-Type: multipart/related;
            \ttype="text/html";
            \tboundary="----=_NextPart_000_0000_01D0.A"
            X-MimeOLE: Produced By Microsoft MimeOLE

            This is a multi-part message in MIME format.

            ------=_NextPart_000_0000_01D0.A
            Content-Type: multipart/alternative;
            \tboundary="----=_NextPart_001_0001"

            not a part
            ------=_NextPart_001_0001
            Content-Type: text/html;
            \tcharset="windows-1252"
            Content-Transfer-Encoding: quoted-printable
            a line without
             a colon
            Content-Location: http://a.example/
             long
            \tpath.html

            <IMG src=3D"b.png">
            ------=_NextPart_000_0000_01D0.A-- is no boundary
            ------=_NextPart_001_0001--

            ------=_NextPart_000_0000_01D0.A
            Content-Type: image/png
            Content-Transfer-Encoding: base64
            Content-Location: b.png

            AAEC
            ------=_NextPart_000_0000_01D0.A
            Content-Type: image/png
            Content-Transfer-Encoding: base64
            Content-Location: http://A.example:80/b.png#again

            AAAA
            ------=_NextPart_000_0000_01D0.A--
            the end
            ------=_NextPart_000_0000_01D0.A
            """
        let archive = try openArchive(text.crlf, "a.mht")
        #expect(archive.warnings.isEmpty)
        #expect(
            archive.urls == ["http://a.example/longpath.html", "http://a.example/b.png", "http://a.example/b.png"])
        #expect(
            try archive.text(0)
                == "<IMG src=\"b.png\">\r\n------=_NextPart_000_0000_01D0.A-- is no boundary")
        #expect(try archive.field("Content-Type", 0) == "text/html; charset=\"windows-1252\"")
        #expect(try archive.body(1) == [0, 1, 2])
        #expect((0..<3).map { archive.table[$0].unusable } == [nil, nil, .repeated])
        #expect(archive.table.usableCount == 2)
    }

    /// A message with the fields of its header, and parts of fields and body.
    static func message(_ header: String, _ parts: [(String, String)]) -> [UInt8] {
        var text = "MIME-Version: 1.0\n\(header)\n\n"
        for (fields, body) in parts { text += "--b\n\(fields)\n\n\(body)\n" }
        return (text + "--b--\n").crlf
    }

    @Test(
        "tells its document and what locations are relative to",
        arguments: [
            (
                "", ["Content-Location: http://a/x/y", "Content-Location: z"], "http://a/x/y",
                ["http://a/x/y", "http://a/x/z"]
            ),
            (
                "; start=\"<2>\"",
                ["Content-Location: http://a/x/y", "Content-Location: http://b/q/\nContent-ID: <2>"],
                "http://b/q/", ["http://a/x/y", "http://b/q/"]
            ),
            (
                "\nSnapshot-Content-Location: http://b/q/",
                ["Content-Location: http://a/x/y", "Content-Location: http://b/q/"],
                "http://b/q/", ["http://a/x/y", "http://b/q/"]
            ),
            (
                "\nContent-Location: http://m/n/o", ["X: y", "Content-Location: p"], "http://m/n/o",
                ["http://m/n/o", "http://m/n/p"]
            ),
            (
                "\nContent-Base: http://m/n/",
                ["Content-Location: p", "Content-Location: q\nContent-Base: http://r/s"],
                "http://m/n/p", ["http://m/n/p", "http://r/q"]
            ),
            (
                "",
                [
                    "Content-Location: file:///C:/a b/c.html", "Content-Location: file:///C:/a b/d.png",
                    "Content-Location: e",
                ],
                "http://archive.invalid/C:/a%20b/c.html",
                [
                    "http://archive.invalid/C:/a%20b/c.html", "http://archive.invalid/C:/a%20b/d.png",
                    "http://archive.invalid/C:/a%20b/e",
                ]
            ),
            (
                "", ["Content-Location: file://C:\\a\\c.html", "Content-Location: http://a/b"],
                "http://archive.invalid/C:/a/c.html", ["http://archive.invalid/C:/a/c.html", "http://a/b"]
            ),
            (
                "", ["Content-Location: file:///srv/c.html?x#f", "Content-Location: file://host/d"],
                "http://archive.invalid/srv/c.html?x",
                ["http://archive.invalid/srv/c.html?x", "http://archive.invalid/d"]
            ),
            (
                "", ["X: y", "Content-Location: p/q"], "http://archive.invalid/",
                ["http://archive.invalid/", "http://archive.invalid/p/q"]
            ),
            ("", ["Content-Location: http://a/b", "Content-Location: file:///c"], "http://a/b", ["http://a/b", ""]),
            (
                "", ["Content-Location: thismessage:/p", "Content-Location: q"], "http://archive.invalid/p",
                ["http://archive.invalid/p", "http://archive.invalid/q"]
            ),
            ("", ["Content-Location: http://a/b", "X: y"], "http://a/b", ["http://a/b", ""]),
        ] as [(String, [String], String, [String])])
    func locations(_ header: String, _ parts: [String], _ document: String, _ urls: [String]) throws {
        let message = Self.message(
            "Content-Type: multipart/related; boundary=b" + header, parts.map { ("Content-Type: text/html\n" + $0, "") }
        )
        let archive = try openArchive(message, "a.mhtml")
        #expect(archive.documentText == document)
        #expect(archive.urls == urls)
        for index in urls.indices where !urls[index].isEmpty {
            var table = EntryTable()
            var found = FoundEntry(at: EntryPlace(offset: 0))
            found.url = try archive.exchange(index).url
            try table.add(found, limits: ArchiveLimits())
            #expect(String(decoding: table[0].url, as: UTF8.self) == urls[index])
        }
    }

    @Test("keeps bodies as they are that are not coded", arguments: ["7bit", "8BIT", "binary", ""])
    func plain(_ encoding: String) throws {
        let field = encoding.isEmpty ? "X: y" : "Content-Transfer-Encoding: \(encoding)"
        let body = "a=3D\n--b x\n --b\n--bb\n--\n\n"
        let archive = try openArchive(
            Self.message(
                "Content-Type: multipart/mixed; boundary=\"b\"", [("Content-Location: http://a/\n\(field)", body)]),
            "a.mhtml")
        #expect(try archive.body(0) == body.crlf)
        #expect(try archive.exchange(0).body.size == body.crlf.count)
        #expect(try archive.field("Content-Type", 0) == nil)
    }

    @Test("of one part is its body")
    func onePart() throws {
        let archive = try openArchive(
            Array(
                "Content-Type: text/html\nContent-Location: http://a/\nContent-Transfer-Encoding: base64\n\naGE=".utf8),
            "a.mht")
        #expect(try archive.text(0) == "ha")
        #expect(archive.urls == ["http://a/"])
    }

    @Test("takes a part without a body, or whose header block a boundary ends")
    func noBody() throws {
        let text =
            "Content-Type: multipart/related; boundary=b\n\n--b\nContent-Location: http://a/\n--b\nContent-Location: http://b/\n\n--b--"
        let archive = try openArchive(Array(text.utf8), "a.mht")
        #expect(archive.urls == ["http://a/", "http://b/"])
        #expect(try archive.text(0).isEmpty && archive.text(1).isEmpty)
    }

    @Test(
        "is refused for what the format forbids",
        arguments: [
            ("", "a.mht@0: error: the message has no part"),
            ("MIME-Version: 1.0\n", "a.mht@0: error: the message has no part"),
            ("Content-Type: multipart/related\n\n", "a.mht@0: error: the multipart has no boundary"),
            ("Content-Type: multipart/related; boundary=b\n\nx", "a.mht@0: error: the message has no part"),
            ("Content-Type: multipart/related; boundary=b\n\n--b--", "a.mht@0: error: the message has no part"),
            (
                "Content-Type: multipart/related; boundary=b\n\n--b\nContent-Type: multipart/mixed\n\n",
                "a.mht@49: error: the multipart has no boundary"
            ),
        ])
    func refused(_ text: String, _ message: String) {
        #expect(problem(Array(text.utf8), "a.mht") == message)
    }

    @Test("is refused for a header block that is too long")
    func longHeader() {
        let text = "X: " + String(repeating: "y", count: 262_200) + "\n\n"
        #expect(problem(Array(text.utf8), "a.mht") == "a.mht@0: error: the header block is longer than 262144 bytes")
    }

    @Test("is refused for more than eight multiparts in each other")
    func depth() {
        func nested(_ depth: Int) -> [UInt8] {
            var text = ""
            for level in 0..<depth { text += "Content-Type: multipart/mixed; boundary=b\(level)\n\n--b\(level)\n" }
            return Array((text + "Content-Location: http://a/\n\nx").utf8)
        }
        #expect(problem(nested(8), "a.mht") == nil)
        #expect(problem(nested(9), "a.mht")?.hasSuffix("error: more than 8 multiparts in each other") == true)
    }

    @Test("finds boundaries wherever a window of the file ends", arguments: [0, 1, 2, 2056])
    func windows(_ shift: Int) throws {
        let lines = Array(repeating: Array("0123456789abcde\n".utf8), count: 65_500).joined()
        let first = Array(lines) + [UInt8](repeating: 0x78, count: shift)
        let second = [UInt8](repeating: 0x79, count: 1 << 20)
        var message = Array("Content-Type: multipart/mixed; boundary=b\n".utf8)
        for body in [first, second, [0x7A]] {
            message += Array("\n--b\nContent-Location: http://a/\(body.count)\n\n".utf8) + body
        }
        let archive = try openArchive(message + Array("\n--b--".utf8), "a.mhtml")
        #expect(archive.table.count == 3)
        #expect(try archive.body(0) == first)
        #expect(try archive.body(1) == second)
        #expect(try archive.text(2) == "z")
    }

    @Test("of many parts is read once, however many they are")
    func manyParts() throws {
        var text = Array("Content-Type: multipart/related; boundary=b\n\n".utf8)
        let part = Array("--b\nContent-ID: <i>\nContent-Location: http://a/\n\nx\n".utf8)
        for _ in 0..<20_000 { text += part }
        let read = Mutex(0)
        let bytes = ArchiveBytes(text)
        let counted = ArchiveBytes(count: text.count) { buffer, offset in
            guard let piece = try? bytes.read(at: offset, upTo: buffer.count) else { return -1 }
            buffer.copyBytes(from: piece)
            read.withLock { $0 += piece.count }
            return piece.count
        }
        let archive = try Archive.open(ArchiveInput(name: "a.mht", bytes: counted))
        #expect(archive.table.count == 20_000)
        #expect(archive.table.usableCount == 1)
        #expect(read.withLock { $0 } < text.count * 3 / 2)
    }

    @Test("whose cid: stand for long URLs is given in pieces, and ends at the limit")
    func growth() throws {
        let folder = "http://a/" + String(repeating: "f", count: 20_000) + "/"
        let names = String(repeating: "cid:i ", count: 10_000)
        let bytes = Self.message(
            "Content-Type: multipart/related; boundary=b",
            [("Content-Type: text/css\nContent-Location: \(folder)\nContent-ID: <i>", names)])
        let archive = try openArchive(bytes, "a.mhtml")
        let problem = ArchiveProblem.thrown {
            var stream: any BodyStream = try #require(archive.reader as? MHTMLReader).body(at: archive.table[0].place)
            var isMore = true
            while isMore {
                var piece: [UInt8] = []
                isMore = try stream.read(65_536, into: &piece)
                #expect(piece.count < 131_072)
            }
        }
        #expect(problem?.message.contains("1,100 times its coded bytes") == true)
        #expect(ArchiveProblem.thrown { try archive.exchange(0) } == problem)
        var warnings: [ArchiveProblem] = []
        try archive.check { warnings.append($0) }
        #expect(warnings.map(\.severity) == [.warning] && warnings.first?.entry == 1)
        var limits = ArchiveLimits()
        limits.body = 300_000
        let limited = try openArchive(bytes, "a.mhtml", limits: limits)
        #expect(ArchiveProblem.thrown { try limited.body(0) }?.message.contains("--max-entry-body") == true)
        let few = try openArchive(
            Self.message(
                "Content-Type: multipart/related; boundary=b",
                [("Content-Type: text/css\nContent-Location: \(folder)\nContent-ID: <i>", "a cid:i b cid:i")]),
            "a.mhtml")
        for pieces in [1, 7, 65_536] {
            #expect(try few.text(0, pieces: pieces) == "a \(folder).cid-i b \(folder).cid-i")
        }
    }

    @Test("has its cid: and shadow roots rewritten wherever they stand among bytes that are nearly theirs")
    func places() throws {
        // Some differ in one bit, some in the second byte alone.
        let filler = Array("cc<<CD=|tiIT ci <t bj;k#s C< c".utf8) + [0xE3, 0xC3, 0xBC, 0xE9, 0xF4]
        var random = SeededGenerator(seed: 3)
        for length in 0..<200 {
            func some() -> [UInt8] {
                (0..<length % 20).map { _ in filler[Int.random(in: 0..<filler.count, using: &random)] }
            }
            let (first, second, third) = (some() + [0x20], some() + [0x20], some())
            let tag = Array("<Template shadowmode='open'>".utf8)
            let text = first + Array("cID:i ".utf8) + second + tag + third
            let coded = text.map { "=" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            let fields = "Content-Type: text/html\nContent-Location: http://a/\nContent-ID: <i>"
            let archive = try openArchive(
                Self.message(
                    "Content-Type: multipart/related; boundary=b",
                    [(fields + "\nContent-Transfer-Encoding: quoted-printable", coded)]), "a.mhtml")
            let wanted =
                first + Array("http://a/.cid-i ".utf8) + second + Array("<Template shadowrootmode='open'>".utf8) + third
            for pieces in [1, 5, 65_536] { #expect(try archive.body(0, pieces: pieces) == wanted) }
        }
    }

    @Test("that names parts without end is looked through once")
    func hostileNames() throws {
        let id = String(repeating: "i", count: 1000)
        let names = String(repeating: "/cid:x<template <template\"", count: 40_000)
        let archive = try openArchive(
            Self.message(
                "Content-Type: multipart/related; boundary=b",
                [("Content-Type: text/html\nContent-Location: http://a/\nContent-ID: <\(id)>", names)]), "a.mhtml")
        #expect(try archive.text(0) == names)
        let runs = String(repeating: "/cid:x", count: 40_000)
        let again = try openArchive(
            Self.message(
                "Content-Type: multipart/related; boundary=b",
                [("Content-Type: text/css\nContent-Location: http://a/\nContent-ID: <\(id)>", runs)]), "a.mhtml")
        #expect(try again.text(0) == runs)
    }
}
