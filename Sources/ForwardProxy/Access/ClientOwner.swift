import Basics
import CLinux
import Glibc
import NIOCore
import Synchronization

/// Whose a client's socket is: asked of the kernel once a connection, when a page is asked for that depends on it.
///
/// Bound to the client's event loop.
final class ClientOwner {
    /// What the kernel says.
    enum Answer: Equatable, Sendable {
        /// The user's number in this process's namespace.
        case user(UInt32)
        case unknown
    }

    /// A connection of TCP, seen from the proxy.
    struct Pair: Sendable {
        let remote: SocketAddress
        let local: SocketAddress
    }

    private let channel: any Channel
    /// Nil before it was asked.
    private(set) var answer: Answer?

    init(_ channel: any Channel) { self.channel = channel }

    /// Asks the kernel, on the pool where that takes a look into its tables.
    func ask(on pool: LoopContext, _ completion: @escaping (Answer) -> Void) {
        if let answer { return completion(answer) }
        let note = { [self] (found: Answer) in
            answer = found
            completion(found)
        }
        if channel.localAddress?.protocol == .unix { return askPeer(note) }
        guard let remote = channel.remoteAddress, let local = channel.localAddress else { return note(.unknown) }
        let pair = Pair(remote: remote, local: local)
        pool.onFilePool({ () throws(SystemError) in SocketTable.owner(of: pair) }) { result in
            note((try? result.get()) ?? .unknown)
        }
    }

    /// unix(7), SO_PEERCRED: the process that has connected. Its structure is of three numbers: process, user, group.
    private func askPeer(_ completion: @escaping (Answer) -> Void) {
        let option = NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        guard let socket = channel as? any SocketOptionProvider else { return completion(.unknown) }
        let found: EventLoopFuture<PeerCredentials> = socket.unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel(rawValue: SOL_SOCKET), name: option)
        found.assumeIsolated().whenComplete { result in
            guard case .success(let peer) = result else { return completion(.unknown) }
            completion(SocketTable.answer(peer.user))
        }
    }

    /// `struct ucred`.
    private struct PeerCredentials: Sendable {
        var process: Int32
        var user: UInt32
        var group: UInt32
    }
}

/// The kernel's table of sockets.
enum SocketTable {
    /// The user whose socket is at the other end of a connection; unknown where it is not on this machine.
    ///
    /// - Parameter read: looks for it among all.
    static func owner(
        of pair: ClientOwner.Pair, read: (ClientOwner.Pair) -> UInt32? = SocketTable.read
    ) -> ClientOwner.Answer {
        guard let user = user(of: pair, read) else { return .unknown }
        return answer(user)
    }

    /// What a number from the kernel says. In a namespace of users that has not all of them, the ones that it has not
    /// are all shown as the same number (user_namespaces(7)).
    static func answer(_ user: UInt32, hasAllUsers: Bool = SocketTable.hasAllUsers) -> ClientOwner.Answer {
        user == .max || (user == 65_534 && !hasAllUsers) ? .unknown : .user(user)
    }

    /// Whether this process's namespace has all users.
    static let hasAllUsers: Bool = {
        guard let map = try? FileReading.contents(of: "/proc/self/uid_map", upTo: 4096) else { return false }
        let numbers = map.split { $0 == 0x20 || $0 == 0x0A }.map { String(decoding: $0, as: UTF8.self) }
        return numbers == ["0", "0", "4294967295"]
    }()

    /// Whether the kernel has answered a question for one socket. Then "there is none" is an answer too, and not that
    /// of a kernel without sock_diag(7).
    private static let answers = Atomic(false)

    /// To ask takes some 10 µs, however many sockets there are; to look through 10,000 takes 25 ms and more. A client
    /// that is gone at once must not cost that.
    private static func user(of pair: ClientOwner.Pair, _ read: (ClientOwner.Pair) -> UInt32?) -> UInt32? {
        do throws(SystemError) {
            let user = try asked(pair)
            answers.store(true, ordering: .relaxed)
            return user
        } catch {
            return error.code == ENOENT && answers.load(ordering: .relaxed) ? nil : read(pair)
        }
    }

    /// Asks for the one socket (sock_diag(7)).
    ///
    /// - Throws: ENOENT where there is none that somebody holds open, or the kernel knows nothing of the question.
    static func asked(_ pair: ClientOwner.Pair) throws(SystemError) -> UInt32 {
        guard let remote = AddressBytes(pair.remote), let local = AddressBytes(pair.local),
            let remotePort = pair.remote.port.flatMap(UInt16.init(exactly:)),
            let localPort = pair.local.port.flatMap(UInt16.init(exactly:))
        else { throw SystemError(EAFNOSUPPORT) }
        var user: UInt32 = 0
        let result = remote.withKernelForm { source in
            local.withKernelForm { destination in
                guard source.count == destination.count, let from = source.baseAddress,
                    let to = destination.baseAddress
                else { return -EINVAL }
                return linux_socket_user(from, remotePort, to, localPort, source.count, &user)
            }
        }
        guard result == 0 else { throw SystemError(-result) }
        return user
    }

    /// Looks for the socket among all: where the kernel knows no sock_diag(7), or a filter forbids it (proc(5),
    /// `/proc/net/tcp`).
    static func read(_ pair: ClientOwner.Pair) -> UInt32? {
        for (file, isIPv6) in [("/proc/self/net/tcp", false), ("/proc/self/net/tcp6", true)] {
            guard let source = place(pair.remote, isIPv6: isIPv6), let destination = place(pair.local, isIPv6: isIPv6),
                let table = try? FileReading.contents(of: file, upTo: 64 << 20)
            else { continue }
            for line in table.split(separator: UInt8(ascii: "\n")) {
                if let user = user(line, from: source, to: destination) { return user }
            }
        }
        return nil
    }

    /// The user of a line of the table, if it is the connection's: state, and an inode that somebody holds open, tell
    /// that the socket can be read from.
    static func user(_ line: ArraySlice<UInt8>, from source: String, to destination: String) -> UInt32? {
        let columns = line.split(separator: 0x20, maxSplits: 10)
        guard columns.count > 9, columns[1].elementsEqual(source.utf8), columns[2].elementsEqual(destination.utf8),
            ["01", "04", "05", "08"].contains(where: { columns[3].elementsEqual($0.utf8) }),
            !columns[9].elementsEqual("0".utf8)
        else { return nil }
        return UInt32(String(decoding: columns[7], as: UTF8.self))
    }

    /// An address and a port as the table writes them: numbers of 32 bits in the machine's own order.
    static func place(_ address: SocketAddress, isIPv6: Bool) -> String? {
        guard let bytes = AddressBytes(address), let port = address.port.flatMap(UInt16.init(exactly:)) else {
            return nil
        }
        let kernel = bytes.withKernelForm { Array($0) }
        if kernel.count == 16, !isIPv6 { return nil }
        // An IPv4 address in the table of IPv6 is a mapped one.
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        let whole = isIPv6 && kernel.count == 4 ? mapped + kernel : kernel
        var text = ""
        for start in stride(from: 0, to: whole.count, by: 4) {
            let number = whole.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: UInt32.self) }
            text += Hexadecimal.text(number, width: 8, .upper)
        }
        return text + ":" + Hexadecimal.text(port, width: 4, .upper)
    }
}
