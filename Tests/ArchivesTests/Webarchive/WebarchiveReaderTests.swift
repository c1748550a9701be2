import Basics
import Testing

@testable import Archives

@Suite("A webarchive")
struct WebarchiveReaderTests {
    /// An NSHTTPURLResponse with repeated fields, 404, as NSKeyedArchiver writes it.
    static let response = """
        YnBsaXN0MDDUAQIDBAUGTlFZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKvEBUHCCIn
        KBgpKjo7QURFRkdISUpLTE1VJG51bGzdCQoLDA0ODxAREhMUFRYXFhgZGhscHR4fICFSJDBSJDFTJDEwUyQxMVIkMlIkM1IkNFIk
        NVIkNlIkN1IkOFIkOVYkY2xhc3MQCBABEAAQB4ACgASABYAGgAeACIAAgAnSIyQlJldOUy5iYXNlW05TLnJlbGF0aXZlgACAA18Q
        G2h0dHBzOi8vYS5leGFtcGxlL21vdmVkLmNzcyNBqupvX+dELBEBlNMVKywtLjRXTlMua2V5c1pOUy5vYmplY3RzgAqlLzAxMjOA
        C4ANgA+AEYATpTU2Nzg5gAyADoAQgBKAFBEB6tI8PT4/WCRjbGFzc2VzWiRjbGFzc25hbWWiP0BfEBFOU0hUVFBVUkxSZXNwb25z
        ZV1OU1VSTFJlc3BvbnNl0jw9QkOhQ1xOU0RpY3Rpb25hcnlcQ29udGVudC1UeXBlXxAXdGV4dC9jc3M7IGNoYXJzZXQ9dXRmLTha
        U2V0LUNvb2tpZVhhPTEsIGI9Ml8QEENvbnRlbnQtRW5jb2RpbmdUZ3ppcFRWYXJ5UVhYX19oaGFhX19fEHBZbkJzYVhOME1ERFNB
        UUlEQmxwVFpYUXRRMjl2YTJsbFZGWmhjbm1pQkFWVFlUMHhVMkk5TXFFSFVWZ0lEUmdkSUNRb0tnQUFBQUFBQUFFQkFBQUFBQUFB
        QUFnQUFBQUFBQUFBQUFBQUFBQUFBQUFz0U9QXxATV2ViUmVzb3VyY2VSZXNwb25zZYABEgABhqAACAARABsAJAApADIARABcAGIA
        fQCAAIMAhwCLAI4AkQCUAJcAmgCdAKAAowCqAKwArgCwALIAtAC2ALgAugC8AL4AwADCAMcAzwDbAN0A3wD9AQYBCQEQARgBIwEl
        ASsBLQEvATEBMwE1ATsBPQE/AUEBQwFFAUgBTQFWAWEBZAF4AYYBiwGNAZoBpwHBAcwB1QHoAe0B8gH0Af0CcAJzAokCiwAAAAAA
        AAIBAAAAAAAAAFIAAAAAAAAAAAAAAAAAAAKQ
        """

    static func base64(_ text: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var out = ""
        var bytes = Array(text.utf8)
        let padding = (3 - bytes.count % 3) % 3
        bytes += [UInt8](repeating: 0, count: padding)
        for index in stride(from: 0, to: bytes.count, by: 3) {
            let bits = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
            for shift in [18, 12, 6, 0] { out.unicodeScalars.append(Unicode.Scalar(alphabet[bits >> shift & 63])) }
        }
        return out.dropLast(padding) + String(repeating: "=", count: padding)
    }

    static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <!-- a comment -- with > in it -->
        <plist version="1.0">
        """

    static func resource(_ url: String, _ body: String, _ more: String = "") -> String {
        """
        <dict><key>WebResourceData</key><data>
        \(base64(body))
        </data><key>WebResourceURL</key><string>\(url)</string>
        \(more)</dict>
        """
    }

    static func type(_ type: String) -> String { "<key>WebResourceMIMEType</key><string>\(type)</string>" }

    static func archive(_ main: String, _ rest: String = "") -> [UInt8] {
        Array("\(head)<dict><key>WebMainResource</key>\(main)\(rest)</dict></plist>\n".utf8)
    }

    static func resources(_ items: String...) -> String {
        "<key>WebSubresources</key><array>\(items.joined())</array>"
    }

    static func frames(_ items: String...) -> String {
        "<key>WebSubframeArchives</key><array>\(items.joined())</array>"
    }

    @Test("has its resources in the order of the document")
    func order() throws {
        let html = Self.type("text/html") + "<key>WebResourceTextEncodingName</key><string>UTF-8</string>"
        let bytes = Self.archive(
            Self.resource("webarchive+https://a.example/x?a=1&amp;b=%C3%BC#f", "<p>ä</p>", html),
            Self.resources(
                Self.resource("https://a.example/a.css", "a{}", Self.type("text/css")),
                Self.resource("https://a.example/b.png", "b"),
                Self.resource("https://a.example/a.css", "again"), "<string>bad</string>",
                "<dict><key>WebResourceURL</key><string>x</string></dict>")
                + Self.frames(
                    "<dict><key>WebMainResource</key>\(Self.resource("https://b.example/f", "f", html))"
                        + Self.resources(Self.resource("https://b.example/g", "g")) + "</dict>",
                    "<dict><key>WebMainResource</key>\(Self.resource("https://b.example/h", "no type"))</dict>"))
        let archive = try openArchive(bytes, "page.webarchive")
        #expect(
            archive.urls == [
                "https://a.example/x?a=1&b=%C3%BC", "https://a.example/a.css", "https://a.example/b.png",
                "https://a.example/a.css", "https://b.example/f", "https://b.example/g",
            ])
        #expect(archive.documentText == "https://a.example/x?a=1&b=%C3%BC")
        #expect(try (0..<6).map { try archive.text($0, pieces: 3) } == ["<p>ä</p>", "a{}", "b", "again", "f", "g"])
        #expect(try archive.field("Content-Type", 0) == "text/html; charset=UTF-8")
        #expect(try archive.field("Content-Type", 1) == "text/css")
        #expect(try archive.field("Content-Type", 2) == nil)
        #expect(archive.table[3].unusable == .repeated)
        #expect(
            archive.warnings.map(\.message) == [
                "a resource has no data, and is passed over", "a resource has no data, and is passed over",
                "a subframe archive is damaged, and is passed over",
            ])
        #expect(archive.warnings.allSatisfy { ($0.offset ?? 0) > 0 })
        #expect(try archive.verified().isEmpty)
    }

    @Test("takes status, fields and a second URL from a response")
    func response() throws {
        let bytes = Self.archive(
            Self.resource("https://a.example/", "<p>", Self.type("text/html")),
            Self.resources(
                Self.resource(
                    "https://a.example/old.css", "a{}",
                    Self.type("text/css") + "<key>WebResourceResponse</key><data>\(Self.response)</data>")))
        let archive = try openArchive(bytes, "page.webarchive")
        #expect(archive.warnings.isEmpty)
        let exchange = try archive.exchange(1)
        #expect(exchange.status == 404 && archive.table[1].status == 404)
        #expect(archive.table[1].varies)
        #expect(exchange.time == 1_204_092_975_951)
        #expect(
            exchange.fields == [
                RecordedField("Content-Type", "text/css; charset=utf-8"), RecordedField("Set-Cookie", "a=1"),
                RecordedField("Set-Cookie", "b=2"), RecordedField("Vary", "X"),
            ])
        #expect(
            archive.table.aliases.map { String(decoding: $0.url, as: UTF8.self) } == ["https://a.example/moved.css"])
        #expect(archive.table.aliases.map(\.entry) == [1])
    }

    /// The XML of a keyed archive whose first object is a response.
    static func keyed(_ objects: String...) -> [UInt8] {
        Array(
            """
            <plist><dict><key>$top</key><dict><key>root</key><dict><key>CF$UID</key><integer>1</integer></dict></dict>
            <key>$objects</key><array><string>$null</string>\(objects.joined())</array></dict></plist>
            """.utf8)
    }

    static func uid(_ number: Int) -> String { "<dict><key>CF$UID</key><integer>\(number)</integer></dict>" }

    static func classNamed(_ name: String) -> String {
        "<dict><key>$classname</key><string>\(name)</string></dict>"
    }

    @Test("reads responses of all layouts")
    func layouts() throws {
        let url = "<dict><key>NS.relative</key><string>http://a/b</string><key>NS.base</key>\(Self.uid(0))</dict>"
        let headers =
            "<dict><key>NS.keys</key><array><string>X</string></array><key>NS.objects</key><array><string>y</string></array></dict>"
        // Without what newer systems put in front of the list, and with values in place.
        let short = try ArchivedResponse.read(
            Self.keyed(
                "<dict><key>$class</key>\(Self.uid(2))<key>$0</key>\(Self.uid(3))<key>$1</key><real>1.5</real><key>$2</key><integer>0</integer>"
                    + "<key>$3</key><integer>203</integer><key>$4</key>\(Self.uid(4))<key>$5</key><integer>300</integer></dict>",
                Self.classNamed("NSHTTPURLResponse"), url, headers))
        #expect(short?.status == 203 && short?.isHTTP == true)
        #expect(short?.url == Array("http://a/b".utf8))
        #expect(short?.fields == [RecordedField("X", "y")])
        // The list under names, beside numbers that are none of it.
        let list = [
            Self.uid(3), "<real>1.5</real>", "<integer>0</integer>", Self.uid(5), Self.uid(4), Self.uid(0),
            "<string>text/css</string>",
        ]
        let listed = list.enumerated().map { "<key>__nsurlrequest_proto_prop_obj_\($0.offset)</key>\($0.element)" }
        let newer = try ArchivedResponse.read(
            Self.keyed(
                "<dict><key>$class</key>\(Self.uid(2))<key>$0</key><integer>8</integer><key>$1</key><integer>1</integer>"
                    + "<key>$2</key><integer>7</integer><key>$3</key><integer>9</integer><key>$4</key><false/>"
                    + listed.joined() + "</dict>",
                Self.classNamed("NSHTTPURLResponse"), url, headers, "<integer>404</integer>"))
        #expect(newer?.status == 404 && newer?.isHTTP == true)
        #expect(newer?.url == Array("http://a/b".utf8))
        #expect(newer?.time == 978_307_201_500)
        #expect(newer?.fields == [RecordedField("X", "y")])
        // Names of old: NS.key.0 and NS.object.0.
        let named = try ArchivedResponse.read(
            Self.keyed(
                "<dict><key>$class</key>\(Self.uid(2))<key>$1</key>\(Self.uid(3))<key>$2</key><integer>201</integer><key>$3</key>\(Self.uid(4))</dict>",
                Self.classNamed("NSHTTPURLResponse"), url,
                "<dict><key>NS.key.0</key><string>A</string><key>NS.object.0</key><string>b</string><key>$class</key>\(Self.uid(2))</dict>"
            ))
        #expect(named?.status == 201)
        #expect(named?.fields == [RecordedField("A", "b")])
        // No response of HTTP has a status.
        let other = try ArchivedResponse.read(
            Self.keyed(
                "<dict><key>$class</key>\(Self.uid(2))<key>$3</key>\(Self.uid(3))<key>$8</key><integer>300</integer></dict>",
                Self.classNamed("NSURLResponse"), url))
        #expect(other?.isHTTP == false)
        // Foundation on other systems.
        let open = try ArchivedResponse.read(
            Self.keyed(
                "<dict><key>$class</key>\(Self.uid(2))<key>NS.url</key>\(Self.uid(3))<key>NS.statusCode</key><integer>410</integer><key>NS.allHeaderFields</key>\(Self.uid(4))</dict>",
                Self.classNamed("NSHTTPURLResponse"), url, headers))
        #expect(open?.status == 410)
        #expect(open?.fields == [RecordedField("X", "y")])
    }

    @Test(
        "says of a response that can't be read, and answers without it",
        arguments: [
            "bm9uZQ==", "YnBsaXN0MDA=", base64("<plist><dict/></plist>"),
            base64(String(decoding: keyed("<dict><key>CF$UID</key><integer>1</integer></dict>"), as: UTF8.self)),
            base64(String(decoding: keyed("<dict><key>CF$UID</key><integer>99</integer></dict>"), as: UTF8.self)),
        ])
    func brokenResponse(_ response: String) throws {
        let archive = try openArchive(
            Self.archive(
                Self.resource(
                    "https://a.example/", "<p>",
                    Self.type("text/html") + "<key>WebResourceResponse</key><data>\(response)</data>")), "a.webarchive")
        #expect(archive.warnings.map(\.message) == ["WebResourceResponse can't be read"])
        #expect(try archive.exchange(0).status == 200)
        #expect(try archive.field("Content-Type", 0) == "text/html")
    }

    @Test("of a file is answered below archive.invalid")
    func file() throws {
        let archive = try openArchive(
            Self.archive(
                Self.resource("file:///Users/me/a.html", "<p>", Self.type("text/html")),
                Self.resources(Self.resource("file:///Users/me/b.png", "b"), Self.resource("https://a.example/c", "c"))),
            "a.webarchive")
        #expect(
            archive.urls == [
                "http://archive.invalid/Users/me/a.html", "http://archive.invalid/Users/me/b.png",
                "https://a.example/c",
            ])
        #expect(try String(decoding: archive.exchange(1).url, as: UTF8.self) == archive.urls[1])
    }

    @Test(
        "is refused for what the format forbids",
        arguments: [
            ("<dict></dict>", "WebMainResource is missing"),
            ("<array></array>", "the property list is no dictionary"),
            ("<dict><key>WebMainResource</key><string/></dict>", "WebMainResource is no dictionary"),
            ("<dict><key>WebMainResource</key><dict/></dict>", "WebMainResource has no WebResourceData"),
            (
                "<dict><key>WebMainResource</key>\(resource("https://a.example/", "x"))</dict>",
                "WebMainResource has no WebResourceMIMEType"
            ),
            (
                "<dict><key>WebMainResource</key>\(resource("https://a.example/", "x", type("a/b")))<key>WebSubresources</key><dict/></dict>",
                "WebSubresources is no array"
            ),
            ("<!DOCTYPE plist [<!ENTITY a \"b\">]><dict/>", "a DTD with declarations, such as entities, is not read"),
            ("<dict><key>a</key><string>&b;</string></dict>", "this entity is none that is known"),
            ("<dict><key>a</key><string>b</dict>", "this closes another element"),
            ("<dict><key>a</key></dict>", "a value is missing"), ("<dict><string/></dict>", "a key is missing"),
            ("<dict>x</dict>", "text is where an element belongs"), ("<set/>", "property lists have no such element"),
            ("<dict><key>a", "the file ends too soon"),
        ])
    func refused(_ text: String, _ message: String) {
        #expect(
            problem(Array("<?xml version=\"1.0\"?>\(text)".utf8), "a.webarchive")?.hasSuffix("error: \(message)")
                == true)
    }

    @Test("is refused for too many objects in each other")
    func depth() {
        let deep = String(repeating: "<array>", count: 200)
        #expect(problem(Array("<plist>\(deep)".utf8), "a.webarchive")?.contains("in each other") == true)
        let base = "<dict><key>WebMainResource</key>\(Self.resource("https://a.example/", "x", Self.type("a/b")))"
        var frame = base + "</dict>"
        for _ in 0..<15 { frame = base + Self.frames(frame) + "</dict>" }
        #expect(problem(Array("<plist>\(frame)</plist>".utf8), "a.webarchive") == nil)
        frame = base + Self.frames(frame) + "</dict>"
        #expect(
            problem(Array("<plist>\(frame)</plist>".utf8), "a.webarchive")?.contains("more than 16 archives") == true)
    }
}

@Suite("A binary property list")
struct BinaryPropertyListTests {
    /// A list of objects, with offsets and references of a byte.
    static func list(_ objects: [[UInt8]], top: Int = 0, count: Int? = nil) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets.append(UInt8(bytes.count))
            bytes += object
        }
        let table = bytes.count
        bytes += offsets + [0, 0, 0, 0, 0, 0, 1, 1]
        for number in [count ?? objects.count, top, table] {
            bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
        return bytes
    }

    @Test(
        "has values of all kinds",
        arguments: [
            ([0x08], .boolean(false)), ([0x09], .boolean(true)), ([0x00], .null), ([0x10, 0x7F], .integer(127)),
            ([0x13, 255, 255, 255, 255, 255, 255, 255, 255], .integer(-1)), ([0x22, 0x3F, 0x80, 0, 0], .real(1)),
            ([0x33, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0], .date(1)), ([0x52, 0x61, 0x62], .string([0x61, 0x62])),
            ([0x61, 0x00, 0xE4], .string([0xC3, 0xA4])), ([0x81, 1, 2], .uid(258)),
            ([0xA1, 0], .array([.reference(0)])),
            ([0x5F, 0x10, 0x01, 0x61], .string([0x61])),
        ] as [([UInt8], PropertyList)])
    func values(_ object: [UInt8], _ value: PropertyList) throws {
        var list = try BinaryPropertyList(ArchiveBytes(Self.list([object])), isChecked: true)
        #expect(try list.object(0) == value)
    }

    @Test(
        "is refused for what leads nowhere",
        arguments: [
            ([[0xA1, 1]], "a reference leads out of the file"), ([[0xA1, 0]], "an object contains itself"),
            ([[0xA1, 1], [0xA1, 2], [0xA1, 0]], "an object contains itself"),
            ([[0x5F, 0x13, 255, 255, 255, 255, 255, 255, 255, 255]], "an object's length is none"),
            ([[0x5F, 0x12, 127, 255, 255, 255]], "an object is longer than the file"),
            ([[0xDF, 0x13, 127, 255, 255, 255, 255, 255, 255, 255]], "an object is longer than the file"),
            ([[0xAF, 0x51]], "an object's length is none"), ([[0xF0]], "an object is of no known type"),
            (Array(repeating: [0xA1], count: 1), "an object is longer than the file"),
        ] as [([[UInt8]], String)])
    func refused(_ objects: [[UInt8]], _ message: String) {
        #expect(problem(Self.list(objects), "a.webarchive")?.contains("error: \(message)") == true)
    }

    @Test("is refused for a wrong trailer")
    func trailer() {
        #expect(problem(Array("bplist00".utf8), "a")?.contains("too soon") == true)
        let list = Self.list([[0x08]])
        for index in list.count - 26..<list.count - 24 {
            for value: UInt8 in [0, 9, 255] {
                var wrong = list
                wrong[index] = value
                #expect(problem(wrong, "a")?.contains("its last 32 bytes are wrong") == true)
            }
        }
        for (count, top) in [(0, 0), (1, 1), (255, 0), (5_000_000, 0), (Int.max, 0)] {
            #expect(problem(Self.list([[0x08]], top: top, count: count), "a") != nil)
        }
    }

    @Test("that refers to the same again and again takes no longer than its length allows")
    func sharing() {
        // Each of the arrays has the next one a hundred times: 100^20 values.
        var objects: [[UInt8]] = []
        for level in 1...20 { objects.append([0xAA] + [UInt8](repeating: UInt8(level), count: 10)) }
        objects.append([0x08])
        #expect(problem(Self.list(objects), "a")?.contains("no dictionary") == true)
    }

    @Test("whose objects lie over each other is refused before all their references are looked at")
    func overlaps() {
        // Two hundred arrays of two hundred references, which are the same bytes.
        let boolean: [UInt8] = [0x08]
        let array = [0xAF, 0x10, 200] + [UInt8](repeating: 200, count: 200)
        var list = Array("bplist00".utf8) + boolean + array
        let table = list.count
        list += [UInt8](repeating: 9, count: 200) + [8, 0, 0, 0, 0, 0, 0, 1, 1]
        for number in [201, 0, table] {
            list += (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
        #expect(problem(list, "a")?.contains("lie over each other") == true)
    }
}
