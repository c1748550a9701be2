import Basics

/// The parts of a path, decoded: a table's name, the segments of a key, a name of children.
struct ResourcePath: Sendable, Equatable {
    var segments: [[UInt8]]

    /// Splits at `/`, then decodes each segment. An empty last segment counts for nothing.
    ///
    /// - Parameter path: as it came in the URL, without a slash before it.
    /// - Throws: 404 for another empty segment, 400 for bytes that aren't UTF-8.
    init(_ path: [UInt8]) throws(Problem) {
        segments = []
        var start = 0
        while start < path.count {
            let part = path[start...].prefix { $0 != UInt8(ascii: "/") }
            guard !part.isEmpty else {
                throw Problem(404, "no such row", "the path has two slashes in a row, and nothing has an empty name")
            }
            let decoded = PercentCoding.decoded(part, plusIsSpace: false)
            guard decoded.isUTF8 else { throw .badValue("the path has bytes that are not UTF-8") }
            segments.append(decoded)
            start = part.endIndex + 1
        }
    }
}

/// What a path names in a schema.
enum Resource {
    /// The tables that there are.
    case tables
    case list(TableView)
    case row(TableView, key: [[UInt8]])
    /// The rows of a table that refer to a row of another.
    case children(TableView, by: [ColumnReference], of: TableView, key: [[UInt8]])

    /// - Throws: 404 where there is none of that name.
    init(_ path: ResourcePath, in schema: SchemaView) throws(Problem) {
        guard let first = path.segments.first else {
            self = .tables
            return
        }
        let name = String(decoding: first, as: UTF8.self)
        guard let table = schema.table(name) else {
            throw Resource.noTable(name, schema)
        }
        let rest = path.segments.dropFirst()
        guard !rest.isEmpty else {
            self = .list(table)
            return
        }
        var written: String { path.segments.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/") }
        guard table.keyCount > 0, rest.count >= table.keyCount, rest.count <= table.keyCount + 1 else {
            throw .noRow(written)
        }
        let key = Array(rest.prefix(table.keyCount))
        guard rest.count > table.keyCount, let last = rest.last else {
            self = .row(table, key: key)
            return
        }
        let childName = String(decoding: last, as: UTF8.self)
        guard let child = schema.table(childName) else { throw Resource.noTable(childName, schema) }
        let all = schema.foreignKeys(from: child, to: table)
        // As for _embed, a key of one column is taken before those of several.
        let keys = all.count == 1 ? all : all.filter { $0.columns.count == 1 }
        guard keys.count == 1, let references = schema.references(by: keys[0], from: child, to: table) else {
            throw Problem(
                404, "no such row",
                "\(child.table.name) has not just one foreign key to \(table.table.name), so there is no \(written)")
        }
        self = .children(child, by: references, of: table, key: key)
    }

    private static func noTable(_ name: String, _ schema: SchemaView) -> Problem {
        if let found = schema.unusable.first(where: { $0.name == name.asName.wrappedValue }) {
            return Problem(502, "database error", "\(name): \(found.error)")
        }
        return unknown(name, schema)
    }

    private static func unknown(_ name: String, _ schema: SchemaView) -> Problem {
        Problem(404, "no such table", "there is no table '\(name)'", names: ("tables", schema.names))
    }
}

extension Resource {
    /// The methods that it answers.
    func methods(_ writes: DatabaseRule.Writes) -> [String] {
        let reading = ["GET", "HEAD", "OPTIONS"]
        guard writes != .off else { return reading }
        switch self {
        case .list(let view) where view.table.kind == .table: return reading + ["POST"]
        case .children(let view, _, _, _) where view.table.kind == .table: return reading + ["POST"]
        case .row(let view, _) where view.table.kind == .table: return reading + ["PUT", "PATCH", "DELETE"]
        default: return reading
        }
    }
}

/// Percent-encoding in URLs (RFC 3986 §2.1).
enum PercentCoding {
    /// The bytes that a text stands for. What is no escape stays as it is.
    static func decoded(_ text: some Collection<UInt8>, plusIsSpace: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index = text.index(after: index)
            if byte == UInt8(ascii: "%"), let first = index < text.endIndex ? text[index].hexValue : nil {
                let next = text.index(after: index)
                if next < text.endIndex, let second = text[next].hexValue {
                    bytes.append(first << 4 | second)
                    index = text.index(after: next)
                    continue
                }
            }
            bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
        }
        return bytes
    }

    /// A segment of a path, with everything encoded but unreserved characters.
    static func appendSegment(_ bytes: some Sequence<UInt8>, to output: inout [UInt8]) {
        for byte in bytes {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                output.append(byte)
            default:
                output.append(UInt8(ascii: "%"))
                output.append(PercentCoding.digit(byte >> 4))
                output.append(PercentCoding.digit(byte & 0x0F))
            }
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "A") &+ value &- 10
    }
}

extension Collection<UInt8> {
    /// Whether the bytes are well-formed UTF-8.
    var isUTF8: Bool {
        if allSatisfy({ $0 < 0x80 }) { return true }
        return String(validating: Array(self), as: UTF8.self) != nil
    }
}
