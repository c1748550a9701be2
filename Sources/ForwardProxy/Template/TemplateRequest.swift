import Basics
import Database
import HTTPSemantics
import JSON
import Mustache
import Substitution

/// What a template may use of a request: the members of `request`.
struct TemplateRequest {
    let request: Request
    let uri: TargetURI
    let call: TemplateCall
    /// Nanoseconds since 1970.
    let wall: UInt64
    /// How many answers the rule has given, with this one.
    let number: () -> Int

    /// Members and their values.
    typealias Members = [(name: [UInt8], value: MustacheValue)]

    /// The members that a page uses, but for those of the body.
    ///
    /// - Parameter used: their names; nil for all.
    func members(_ used: Set<String>?) -> Members {
        var members: Members = []
        for name in TemplateCall.requestMembers where used?.contains(name) ?? true {
            guard !TemplateRequest.bodyMembers.contains(name) else { continue }
            members.append((Array(name.utf8), member(name)))
        }
        return members
    }

    private static let bodyMembers: Set<String> = ["body", "json", "form"]

    /// Those of the body that a page uses. A long one takes its time: not for event loops.
    ///
    /// - Parameter used: their names; nil for all.
    static func members(ofBody body: [UInt8], _ used: Set<String>?) -> Members {
        bodyMembers.filter { used?.contains($0) ?? true }.map { name in
            let value: MustacheValue =
                switch name {
                case "json": (try? JSONReader.value(body)).map(MustacheValue.init) ?? .null
                case "form": .mapping(MustacheMapping(firsts(pairs(body))))
                default: .text(valid(body))
                }
            return (Array(name.utf8), value)
        }
    }

    private func member(_ name: String) -> MustacheValue {
        switch name {
        case "method": .text(request.head.methodBytes)
        case "url": .text(uri.description)
        case "scheme": .text(uri.schemeText)
        case "host": .text(uri.host)
        case "port": .integer(Int64(uri.port))
        case "path": .text(path)
        case "segments":
            .list(path.split(separator: UInt8(ascii: "/")).map { .text(TemplateRequest.decoded(Array($0))) })
        case "query": .mapping(MustacheMapping(TemplateRequest.firsts(query)))
        case "query-all": .mapping(MustacheMapping(lists(query)))
        case "captures":
            .mapping(
                MustacheMapping(call.captures.map { (Array($0.name.utf8), .text(TemplateRequest.valid($0.value))) }))
        case "headers": .mapping(MustacheMapping(headers))
        case "cookies": .mapping(MustacheMapping(cookies))
        case "time": time
        case "id": .text(TemplateRequest.identifier())
        case "number": .integer(Int64(number()))
        default: .null
        }
    }

    private var path: [UInt8] {
        uri.withBytes { Array($0[min(uri.pathStart, $0.count)..<min(uri.pathEnd, $0.count)]) }
    }

    private var query: [(name: [UInt8], value: [UInt8])] {
        TemplateRequest.pairs(uri.withBytes { Array($0[min(uri.pathEnd + 1, $0.count)...]) })
    }

    /// The names and values of a query or a form, decoded (https://url.spec.whatwg.org/#urlencoded-parsing): an escape
    /// that is none stays as it is.
    private static func pairs(_ bytes: [UInt8]) -> [(name: [UInt8], value: [UInt8])] {
        bytes.split(separator: UInt8(ascii: "&")).map { part in
            let end = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let name = part[..<end].map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
            let value = part[end...].dropFirst().map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
            return (TemplateRequest.decoded(name), TemplateRequest.decoded(value))
        }
    }

    /// Of each name the first value.
    private static func firsts(_ pairs: [(name: [UInt8], value: [UInt8])]) -> Members {
        var seen: Set<[UInt8]> = []
        return pairs.compactMap {
            seen.insert($0.name).inserted ? ($0.name, .text(valid($0.value))) : nil
        }
    }

    /// Of each name all values.
    private func lists(_ pairs: [(name: [UInt8], value: [UInt8])]) -> Members {
        var order: [[UInt8]] = []
        var values: [[UInt8]: [MustacheValue]] = [:]
        for pair in pairs {
            if values[pair.name] == nil { order.append(pair.name) }
            values[pair.name, default: []].append(.text(TemplateRequest.valid(pair.value)))
        }
        return order.map { ($0, .list(values[$0] ?? [])) }
    }

    /// All fields but the one with the client's password for this proxy, which is none of a page's business.
    private var headers: Members {
        var order: [[UInt8]] = []
        var values: [[UInt8]: [UInt8]] = [:]
        let fields = request.head.fields
        for line in fields.lines {
            let name = fields.withName(line) { $0.map(\.asciiLowercased) }
            guard !name.elementsEqual("proxy-authorization".utf8) else { continue }
            let value = fields.withValue(line) { Array($0.trimmingOptionalWhitespace) }
            if values[name] == nil { order.append(name) }
            // Cookies have a separator of their own (RFC 6265 §4.2.1; RFC 9113 §8.2.3).
            let separator = Array((name.elementsEqual("cookie".utf8) ? "; " : ", ").utf8)
            values[name] = values[name].map { $0 + separator + value } ?? value
        }
        return order.map { ($0, .text(TemplateRequest.valid(values[$0] ?? []))) }
    }

    private var cookies: Members {
        var pairs: [(name: [UInt8], value: [UInt8])] = []
        request.head.fields.forEach(named: Array("cookie".utf8)) { line in
            for part in line.split(separator: UInt8(ascii: ";")) {
                let trimmed = part.drop { $0 == 0x20 }
                let end = trimmed.firstIndex(of: UInt8(ascii: "=")) ?? trimmed.endIndex
                pairs.append((Array(trimmed[..<end]), Array(trimmed[end...].dropFirst())))
            }
        }
        return TemplateRequest.firsts(pairs)
    }

    private var time: MustacheValue {
        let seconds = Int64(wall / 1_000_000_000)
        return .mapping(
            MustacheMapping([
                "iso": .text(ISODate.text(seconds)), "http": .text(HTTPDate.bytes(seconds)), "unix": .integer(seconds),
            ]))
    }

    // MARK: Texts

    private static func decoded(_ text: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "%"), index + 2 < text.count, let high = text[index + 1].hexValue,
                let low = text[index + 2].hexValue
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(text[index])
                index += 1
            }
        }
        return valid(bytes)
    }

    /// The bytes, with U+FFFD for what is not UTF-8.
    private static func valid(_ bytes: [UInt8]) -> [UInt8] { Array(String(decoding: bytes, as: UTF8.self).utf8) }

    /// A random UUID (RFC 9562 §5.4).
    private static func identifier() -> String {
        let high = UInt64.random(in: .min ... .max) & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = UInt64.random(in: .min ... .max) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let text = Array(Hexadecimal.text(high, width: 16).lowercased() + Hexadecimal.text(low, width: 16).lowercased())
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(text[$0]) }.joined(separator: "-")
    }
}

/// Dates of ISO 8601, in UTC: `2026-11-22T20:15:00Z` (RFC 3339).
enum ISODate {
    /// - Parameter seconds: since 1970.
    static func text(_ seconds: Int64) -> String {
        let days = seconds / 86400 - (seconds % 86400 < 0 ? 1 : 0)
        let rest = seconds - days * 86400
        // Days from 1 March 0000, in eras of 400 years.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let day = shifted - era * 146_097
        let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365
        let ofYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * ofYear + 2) / 153
        let number = month < 10 ? month + 3 : month - 9
        let parts = [number, ofYear - (153 * month + 2) / 5 + 1, rest / 3600, rest / 60 % 60, rest % 60].map { part in
            part < 10 ? "0\(part)" : String(part)
        }
        return
            "\(year + era * 400 + (number <= 2 ? 1 : 0))-\(parts[0])-\(parts[1])T\(parts[2]):\(parts[3]):\(parts[4])Z"
    }
}

extension MustacheValue {
    /// A value of a row.
    init(_ cell: StatementRows.Cell) {
        switch cell {
        case .null: self = .null
        case .bool(let bool): self = .bool(bool)
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .real(real)
        case .text(let text): self = .text(text)
        case .json(let value): self = MustacheValue(value)
        }
    }

    /// What a statement gives.
    init(_ rows: StatementRows) {
        switch rows.result {
        case .value: self = rows.cells.first.map(MustacheValue.init) ?? .null
        case .list, .one:
            let made = MustacheRows(
                columns: rows.columns.map { Array($0.utf8) }, cells: rows.cells.map(MustacheValue.init))
            self = rows.result == .list ? .rows(made) : made.count > 0 ? .row(made[0]) : .null
        }
    }
}
