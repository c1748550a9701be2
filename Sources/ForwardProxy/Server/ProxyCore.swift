import Basics
import Files
import Glibc
import HTTPSemantics
import Logging
import NIOCore
import NIOPosix
import Substitution
import Synchronization

/// What all event loops share; immutable but for counters.
final class ProxyCore: Sendable {
    let configuration: ProxyConfiguration
    let addressPolicy: AddressPolicy
    let logSink: LogSink
    let logger: Logger
    let files: RetainedFiles
    let databases: Databases
    let templates = TemplatePages()
    let turns = ClientTurns()
    let sequences = ClientSequences()
    /// The cache behind the map; nil where nothing is stored.
    let cache: ResponseCache?
    let filePool: NIOThreadPool
    static let fileThreads = 8
    /// For half of the pool's threads: requests that need little of it find the others.
    let passing = PassingTurns(most: ProxyCore.fileThreads / 2)
    let counting: BodyCounting
    /// The certificates for the hosts whose tunnels are decrypted.
    let secureTunnels: SecureTunnels
    let originSecurity: OriginSecurity
    let identity: ProxyIdentity
    let counters = Counters()
    let roster = LoopRoster()
    let bypassWatch = BypassWatch()
    /// Whom requests are served for; nil where clients need no credentials.
    let access: AccessControl?
    let ownNames: OwnNames
    let transports: TransferLoops
    private let folders = Mutex<[ByBytes<String>: FolderRoot]>([:])

    /// The folder of a path, one for all event loops, so that its descriptor is opened once.
    func folder(_ path: String) -> FolderRoot {
        folders.withLock { folders in
            if let folder = folders[ByBytes(path)] { return folder }
            let folder = FolderRoot(path: path)
            folders[ByBytes(path)] = folder
            return folder
        }
    }

    /// Lets go of the folders that a map does not name; who uses one holds it.
    func keepFolders(of map: SubstitutionMap) {
        let named = Set((map.roots + map.archives.map(\.path)).map { ByBytes($0) })
        // They end behind the lock.
        let unused = folders.withLock { folders in
            let unused = folders.filter { !named.contains($0.key) }
            for path in unused.keys { folders[path] = nil }
            return unused
        }
        withExtendedLifetime(unused) {}
    }

    /// Bytes of memory for the answers that one event loop has ready: a half of the store's for all of them, as they
    /// come on top of it.
    var readyAnswersLimit: Int { max(16 << 20, files.limits.memory / 2) / max(1, configuration.threads) }

    init(
        configuration: ProxyConfiguration, addressPolicy: AddressPolicy, logSink: LogSink, logger: Logger,
        files: RetainedFiles, filePool: NIOThreadPool, identity: ProxyIdentity, ownNames: OwnNames,
        transports: TransferLoops
    ) {
        self.configuration = configuration
        self.addressPolicy = addressPolicy
        self.logSink = logSink
        self.logger = logger
        self.files = files
        databases = Databases(memory: files.limits.memory, loops: configuration.threads)
        cache = configuration.cache.isOn && configuration.recorder == nil ? ResponseCache(configuration.cache) : nil
        self.filePool = filePool
        counting = BodyCounting(filePool, passing)
        secureTunnels = SecureTunnels(
            folder: configuration.authorityFolder, pool: filePool, logger: logger)
        originSecurity = OriginSecurity(rootsFile: configuration.originCAFile, pool: filePool)
        self.identity = identity
        self.ownNames = ownNames
        self.transports = transports
        access = configuration.passwords.map { AccessControl($0) }
    }
}

/// Counts since the start of what is rare enough to be counted by all event loops in one place.
final class Counters: Sendable {
    /// Connections of clients that are open.
    let connections = Atomic<Int>(0)
    let accepted = Atomic<Int>(0)
    let refused = Atomic<Int>(0)
    private let strangers = Atomic<Int>(0)
    private let reloadMetrics = Mutex<[ReloadSubject: ReloadMetrics]>([:])

    /// Notes that a connection was refused for want of room.
    ///
    /// - Returns: whether it is the first one.
    func countRefusedConnection() -> Bool { refused.add(1, ordering: .relaxed).oldValue == 0 }

    /// Notes that a connection was closed since it was another user's.
    ///
    /// - Returns: whether it is the first one.
    func countStranger() -> Bool { strangers.add(1, ordering: .relaxed).oldValue == 0 }

    func count(reloadOf subject: ReloadSubject, succeeded: Bool) {
        reloadMetrics.withLock { metrics in
            if succeeded {
                metrics[subject, default: ReloadMetrics()].successes &+= 1
            } else {
                metrics[subject, default: ReloadMetrics()].failures &+= 1
            }
        }
    }

    /// The reloads of everything that can be read anew.
    var reloads: [(subject: ReloadSubject, metrics: ReloadMetrics)] {
        reloadMetrics.withLock { metrics in ReloadSubject.allCases.map { ($0, metrics[$0] ?? ReloadMetrics()) } }
    }
}

/// What is read anew while the proxy runs.
public enum ReloadSubject: String, Sendable, CaseIterable {
    case map, certificate, passwords
}

/// How many reloads of something could be used, and how many could not.
struct ReloadMetrics {
    var successes = 0
    var failures = 0
}

/// This instance's name in Via: `subproxy-` and eight hex digits made at start, so that two proxies in a chain are no
/// loop (RFC 9110 §7.6.3).
struct ProxyIdentity: Sendable {
    /// The pseudonym.
    let name: String
    /// The field line `Via: 1.1 subproxy-…` with its CRLF, for what the proxy itself answers.
    let viaLine: ByteBuffer
    private let oldViaLine: ByteBuffer

    /// The same for a response that is passed on, by the protocol that it was received in.
    func viaLine(_ version: HTTPVersion) -> ByteBuffer { version == .http1_0 ? oldViaLine : viaLine }

    /// Whether a request has been here already: this instance is named in its Via.
    func isNamed(in fields: FieldSection) -> Bool {
        guard fields.contains(.via) else { return false }
        return Array(name.utf8).withUnsafeBytes { Via.contains(pseudonym: $0, in: fields) }
    }

    init(random: UInt32 = .random(in: .min ... .max)) {
        name = "subproxy-" + withUnsafeBytes(of: random.bigEndian) { Hexadecimal.text($0) }
        viaLine = ByteBuffer(string: "Via: 1.1 \(name)\r\n")
        oldViaLine = ByteBuffer(string: "Via: 1.0 \(name)\r\n")
    }
}
