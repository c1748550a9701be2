import Basics
import Glibc

/// Which of the process's memory a core dump has. (core(5), "Controlling which mappings are written to the core dump")
///
/// A limit of 0 keeps the kernel from writing core files, but not from handing dumps to a program that
/// kernel.core_pattern names. A dump without memory is of no harm, and unlike PR_SET_DUMPABLE this leaves the process
/// to the debuggers and profilers of its owner.
struct CoreDumpFilter {
    /// The bits, in hexadecimal; empty where the system has no such filter.
    private let inherited: [UInt8]

    private static let file = "/proc/self/coredump_filter"

    /// Notes what the program was started with.
    init() {
        let bytes = (try? FileReading.contents(of: CoreDumpFilter.file, upTo: 32)) ?? []
        inherited = Array(bytes.prefix { $0 > 0x20 })
    }

    /// Leaves all memory out.
    func clear() { CoreDumpFilter.write(Array("0".utf8)) }

    /// Sets what was there at the start, for a child.
    func restore() {
        if !inherited.isEmpty { CoreDumpFilter.write(Array("0x".utf8) + inherited) }
    }

    private static func write(_ bytes: [UInt8]) {
        let descriptor = open(file, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        _ = Glibc.write(descriptor, bytes, bytes.count)
    }
}
