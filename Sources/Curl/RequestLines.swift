import Glibc

/// Field lines of a request in the order to send, in one piece of memory: `Name: value` each, without CRLF.
public struct RequestLines: Sendable, Equatable {
    /// Each line with a NUL behind it.
    private var bytes: [UInt8] = []
    public private(set) var count = 0
    /// Whether a line has a NUL within: then all that was appended is of no use.
    private(set) var isBroken = false

    public init() {}

    public init(_ lines: some Sequence<[UInt8]>) {
        for line in lines { append(line) }
    }

    /// The bytes of all lines, and one more for each.
    var byteCount: Int { bytes.count }

    /// Makes room for so many bytes more, those between name and value and behind it included.
    public mutating func reserve(_ more: Int) { bytes.reserveCapacity(bytes.count + more) }

    /// Adds `name: value`.
    public mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        write(name)
        bytes.append(0x3a)
        bytes.append(0x20)
        write(value)
        end()
    }

    /// Adds `name: value`.
    public mutating func append(_ name: StaticString, _ value: [UInt8]) {
        let name = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        value.withUnsafeBytes { append(name: name, value: $0) }
    }

    /// Adds `name: value`.
    public mutating func append(_ name: StaticString, _ value: String) {
        let name = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var value = value
        value.withUTF8 { append(name: name, value: UnsafeRawBufferPointer($0)) }
    }

    /// Adds a line as it is.
    public mutating func append(_ line: [UInt8]) {
        line.withUnsafeBytes { write($0) }
        end()
    }

    /// Whether a condition holds for each line; those behind the first for which it doesn't are not asked for.
    public func allSatisfy(_ condition: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        bytes.withUnsafeBytes { all in
            var rest = all
            while let start = rest.baseAddress, let end = memchr(start, 0, rest.count) {
                let length = UnsafeRawPointer(end) - start
                guard condition(UnsafeRawBufferPointer(rebasing: rest[..<length])) else { return false }
                rest = UnsafeRawBufferPointer(rebasing: rest[(length + 1)...])
            }
            return true
        }
    }

    /// Calls `body` with each line.
    public func forEach(_ body: (UnsafeRawBufferPointer) -> Void) {
        _ = allSatisfy { line in
            body(line)
            return true
        }
    }

    /// Removes lines.
    public mutating func removeAll(where isRemoved: (UnsafeRawBufferPointer) -> Bool) {
        var kept = RequestLines()
        kept.isBroken = isBroken
        forEach { line in
            guard !isRemoved(line) else { return }
            kept.write(line)
            kept.end()
        }
        self = kept
    }

    private mutating func write(_ part: UnsafeRawBufferPointer) {
        guard let start = part.baseAddress else { return }
        if memchr(start, 0, part.count) != nil { isBroken = true }
        bytes.append(contentsOf: part)
    }

    private mutating func end() {
        bytes.append(0)
        count += 1
    }
}

extension RequestLines: ExpressibleByArrayLiteral {
    public init(arrayLiteral lines: [UInt8]...) { self.init(lines) }
}
