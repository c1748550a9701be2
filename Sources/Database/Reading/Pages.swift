/// Which rows of those that match are asked for.
struct Window: Equatable {
    var start: Int64
    /// Nil for all from the start on.
    var count: Int64?

    init(_ part: Controls.Part) {
        switch part {
        case .all: (start, count) = (0, nil)
        case .page(let number, let size), .wrapped(let number, let size):
            let (product, overflow) = (number - 1).multipliedReportingOverflow(by: size)
            (start, count) = (overflow ? .max : product, size)
        case .slice(let start, let count): (self.start, self.count) = (start, count)
        }
    }
}

/// The pages of a list.
struct Pages: Equatable {
    let number: Int64
    let size: Int64
    let total: Int64
    /// Whether the rows are a member of an object about the page.
    let isWrapped: Bool

    /// Nil where no pages are asked for.
    init?(_ part: Controls.Part, total: Int64) {
        switch part {
        case .page(let number, let size): (self.number, self.size, isWrapped) = (number, size, false)
        case .wrapped(let number, let size): (self.number, self.size, isWrapped) = (number, size, true)
        case .all, .slice: return nil
        }
        self.total = total
    }

    /// The last page's number; 1 where there is no row.
    var last: Int64 { size > 0 ? max(1, (total - 1) / size + 1) : 1 }
    /// The page before this one; behind the last page it is the last.
    var previous: Int64? { number > 1 ? min(number - 1, last) : nil }
    var next: Int64? { number < last ? number + 1 : nil }

    /// Writes the object about the page.
    func append(to output: inout JSONOutput, rows: [UInt8]) {
        output.append("{\"first\":1,\"prev\":")
        append(previous, to: &output)
        output.append(",\"next\":")
        append(next, to: &output)
        output.append(",\"last\":")
        output.append(last)
        output.append(",\"pages\":")
        output.append(last)
        output.append(",\"items\":")
        output.append(total)
        output.append(",\"data\":")
        output.append(bytes: rows)
        output.append("}")
    }

    private func append(_ number: Int64?, to output: inout JSONOutput) {
        if let number { output.append(number) } else { output.append("null") }
    }

    /// The value of Link (RFC 8288) for pages of an array; nil for others.
    func links(url: [UInt8], query: [UInt8]) -> String? {
        guard !isWrapped else { return nil }
        var links = [link(1, "first", url, query)]
        if let previous { links.append(link(previous, "prev", url, query)) }
        if let next { links.append(link(next, "next", url, query)) }
        links.append(link(last, "last", url, query))
        return links.joined(separator: ", ")
    }

    private func link(_ number: Int64, _ relation: String, _ url: [UInt8], _ query: [UInt8]) -> String {
        let parts = query.split(separator: UInt8(ascii: "&")).map { part -> String in
            let name = part.prefix { $0 != UInt8(ascii: "=") }
            let isPage = PercentCoding.decoded(name, plusIsSpace: true).elementsEqual("_page".utf8)
            return isPage ? "_page=\(number)" : Pages.target(part)
        }
        return "<\(Pages.target(url))?\(parts.joined(separator: "&"))>; rel=\"\(relation)\""
    }

    /// A part of a URL with the bytes encoded that no URL has (RFC 3986 §2), which would end the link before its end.
    private static func target(_ part: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in part {
            switch byte {
            case 0x21, 0x23...0x3B, 0x3D, 0x3F...0x5B, 0x5D, 0x5F, 0x61...0x7A, 0x7E: text.append(byte)
            default: text += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
