import ProxyTestKit
import Testing

/// The built program with real clients and misbehaving origins. One test at a time, since several measure memory,
/// descriptors or time; beside them runs what does not.
@Suite("End to end", .serialized, .onThreads)
enum EndToEnd {
    /// The folder of this file.
    static let folder = EndToEndTests.folder(of: #filePath)
    /// The raw byte cases with their driver, and the origin that misbehaves on demand.
    static let cases = "\(folder)/Cases"
    /// Clients in Python.
    static let scripts = "\(folder)/Scripts"
    static let mebibyte = 1 << 20
}

/// The built program with browsers, which wait much of their time: beside each other and beside other tests, since none
/// measures what the program takes.
@Suite("In browsers", .withBrowsers)
enum InBrowsers {
    static let scripts = EndToEnd.scripts
}

/// A folder with a map and its files, and the program that serves it.
final class ServedMap {
    let folder: TemporaryFolder
    let binary: RunningBinary
    var mapPath: String { "\(folder.path)/m.yaml" }

    /// - Parameters:
    ///   - rules: the lines below `substitutions:`.
    ///   - files: names and contents of files beside the map.
    ///   - port: one that CONNECT may name.
    init(
        _ rules: String = "http://mapped.test/x: { text: x }", files: [String: String] = [:], options: [String] = [],
        tunnelsTo port: UInt16? = nil, wrapper: [String] = []
    ) throws {
        folder = TemporaryFolder()
        for (name, text) in files { try folder.write(name, text) }
        let map = try folder.write("m.yaml", ServedMap.text(rules))
        binary = try RunningBinary(
            map: map, options + (port.map { ["--connect-ports", "\($0)"] } ?? []), wrapper: wrapper)
        // The thread that watches the map may begin later than the first request: what the program holds has it from
        // here on.
        if wrapper.isEmpty { try Wait.until { binary.openDescriptors.contains { $0.contains("inotify") } } }
    }

    /// The text of a map with these rules.
    static func text(_ rules: String) -> String {
        "substitutions:\n" + rules.split(separator: "\n").map { "  \($0)\n" }.joined()
    }
}

/// The origin of `Cases/faultorigin.py`, whose paths name the faults.
final class FaultOrigin {
    let port: UInt16
    private let process: ChildProcess

    init() throws {
        let process = try ChildProcess(
            ["python3", "-B", "\(EndToEnd.cases)/faultorigin.py", "--port", "0", "--life", "900"])
        var port: UInt16?
        try Wait.until {
            port = process.output.split(separator: "\n").first.flatMap { UInt16($0) }
            return port != nil
        }
        self.process = process
        self.port = port ?? 0
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}
