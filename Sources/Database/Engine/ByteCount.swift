/// Sizes in messages.
enum ByteCount {
    /// A size that somebody wrote: `256 MiB`.
    static func written(_ bytes: Int64) -> String {
        for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] as [(Int64, String)]
        where bytes >= 1 << shift && bytes & ((1 << shift) - 1) == 0 {
            return "\(bytes >> shift) \(unit)"
        }
        return measured(bytes)
    }

    /// A size that was measured: `1.2 GB`.
    static func measured(_ bytes: Int64) -> String {
        for (size, unit) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")] as [(Int64, String)]
        where bytes >= size {
            let tenths = bytes / (size / 10)
            return "\(tenths / 10).\(tenths % 10) \(unit)"
        }
        return "\(bytes) bytes"
    }
}
