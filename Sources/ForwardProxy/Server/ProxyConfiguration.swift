public import Authentication
import Basics
public import Files
import HTTP1
public import NIOCore
public import Substitution

/// The bounds that keep one client, origin or request from costing the others; each has an option.
public struct ProxyLimits: Sendable {
    /// Bytes of a header section; the default is 64 KiB. Beyond it the answer is 431.
    public var headerSectionBytes = 64 << 10
    /// Fields of a header section; the default is 200. Beyond it the answer is 431.
    public var headerFields = 200
    /// Bytes of a request target; the default is 32 KiB. Beyond it the answer is 414.
    public var requestTargetBytes = 32 << 10
    /// How long a connection may be idle between requests; the default is 75 s.
    public var idleTimeout = TimeAmount.seconds(75)
    /// How long a header section may take to arrive; the default is 10 s. Then the answer is 408.
    public var headerTimeout = TimeAmount.seconds(10)
    /// How long a connection attempt to an origin may take; the default is 10 s.
    public var connectTimeout = TimeAmount.seconds(10)
    /// How long an origin, or a client that owes the rest of a body, may be silent; the default is 60 s.
    public var silenceTimeout = TimeAmount.seconds(60)
    /// How long a request waits for the head of the response to another one for the same URL, before it goes to the
    /// origin by itself; the default is 5 s.
    public var collapseTimeout = TimeAmount.seconds(5)
    /// How long a tunnel may carry nothing; the default is one hour.
    public var tunnelIdleTimeout = TimeAmount.hours(1)
    /// Client connections at a time; the default is 10,000.
    public var connections = 10_000
    /// Bytes of one exchange's body held in memory each way; the default is 256 KiB.
    public var bodyBytes = 256 << 10
    /// How long exchanges under way may take to finish when the proxy stops; the default is 10 s.
    public var shutdownGrace = TimeAmount.seconds(10)

    public init() {}

    /// The limits of messages, as the parser takes them.
    var message: MessageLimits {
        MessageLimits(
            headerSectionBytes: headerSectionBytes, fieldCount: headerFields, targetBytes: requestTargetBytes)
    }
}

/// What is stored of origins' responses (RFC 9111).
public struct CacheConfiguration: Sendable {
    public enum Mode: String, Sendable, CaseIterable {
        /// For several users: nothing that is for one of them is stored.
        case shared
        /// For one user, as NSURLCache is: what is marked `private`, and responses to requests with Authorization, are
        /// stored too.
        case `private`
        /// Nothing is stored.
        case off
    }

    /// The default is shared.
    public var mode = Mode.shared
    /// Bytes for stored responses; the default is 256 MiB, and 0 stores nothing.
    public var memory = 256 << 20
    /// Fields that are obeyed before Cache-Control where they are there, in this order (RFC 9213); the default is none.
    public var targetedFields: [[UInt8]] = []
    /// For how long after it became stale a response stands in for an origin that can't be reached. The default is
    /// seven days; 0 is never.
    public var staleIfUnreachable = TimeAmount.hours(7 * 24)
    /// What ages are measured by: nanoseconds of a clock that never jumps. Tests have one of their own.
    public var clock: @Sendable () -> UInt64 = { steadyNanoseconds() }

    public init() {}

    var isOn: Bool { mode != .off && memory > 0 }
}

/// Everything that a ``ProxyServer`` is told at start.
public struct ProxyConfiguration: Sendable {
    /// What a replay of archives tells at its end; nil where none is replayed. The default is nil.
    public var replay: ReplayReport?
    /// What a replay that asks no origin answers for a host that no archive has. The default is 504.
    public var missingHost = ArchiveMissing.timeout
    /// Whether what a rule forwards is looked for in archives first, as where they are what was recorded of it. The
    /// default is no.
    public var replaysForwarded = false
    /// What writes down the answers of origins; nil, the default, for nothing. While there is one, nothing is stored.
    public var recorder: (any ExchangeRecorder)?
    /// Hosts, with stars, whose tunnels are not decrypted, whatever else says so. The default is none.
    public var tunnelled: [String] = []
    /// Hosts, with stars, whose tunnels are decrypted beside those that the map names. The default is none.
    public var decrypted: [String] = []
    /// Addresses to listen on; the default is 127.0.0.1:8888. Port 0 picks a free one.
    public var listeners: [SocketAddress] = []
    /// Addresses to listen on with TLS, for clients that speak it to their proxy; the default is none.
    public var secureListeners: [SocketAddress] = []
    /// Sockets that listen already; the default is none.
    public var passedListeners: [PassedListener] = []
    /// What the listeners with TLS are known by; without it they are not opened.
    public var listenerIdentity: ListenerIdentity?
    /// The passwords of which a client needs to know one; without them the proxy is everybody's who reaches it.
    public var passwords: Passwords?
    /// Never ask an origin.
    public var isOffline = false
    /// What reload-ignoring-cache requests get where a rule does not itself say `bypass`; nil leaves it to the map.
    public var bypass: RuleOptions.Bypass?
    /// Retained files: memory in all and the largest file kept.
    public var retention = RetentionLimits()
    /// Stored responses.
    public var cache = CacheConfiguration()
    /// A parent proxy (`http://`, `socks5://` or `socks5h://`), or nil to connect directly.
    public var upstreamProxy: String?
    /// Hosts that are reached without the parent proxy, as libcurl's CURLOPT_NOPROXY: a comma-separated list.
    public var noProxy = ""
    /// `HOST:PORT:ADDRESS` entries, as CURLOPT_RESOLVE.
    public var resolve: [String] = []
    /// A file of certificates to trust for origins instead of the system's.
    public var originCAFile: String?
    /// Where the certificate authority for https hosts of the map is kept; nil is the default folder.
    public var authorityFolder: String?
    /// Ports that CONNECT may name, besides those that the map names; the default is 443 and 8443.
    public var connectPorts: Set<UInt16> = [443, 8443]
    /// Whether clients on other machines may reach loopback and private addresses; the default is no.
    public var allowsPrivateForRemote = false
    /// Whether connections of this process's own user, and root's, alone are accepted, as the kernel tells whose they
    /// are; others are closed. The default is no.
    public var admitsOwnUserAlone = false
    /// Whether clients on this machine may reach loopback and private addresses; the default is yes.
    public var allowsPrivateForLocal = true
    /// Whether clients on this machine may reach the metadata services of clouds; the default is no.
    public var allowsMetadata = false
    /// Event loops; the default is one for each core, at most four.
    public var threads = max(1, min(System.coreCount, 4))
    /// The numbers of the local users, besides the proxy's own, who may look at sessions; the default is none.
    public var consoleUsers: Set<UInt32> = []
    /// The folder of saved sessions; nil where there is none.
    public var sessionsFolder: String?
    public var limits = ProxyLimits()
    public var logFormat = LogFormat.text
    /// Where the program's own messages go, whose losses the metrics count too.
    public var messageSink: LogSink?
    /// The program's version, for the metrics.
    public var version = ""
    /// Whether query values of unmapped URLs are logged; they are at `--log-level debug`.
    public var logsQueryValues = false

    public init() {}

    /// Whether clients on other machines may reach all that clients on this one may, so that they share what is stored.
    var sharesWithRemote: Bool { allowsPrivateForRemote && allowsPrivateForLocal && !allowsMetadata }
}

extension TimeAmount {
    /// The nanoseconds of a limit; none of a negative one.
    var clampedNanoseconds: UInt64 { UInt64(max(0, nanoseconds)) }
}
