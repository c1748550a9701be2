/// A path below a folder, checked before the kernel is asked and brought into one form, so that it can be a key.
///
/// Bytes are taken as they are: no Unicode normalisation, no case folding. Empty components and `.` are left out.
struct RelativePath: Hashable, Sendable {
    /// The components with `/` between them; empty for the folder itself.
    let bytes: [UInt8]
    /// Whether it ended in `/` or `/.`, which a path to a file can't.
    let mustBeDirectory: Bool
    /// Where the last component begins.
    private let nameStart: Int

    /// PATH_MAX less the NUL (limits.h).
    static let maximumLength = 4095

    /// Checks a path.
    ///
    /// - Throws: `invalidName` for one that is too long or has a NUL, `outsideRoot` for an absolute one or one with
    ///   `..`.
    init(_ path: some Collection<UInt8>) throws(FileRefusal) {
        guard path.count <= RelativePath.maximumLength, !path.contains(0) else { throw .invalidName }
        guard path.first != UInt8(ascii: "/") else { throw .outsideRoot }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(path.count)
        var nameStart = 0
        var mustBeDirectory = false
        for component in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            mustBeDirectory = component.isEmpty || component.elementsEqual(".".utf8)
            if mustBeDirectory { continue }
            guard !component.elementsEqual("..".utf8) else { throw .outsideRoot }
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "/")) }
            nameStart = bytes.count
            bytes.append(contentsOf: component)
        }
        self.bytes = bytes
        self.nameStart = nameStart
        self.mustBeDirectory = mustBeDirectory
    }

    /// The components before the last, with a NUL at the end; nil where there is one only.
    var parent: [UInt8]? {
        guard nameStart > 0 else { return nil }
        return Array(bytes[..<(nameStart &- 1)]) + [0]
    }

    /// The last component with `suffix` and a NUL at the end; the NUL alone for the folder itself.
    func name(suffix: StaticString = "") -> [UInt8] {
        var name = Array(bytes[nameStart...])
        suffix.withUTF8Buffer { name.append(contentsOf: $0) }
        name.append(0)
        return name
    }
}
