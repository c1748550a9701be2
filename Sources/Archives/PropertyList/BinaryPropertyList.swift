import HTTPSemantics

/// Reads a binary property list by its offsets (CoreFoundation: CFBinaryPList.c): objects are read when they are asked
/// for.
struct BinaryPropertyList {
    private let bytes: ArchiveBytes
    private let offsetSize: Int
    private let referenceSize: Int
    private let count: Int
    private let tableOffset: Int
    /// The index of the outermost object.
    let top: Int
    // Two windows, so that offsets and objects don't drive each other out.
    private var offsets: ByteWindow
    private var objects: ByteWindow

    /// Reads the trailer, and looks at every reference once.
    ///
    /// - Parameter isChecked: whether that was done before.
    /// - Throws: ``ArchiveProblem`` where it is no property list, where a reference leads out of the file or in a
    ///   cycle, or where it is beyond limits.
    init(_ bytes: ArchiveBytes, isChecked: Bool = false) throws(ArchiveProblem) {
        self.bytes = bytes
        offsets = ByteWindow(bytes, size: 4096)
        objects = ByteWindow(bytes, size: 4096)
        let trailerStart = bytes.count - 32
        guard trailerStart >= 8 else { throw .cutShort(at: bytes.count) }
        let trailer = try bytes.read(trailerStart..<bytes.count)
        offsetSize = Int(trailer[6])
        referenceSize = Int(trailer[7])
        let wrong = ArchiveProblem.error(
            "this is no binary property list: its last 32 bytes are wrong", at: trailerStart)
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let count = Int(exactly: Self.number(trailer[8..<16])),
            let top = Int(exactly: Self.number(trailer[16..<24])),
            let tableOffset = Int(exactly: Self.number(trailer[24..<32])), count > 0, top < count
        else { throw wrong }
        guard count <= PropertyListFile.objectLimit else {
            throw .error("more than \(PropertyListFile.objectLimit) objects", at: trailerStart)
        }
        guard tableOffset >= 8, tableOffset <= trailerStart, count * offsetSize <= trailerStart - tableOffset else {
            throw wrong
        }
        (self.count, self.top, self.tableOffset) = (count, top, tableOffset)
        if !isChecked { try checkReferences() }
    }

    private static func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    /// Where in the file an object begins.
    mutating func offset(_ index: Int) throws(ArchiveProblem) -> Int {
        guard index >= 0, index < count else { throw .error("a reference leads out of the file", at: tableOffset) }
        let place = tableOffset + index * offsetSize
        try offsets.require(offsetSize, at: place)
        let value = Self.number(offsets.buffer[(place - offsets.start)...].prefix(offsetSize))
        guard let offset = Int(exactly: value), offset >= 8, offset < tableOffset else {
            throw .error("an object is outside of the file", at: place)
        }
        return offset
    }

    /// A marker, its number of elements or bytes, and where these begin.
    private struct Head {
        var kind: UInt8
        var low: UInt8
        var count: Int
        var start: Int
    }

    private mutating func head(_ offset: Int) throws(ArchiveProblem) -> Head {
        try objects.require(18, at: offset)
        let place = offset - objects.start
        let marker = objects.buffer[place]
        var head = Head(kind: marker >> 4, low: marker & 15, count: Int(marker & 15), start: offset + 1)
        guard [4, 5, 6, 0xA, 0xC, 0xD].contains(head.kind) else { return head }
        guard head.low == 15 else { return try checked(head) }
        guard place + 1 < objects.buffer.count, objects.buffer[place + 1] >> 4 == 1,
            objects.buffer[place + 1] & 15 <= 3
        else { throw .error("an object's length is none", at: offset) }
        let size = 1 << Int(objects.buffer[place + 1] & 15)
        guard offset + 2 + size <= tableOffset,
            let count = Int(exactly: Self.number(objects.buffer[(place + 2)...].prefix(size)))
        else { throw .error("an object's length is none", at: offset) }
        head.count = count
        head.start = offset + 2 + size
        return try checked(head)
    }

    /// Refuses an object that is longer than the file.
    private func checked(_ head: Head) throws(ArchiveProblem) -> Head {
        let unit =
            switch head.kind {
            case 6: 2
            case 0xA, 0xC: referenceSize
            case 0xD: referenceSize * 2
            default: 1
            }
        let (length, overflow) = head.count.multipliedReportingOverflow(by: unit)
        guard !overflow, length <= tableOffset - head.start else {
            throw .error("an object is longer than the file", at: head.start)
        }
        return head
    }

    /// The object of an index; what it contains are references.
    mutating func object(_ index: Int) throws(ArchiveProblem) -> PropertyList {
        let offset = try offset(index)
        let head = try head(offset)
        switch head.kind {
        case 0: return head.low == 8 ? .boolean(false) : head.low == 9 ? .boolean(true) : .null
        case 1: return .integer(Int64(truncatingIfNeeded: try number(head, offset)))
        case 2:
            let bits = try number(head, offset)
            return .real(
                head.low == 2 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits))
        case 3: return .date(Double(bitPattern: try number(Head(kind: 3, low: 3, count: 3, start: head.start), offset)))
        case 4: return .data(PropertyData(range: head.start..<head.start + head.count, isBase64: false))
        case 5: return .string(try bytes.read(head.start..<head.start + head.count))
        case 6: return .string(try utf16(head))
        case 8:
            guard head.low < 8, head.start + Int(head.low) + 1 <= tableOffset else { throw .cutShort(at: offset) }
            return .uid(Self.number(try bytes.read(head.start..<head.start + Int(head.low) + 1)))
        case 0xA, 0xC: return .array(try references(head, 0..<head.count).map { .reference($0) })
        case 0xD:
            let keys = try references(head, 0..<head.count)
            let values = try references(head, head.count..<head.count * 2)
            return .dictionary(zip(keys, values).map { PropertyMember(key: .reference($0), value: .reference($1)) })
        default: throw .error("an object is of no known type", at: offset)
        }
    }

    /// A number of 1, 2, 4 or 8 bytes, or the lower half of one of 16.
    private mutating func number(_ head: Head, _ offset: Int) throws(ArchiveProblem) -> UInt64 {
        guard head.low <= 4, head.start + (1 << Int(head.low)) <= tableOffset else { throw .cutShort(at: offset) }
        return Self.number(try bytes.read(head.start..<head.start + (1 << Int(head.low))))
    }

    private mutating func utf16(_ head: Head) throws(ArchiveProblem) -> [UInt8] {
        let text = try bytes.read(head.start..<head.start + head.count * 2)
        let units = stride(from: 0, to: text.count - 1, by: 2).map { UInt16(text[$0]) << 8 | UInt16(text[$0 + 1]) }
        return Array(String(decoding: units, as: UTF16.self).utf8)
    }

    private mutating func references(_ head: Head, _ range: Range<Int>) throws(ArchiveProblem) -> [Int] {
        let start = head.start + range.lowerBound * referenceSize
        let text = try bytes.read(start..<start + range.count * referenceSize)
        var references: [Int] = []
        references.reserveCapacity(range.count)
        for place in stride(from: 0, to: text.count, by: referenceSize) {
            let reference = Self.number(text[place..<place + referenceSize])
            guard let index = Int(exactly: reference), index < count else {
                throw .error("a reference leads out of the file", at: start + place)
            }
            references.append(index)
        }
        return references
    }

    /// Goes through all objects once, with the containers that it is in on a stack.
    ///
    /// Each reference has bytes of its own where objects don't lie over each other: so there are no more than bytes,
    /// and those of objects that do are not looked at again and again.
    private mutating func checkReferences() throws(ArchiveProblem) {
        var left = bytes.count
        let end = tableOffset
        func charged(_ children: [Int]) throws(ArchiveProblem) -> [Int] {
            left -= children.count
            guard left >= 0 else { throw .error("objects of the property list lie over each other", at: end) }
            return children
        }
        // 0: not seen, 1: on the stack, 2: done.
        var states = [UInt8](repeating: 0, count: count)
        for first in 0..<count where states[first] == 0 {
            var stack: [(index: Int, children: [Int], next: Int)] = []
            states[first] = 1
            stack.append((first, try charged(try children(first)), 0))
            while let last = stack.last {
                guard last.next < last.children.count else {
                    states[last.index] = 2
                    stack.removeLast()
                    continue
                }
                stack[stack.count - 1].next += 1
                let child = last.children[last.next]
                guard states[child] != 2 else { continue }
                guard states[child] == 0 else {
                    throw .error("an object contains itself", at: try offset(child))
                }
                guard stack.count < PropertyListFile.depthLimit else {
                    throw .error(
                        "more than \(PropertyListFile.depthLimit) objects in each other", at: try offset(child))
                }
                states[child] = 1
                stack.append((child, try charged(try children(child)), 0))
            }
        }
    }

    private mutating func children(_ index: Int) throws(ArchiveProblem) -> [Int] {
        let offset = try offset(index)
        let head = try head(offset)
        switch head.kind {
        case 0xA, 0xC: return try references(head, 0..<head.count)
        case 0xD: return try references(head, 0..<head.count * 2)
        default:
            guard [0, 1, 2, 3, 4, 5, 6, 8].contains(head.kind) else {
                throw .error("an object is of no known type", at: offset)
            }
            return []
        }
    }
}
