import Glibc

/// Walks the look-ups that lead from a path to its file, links included, so that a change of any of them can be seen.
enum LookupTrail {
    /// What the kernel follows at the most (path_resolution(7)).
    private static let maximumLinks = 40

    /// Visits each folder in which a name is looked up on the way to a file, up to the first that is not there.
    ///
    /// A folder is visited before the name is looked at in it, so that who watches it from then on misses nothing.
    ///
    /// - Parameters:
    ///   - path: absolute, without NUL.
    ///   - visit: the folder's path, free of links; the name; whether it may be the file's own.
    static func follow(_ path: [UInt8], _ visit: (_ folder: [UInt8], _ name: [UInt8], _ isLast: Bool) -> Void) {
        var pending = components(path)
        var folder: [UInt8] = []
        var links = 0
        while let name = pending.popLast() {
            if name.elementsEqual("..".utf8) {
                folder.removeSubrange((folder.lastIndex(of: UInt8(ascii: "/")) ?? 0)...)
                continue
            }
            visit(folder.isEmpty ? [UInt8(ascii: "/")] : folder, name, pending.isEmpty)
            let place = folder + [UInt8(ascii: "/")] + name
            switch target(of: place) {
            case .link(let target):
                links &+= 1
                guard links <= maximumLinks else { return }
                if target.first == UInt8(ascii: "/") { folder = [] }
                pending += components(target)
            case .other: folder = place
            case .missing: return
            }
        }
    }

    /// Whether a look-up ends at a name in a folder, which is free of links: with a file, or since nothing is there.
    static func endsAt(_ name: [UInt8], in folder: [UInt8]) -> Bool {
        guard !name.isEmpty, !name.elementsEqual(".".utf8), !name.elementsEqual("..".utf8) else { return false }
        if case .link = target(of: folder + [UInt8(ascii: "/")] + name) { return false }
        return true
    }

    private enum Target {
        case link([UInt8])
        case other, missing
    }

    private static func target(of path: [UInt8]) -> Target {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: RelativePath.maximumLength) { space in
            guard let base = space.baseAddress else { return .missing }
            let length = (path + [0]).withCString { readlink($0, base, space.count) }
            // EINVAL: it is there, and no link.
            guard length >= 0 else { return errno == EINVAL ? .other : .missing }
            return .link(space.prefix(length).map(UInt8.init(bitPattern:)))
        }
    }

    /// The components but empty ones and `.`, the first one last.
    private static func components(_ path: [UInt8]) -> [[UInt8]] {
        path.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }.reversed().map(Array.init)
    }
}
