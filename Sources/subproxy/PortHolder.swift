import Basics
import Diagnostics
import ForwardProxy
import Glibc
import NIOCore

/// A hint for the user where an address can't be listened on.
enum BindHint {
    /// What is printed behind the error.
    static func text(_ error: BindError) -> String {
        let port = error.address.port ?? 0
        switch error.code {
        case EADDRINUSE:
            let other = "choose another port with --listen"
            guard let holder = PortHolder.find(port: port) else {
                return "; 'ss -ltnp sport = :\(port)' shows who holds the port, or \(other)"
            }
            return
                "; \(visibleText(of: holder.name.utf8)) (process \(holder.process)) holds the port: end it, or \(other)"
        case EACCES, EPERM:
            return port < 1024
                ? "; ports below 1024 are for privileged programs: choose another port with --listen" : ""
        case EADDRNOTAVAIL: return "; this machine does not have the address ('ip address' lists those it has)"
        default: return ""
        }
    }
}

/// The process that listens on a port; those of other users are visible to root alone.
struct PortHolder {
    let process: Int
    let name: String

    /// Looks for a listener in /proc. (proc(5), "/proc/net/tcp": `0A` is TCP_LISTEN)
    static func find(port: Int) -> PortHolder? {
        let sockets = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap { listeners(in: $0, port: port) }
        guard !sockets.isEmpty else { return nil }
        let links = Set(sockets.map { "socket:[\($0)]" })
        for process in entries("/proc").compactMap({ DecimalNumber.parse($0.utf8) }) {
            let folder = "/proc/\(process)/fd"
            for entry in entries(folder) where target("\(folder)/\(entry)").map(links.contains) == true {
                return PortHolder(
                    process: process, name: text("/proc/\(process)/comm").first.map { String($0) } ?? "a process")
            }
        }
        return nil
    }

    /// The inodes of the sockets that listen on a port.
    private static func listeners(in file: String, port: Int) -> [String] {
        let ending = ":" + Hexadecimal.text(UInt(clamping: port), width: 4, .upper)
        return text(file).compactMap { line in
            let columns = line.split(separator: " ")
            guard columns.count > 9, columns[1].hasSuffix(ending), columns[3] == "0A", columns[9] != "0" else {
                return nil
            }
            return String(columns[9])
        }
    }

    private static func entries(_ folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func target(_ link: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let base = buffer.baseAddress else { return nil }
            let count = readlink(link, base, buffer.count)
            guard count > 0 else { return nil }
            return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// The lines of a file of the kernel's, up to 16 MiB of them.
    private static func text(_ file: String) -> [Substring] {
        let bytes = (try? FileReading.contents(of: file, upTo: 16 << 20)) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
