/// A value of a property list. What is in an array or a dictionary of a binary one is a reference, which
/// ``PropertyListFile/value(_:)`` follows.
indirect enum PropertyList: Equatable, Sendable {
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    /// Seconds since the beginning of 2001.
    case date(Double)
    /// UTF-8.
    case string([UInt8])
    case data(PropertyData)
    /// A reference of a keyed archive, into its `$objects`.
    case uid(UInt64)
    case array([PropertyList])
    case dictionary([PropertyMember])
    case reference(Int)
    case null
}

struct PropertyMember: Equatable, Sendable {
    var key: PropertyList
    var value: PropertyList
}

/// Where in the file the bytes of a data value are.
struct PropertyData: Equatable, Sendable {
    var range: Range<Int>
    /// In XML.
    var isBase64: Bool
}

/// A property list, binary or XML, of which values are read one by one.
///
/// How many there are to read is bounded by the file's length, so that references to the same again and again take no
/// more time than the file's length allows.
struct PropertyListFile {
    /// The most objects of one.
    static let objectLimit = 4_000_000
    /// The most containers in each other.
    static let depthLimit = 128

    let root: PropertyList
    let bytes: ArchiveBytes
    private var binary: BinaryPropertyList?
    private var left: Int

    /// - Throws: ``ArchiveProblem`` where it is none, or is beyond limits.
    init(_ bytes: ArchiveBytes) throws(ArchiveProblem) {
        self.bytes = bytes
        left = bytes.count * 8 + 10_000
        if try bytes.read(at: 0, upTo: 7) == Array("bplist0".utf8) {
            let binary = try BinaryPropertyList(bytes)
            root = .reference(binary.top)
            self.binary = binary
        } else {
            var parser = try XMLPropertyList(bytes)
            root = try parser.document()
        }
    }

    /// A binary property list whose references were looked at before.
    ///
    /// - Throws: ``ArchiveProblem`` where it can't be read.
    init(unchecked bytes: ArchiveBytes) throws(ArchiveProblem) {
        self.bytes = bytes
        left = bytes.count * 8 + 10_000
        let binary = try BinaryPropertyList(bytes, isChecked: true)
        root = .reference(binary.top)
        self.binary = binary
    }

    /// A value of XML that has been read.
    init(root: PropertyList, _ bytes: ArchiveBytes) {
        self.root = root
        self.bytes = bytes
        left = bytes.count * 8 + 10_000
    }

    /// Follows a reference.
    ///
    /// - Throws: ``ArchiveProblem`` where the file can't be read, or is entangled.
    mutating func value(_ value: PropertyList) throws(ArchiveProblem) -> PropertyList {
        guard case .reference(let index) = value else {
            try charge(1)
            return value
        }
        guard let found = try binary?.object(index) else { return .null }
        switch found {
        case .array(let items): try charge(items.count + 1)
        case .dictionary(let members): try charge(members.count * 2 + 1)
        case .string(let text): try charge(text.count + 1)
        default: try charge(1)
        }
        return found
    }

    /// Counts work that reading a value has made.
    mutating func charge(_ count: Int) throws(ArchiveProblem) {
        left -= count
        guard left >= 0 else { throw .error("the property list refers to the same values too often", at: 0) }
    }

    /// The members of a dictionary by their keys, values followed; of a key that is given twice the first counts.
    mutating func members(_ value: PropertyList) throws(ArchiveProblem) -> [String: PropertyList]? {
        guard var members = try unfollowed(value) else { return nil }
        for (key, value) in members { members[key] = try self.value(value) }
        return members
    }

    /// The members of a dictionary by their keys, with values that may be references.
    mutating func unfollowed(_ value: PropertyList) throws(ArchiveProblem) -> [String: PropertyList]? {
        guard case .dictionary(let members) = try self.value(value) else { return nil }
        var found: [String: PropertyList] = [:]
        for member in members {
            guard case .string(let key) = try self.value(member.key) else { continue }
            let name = String(decoding: key, as: UTF8.self)
            if found[name] == nil { found[name] = member.value }
        }
        return found
    }

    /// Where in the file a dictionary begins, and its index where the list is binary: for ``dictionary(at:index:)``.
    mutating func place(of value: PropertyList) throws(ArchiveProblem) -> (offset: Int, index: Int) {
        switch value {
        case .reference(let index): return (try binary?.offset(index) ?? 0, index)
        case .dictionary(let members):
            guard case .integer(let offset) = members.first?.key else { return (0, 0) }
            return (Int(clamping: offset), 0)
        default: return (0, 0)
        }
    }
}
