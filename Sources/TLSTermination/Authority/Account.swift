import Glibc

/// The entry of this process's user in the user database (`getpwuid_r`).
struct Account {
    let name: String
    let home: String

    /// Nil where the user has none, as in many containers.
    static var current: Account? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        // The strings are in the buffer: they are copied while it can't move.
        return buffer.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress,
                getpwuid_r(geteuid(), &entry, base, buffer.count, &found) == 0, found != nil, let name = entry.pw_name,
                let home = entry.pw_dir
            else { return nil }
            return Account(name: String(cString: name), home: String(cString: home))
        }
    }

    /// The name of this machine (`gethostname`).
    static var machine: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "localhost" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
