/// Reads the file names of a map: paths below `root`, as bytes.
///
/// A name is taken literally: `~` and `$HOME` mean nothing here, and a `$` begins a capture. `.` and `..` are taken out
/// as text; a name that leaves `root` so is refused. A folder's name ends in `/`, or is `.`.
struct FileValue {
    /// The path without `.`, `..` and doubled slashes; `/` at the end of a folder's, and empty for `root` itself.
    var path: [UInt8]
    /// Whether it was written as a folder's name.
    var isFolder: Bool

    /// - Throws: Why the name can't be one, with the bytes at fault where not all of them are.
    init(_ name: [UInt8]) throws(KeyError) {
        guard !name.isEmpty else { throw KeyError("the file name is empty; './' is the folder that is the root") }
        if let position = name.firstIndex(of: 0) {
            throw KeyError("a file name has no NUL byte", at: position..<position + 1)
        }
        guard name.first != UInt8(ascii: "/") else {
            throw KeyError("an absolute path; files are named relative to 'root', which may be absolute")
        }
        if let position = FileValue.schemeEnd(name) {
            throw KeyError(
                "a file name is expected, not a URL; write { forward: URL } or { redirect: URL }",
                at: 0..<position)
        }
        guard name.count <= 4000 else { throw KeyError("the file name has more than 4000 bytes") }
        var parts: [ArraySlice<UInt8>] = []
        isFolder = false
        for part in name.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            isFolder = part.isEmpty || part.elementsEqual(".".utf8) || part.elementsEqual("..".utf8)
            if part.elementsEqual("..".utf8) {
                guard parts.popLast() != nil else {
                    throw KeyError("the path leaves the root; a file is below 'root'")
                }
            } else if !isFolder {
                parts.append(part)
            }
        }
        path = Array(parts.joined(separator: [UInt8(ascii: "/")]))
        if isFolder, !path.isEmpty { path.append(UInt8(ascii: "/")) }
    }

    /// Whether most names are as this one: to be taken as it stands, a file's.
    static func isPlain(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = name.first, first != UInt8(ascii: "/"), name.count <= 4000 else { return false }
        var atSegment = true
        for byte in name {
            switch byte {
            case 0, UInt8(ascii: ":"), UInt8(ascii: "$"): return false
            // Segments that begin so are looked at by the long way.
            case UInt8(ascii: "."), UInt8(ascii: "/"): if atSegment { return false }
            default: break
            }
            atSegment = byte == UInt8(ascii: "/")
        }
        return !atSegment
    }

    /// Where `://` ends, if what stands before it is a scheme.
    private static func schemeEnd(_ name: [UInt8]) -> Int? {
        let scheme = name.prefix { byte in
            (byte | 0x20) &- 0x61 < 26 || (0x30...0x39).contains(byte) || "+-.".utf8.contains(byte)
        }
        guard !scheme.isEmpty, name.dropFirst(scheme.count).starts(with: "://".utf8) else { return nil }
        return scheme.count + 3
    }
}
