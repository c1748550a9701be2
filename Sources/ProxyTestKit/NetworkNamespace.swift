/// A network namespace with a loopback interface and no route anywhere: what works in it needs no network.
/// (network_namespaces(7), unshare(1), nsenter(1))
public enum NetworkNamespace {
    /// A command that executes another one in a namespace of its own.
    public static let wrapper = ["unshare", "--net", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]

    /// Whether this user may make one.
    public static let isAvailable: Bool = {
        let process = try? ChildProcess.run(wrapper + ["true"], seconds: 10)
        return process?.status == 0
    }()

    /// A command that executes another one in the namespace of a process.
    public static func entering(_ process: ChildProcess) -> [String] {
        ["nsenter", "--net", "--target", "\(process.identifier)"]
    }
}
