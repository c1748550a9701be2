import Glibc

/// A network namespace with a loopback interface and no route anywhere: what works in it needs no network.
/// (network_namespaces(7), unshare(1), nsenter(1))
public enum NetworkNamespace {
    /// A command that executes another one in a namespace of its own.
    public static let wrapper = ["unshare", "--net", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]

    /// Starts another machine: a namespace that the calling thread's is joined with, and that has an address.
    ///
    /// - Returns: a process there, with which it ends.
    /// - Throws: ``Socket/Failure`` where it can't be made or joined with.
    public static func neighbour(at address: String) throws -> ChildProcess {
        let other = try ChildProcess(wrapper + ["sh", "-c", "echo ready; exec sleep 3600"])
        try Wait.until { other.output.contains("ready") }
        let link = """
            ip link add near type veth peer name far netns \(other.identifier) && \
            ip address add 192.0.2.1/32 dev near && ip link set near up && ip route add \(address) dev near && \
            nsenter --net --target \(other.identifier) sh -c 'ip address add \(address)/32 dev far && \
            ip link set far up && ip route add 192.0.2.1 dev far'
            """
        let linking = try ChildProcess.run(["sh", "-c", link])
        guard linking.status == 0 else { throw Socket.Failure.failed(linking.error, code: EIO) }
        return other
    }

    /// Whether this user may make one.
    public static let isAvailable: Bool = isPossible(wrapper)

    /// A namespace with two addresses of its own, 10.77.1.1 for the proxy and 10.77.1.2 for a client that counts as one
    /// on another machine. A command that executes another one in it.
    public static let twoAddresses = [
        "unshare", "--net", "sh", "-c",
        """
        ip link set lo up && ip address add 10.77.1.1/24 dev lo && ip address add 10.77.1.2/24 dev lo && \
        ip route replace local 10.77.1.1 dev lo table local src 10.77.1.2 && exec "$@"
        """,
        "sh",
    ]

    /// A command that executes another one in a network and a mount namespace of its own.
    ///
    /// - Parameter setUp: what the shell does there before.
    public static func wrapper(setUp: String) -> [String] {
        ["unshare", "--net", "--mount", "sh", "-c", "ip link set lo up && \(setUp) && exec \"$@\"", "sh"]
    }

    /// Whether this user may make one with mounts of its own.
    public static let isAvailableWithMounts: Bool = isPossible(wrapper(setUp: "mount --bind /etc /etc"))

    /// A command that executes another one in the network and mount namespaces of a process.
    public static func entering(_ process: ChildProcess) -> [String] {
        ["nsenter", "--net", "--mount", "--target", "\(process.identifier)"]
    }

    /// Runs `body` with the calling thread in the network namespace of a process: the sockets that it opens are there,
    /// and the threads and processes that it starts.
    ///
    /// - Throws: ``Socket/Failure/failed(_:code:)`` where the thread can't go there or back, and what `body` throws.
    public static func inside<Result>(_ process: ChildProcess, _ body: () throws -> Result) throws -> Result {
        let home = try openNamespace("/proc/thread-self/ns/net")
        defer { close(home) }
        let other = try openNamespace("/proc/\(process.identifier)/ns/net")
        defer { close(other) }
        try enter(other)
        let result = Swift.Result { try body() }
        // A thread that this one starts later must not be there any more.
        try enter(home)
        return try result.get()
    }

    private static func openNamespace(_ path: String) throws -> CInt {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Socket.Failure.failed("open \(path)", code: errno) }
        return descriptor
    }

    private static func enter(_ namespace: CInt) throws {
        typealias Function = @convention(c) (CInt, CInt) -> CInt
        // The C library's header shows setns(2) to programs with extensions of GNU only.
        guard let symbol = dlsym(nil, "setns") else { throw Socket.Failure.failed("setns", code: ENOSYS) }
        guard unsafeBitCast(symbol, to: Function.self)(namespace, 0) == 0 else {
            throw Socket.Failure.failed("setns", code: errno)
        }
    }

    private static func isPossible(_ wrapper: [String]) -> Bool {
        // That a program is missing is no reason of the kernel's.
        guard InstalledProgram.path("ip") != nil, InstalledProgram.path("unshare") != nil else { return true }
        return (try? ChildProcess.run(wrapper + ["true"]))?.status == 0
    }
}
