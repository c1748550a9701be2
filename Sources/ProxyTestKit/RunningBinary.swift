import Glibc

/// The built program, serving on a free port of 127.0.0.1; it ends with the object.
public final class RunningBinary: Sendable {
    /// The program: what SUBPROXY_BINARY names, or the one that was built together with the tests.
    public static let path: String = {
        if let named = getenv("SUBPROXY_BINARY") { return String(cString: named) }
        var link = [CChar](repeating: 0, count: 4096)
        let length = max(0, readlink("/proc/self/exe", &link, link.count))
        let executable = String(decoding: link[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
        let candidates = [bundle, executable, CommandLine.arguments.first].compactMap { $0 }.map { path in
            String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) + "/subproxy"
        }
        return candidates.first { access($0, X_OK) == 0 } ?? ".build/debug/subproxy"
    }()

    public let process: ChildProcess
    /// The port in the line that says that the program is ready.
    public let port: UInt16

    /// Starts the program and waits until it is ready.
    ///
    /// - Parameters:
    ///   - map: the path of the map file.
    ///   - options: further options; without `--log-file` the access log is ``log``.
    ///   - wrapper: a command that is started instead, and executes the program in its own place.
    /// - Throws: ``StartFailure`` where the program ends before it is ready, ``Socket/Failure`` where it can't be
    ///   started or is not ready in time.
    public convenience init(map: String, _ options: [String] = [], wrapper: [String] = []) throws {
        // The address that the tests ask comes before those of the options.
        try self.init(arguments: ["--map", map, "--listen", "127.0.0.1:0"] + options, wrapper: wrapper)
    }

    /// The same with another command than `serve`.
    ///
    /// - Parameter command: its name and options.
    /// - Throws: As above.
    public convenience init(command: [String], wrapper: [String] = []) throws {
        try self.init(arguments: command + ["--listen", "127.0.0.1:0"], wrapper: wrapper)
    }

    private init(arguments: [String], wrapper: [String]) throws {
        let process = try ChildProcess(
            wrapper + [RunningBinary.path] + arguments, environment: ["NOTIFY_SOCKET": ""])
        var port: UInt16?
        try Wait.until {
            port = RunningBinary.port(in: process.error)
            guard port == nil, process.status != nil else { return port != nil }
            throw StartFailure(error: process.error)
        }
        self.process = process
        self.port = port ?? 0
    }

    /// The program has ended before it was ready.
    public struct StartFailure: Error {
        public var error: String
    }

    /// The access log so far.
    public var log: String { process.output }

    /// Bytes of memory that the process has in use (`resident` of /proc/PID/statm in proc(5)).
    public var residentBytes: Int {
        let fields = RunningBinary.contents(of: "/proc/\(process.identifier)/statm").split(separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * sysconf(CInt(_SC_PAGESIZE))
    }

    /// Seconds of processor time that the process has used.
    public var processorSeconds: Double {
        // The second field, the name, may have spaces in it; it ends with the last parenthesis.
        let text = RunningBinary.contents(of: "/proc/\(process.identifier)/stat")
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[12]), let system = Double(fields[13]) else { return 0 }
        return (user + system) / Double(sysconf(CInt(_SC_CLK_TCK)))
    }

    /// The share of a processor that the process takes in the next so many seconds: next to nothing where it waits for
    /// something, and most of one where it goes round in circles, on a machine that is busy with other things too.
    public func processorShare(for seconds: Double) -> Double {
        let (start, used) = (Clock.seconds, processorSeconds)
        _ = Wait.keeps(for: seconds) { true }
        return (processorSeconds - used) / (Clock.seconds - start)
    }

    /// Whether the process has a file in its memory whose path contains `name`.
    public func hasMapped(_ name: String) -> Bool {
        RunningBinary.contents(of: "/proc/\(process.identifier)/maps").contains(name)
    }

    /// How many descriptors are open.
    public var descriptorCount: Int {
        guard let folder = opendir("/proc/\(process.identifier)/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Without the entries of the folder itself and of the one above it.
        return count - 2
    }

    /// The open descriptors: each number with what it is, such as `17 socket:[4711]`.
    ///
    /// Without those that retained files are looked at by, of which each file has one from its second look on.
    public var openDescriptors: [String] {
        guard let folder = opendir("/proc/\(process.identifier)/fd") else { return [] }
        defer { closedir(folder) }
        var targets: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/\(process.identifier)/fd/\(name)", &target, target.count)
            guard count >= 0 else { continue }
            let text = String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("/"), isForLooks(name) { continue }
            targets.append(name + " " + text)
        }
        return targets.sorted()
    }

    /// Whether a descriptor is of a file, and good for asking for its state alone (O_PATH).
    private func isForLooks(_ descriptor: String) -> Bool {
        var status = stat()
        guard stat("/proc/\(process.identifier)/fd/\(descriptor)", &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let line = RunningBinary.contents(of: "/proc/\(process.identifier)/fdinfo/\(descriptor)")
                .split(separator: "\n").first(where: { $0.hasPrefix("flags:") }),
            let flags = Int(line.dropFirst(6).filter { $0.isNumber }, radix: 8)
        else { return false }
        return flags & 0o10000000 != 0
    }

    /// Opens a connection to the proxy.
    ///
    /// - Throws: ``Socket/Failure/failed(_:code:)`` where it is refused.
    public func connect(seconds: Int = Int(Wait.limit), receiveBuffer: CInt? = nil) throws -> Socket {
        try Socket.connect(port: port, seconds: seconds, receiveBuffer: receiveBuffer)
    }

    /// Sends a request on a connection of its own and reads the response to its end.
    ///
    /// - Throws: ``Socket/Failure`` where the connection fails or nothing comes in time, ``NoResponse`` where no head
    ///   comes.
    public func exchange(
        _ method: String, _ url: String, fields: [String] = [], body: String? = nil, seconds: Int = Int(Wait.limit)
    ) throws -> ProxyResponse {
        let socket = try connect(seconds: seconds)
        try socket.sendRequest(method, url, fields: fields + ["Connection: close"], body: body)
        return try socket.receiveResponse(to: method)
    }

    /// Sends a GET on a connection of its own and reads the response to its end.
    ///
    /// - Throws: As ``exchange(_:_:fields:body:seconds:)`` does.
    public func get(_ url: String, fields: [String] = [], seconds: Int = Int(Wait.limit)) throws -> ProxyResponse {
        try exchange("GET", url, fields: fields, seconds: seconds)
    }

    /// Opens a tunnel.
    ///
    /// - Throws: ``TunnelRefused`` when the proxy does not let it through.
    public func tunnel(to port: UInt16, seconds: Int = Int(Wait.limit), receiveBuffer: CInt? = nil) throws -> Socket {
        let socket = try connect(seconds: seconds, receiveBuffer: receiveBuffer)
        try socket.send("CONNECT 127.0.0.1:\(port) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        let head = String(decoding: try socket.receive(until: "\r\n\r\n"), as: UTF8.self)
        guard head.hasPrefix("HTTP/1.1 200 ") else { throw TunnelRefused(head: head) }
        return socket
    }

    /// The answer to CONNECT was none that opens a tunnel.
    public struct TunnelRefused: Error {
        public var head: String
    }

    private static func port(in text: String) -> UInt16? {
        for line in text.split(separator: "\n") where line.hasPrefix("subproxy: listening on http://127.0.0.1:") {
            return UInt16(line.dropFirst("subproxy: listening on http://127.0.0.1:".count).prefix { $0.isNumber })
        }
        return nil
    }

    /// What a file of proc(5) says; empty where it is not there.
    ///
    /// A read of such a file gives as many whole lines as a page holds, however much is asked for: the end comes where
    /// a read gives none. Foundation's readers stop at the first short one.
    static func contents(of path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var all: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = read(file, &bytes, bytes.count)
            guard count > 0 else { return String(decoding: all, as: UTF8.self) }
            all += bytes[..<count]
        }
    }
}
