import Archives
import ArgumentParser
import ForwardProxy
import NIOCore

/// One option for each limit of the proxy.
struct LimitOptions: ParsableArguments {
    @Option(
        help: size("Size of a header section; a request with a larger one gets 431", \.headerSectionBytes),
        transform: OptionValue.size(1 << 10...16 << 20))
    var maxHeaderBytes: Int?

    @Option(
        help: count("Fields of a header section; a request with more gets 431", \.headerFields),
        transform: OptionValue.count(1...100_000))
    var maxHeaderFields: Int?

    @Option(
        help: size("Size of a request target; a request with a larger one gets 414", \.requestTargetBytes),
        transform: OptionValue.size(16...16 << 20))
    var maxTargetBytes: Int?

    @Option(
        help: ArgumentHelp(
            "Size of an archive's entry when it is decoded; a request for a larger one gets 502. "
                + "(default: \(OptionValue.sizeText(ArchiveLimits().body)))", valueName: "size"),
        transform: OptionValue.size(1 << 10...1 << 46))
    var maxEntryBody: Int?

    @Option(
        help: time("How long a client's connection may be idle", \.idleTimeout),
        transform: OptionValue.duration())
    var idleTimeout: TimeAmount?

    @Option(
        help: time("How long a header section may take to arrive; after that the answer is 408", \.headerTimeout),
        transform: OptionValue.duration())
    var headerTimeout: TimeAmount?

    @Option(
        help: time(
            "How long a connection attempt to an origin may take; after that the answer is 504", \.connectTimeout),
        transform: OptionValue.duration())
    var connectTimeout: TimeAmount?

    @Option(
        help: time(
            "How long an origin, or a client inside a body, may be silent; after that the answer is 504 or 408",
            \.silenceTimeout),
        transform: OptionValue.duration())
    var originTimeout: TimeAmount?

    @Option(
        help: time("How long a request waits for the response to another one for the same URL", \.collapseTimeout),
        transform: OptionValue.duration())
    var collapseTimeout: TimeAmount?

    @Option(
        help: time("How long a tunnel may carry nothing", \.tunnelIdleTimeout),
        transform: OptionValue.duration())
    var tunnelIdleTimeout: TimeAmount?

    @Option(
        help: count("Connections of clients at a time; more are closed at once", \.connections),
        transform: OptionValue.count(1...1_000_000))
    var maxConnections: Int?

    @Option(
        help: size("Body bytes in memory for one exchange, in each direction", \.bodyBytes),
        transform: OptionValue.size(16 << 10...1 << 30))
    var maxBodyBuffer: Int?

    @Option(
        help: time(
            "How long exchanges under way may take to finish when the proxy stops", \.shutdownGrace,
            or: "; with a command, \(OptionValue.durationText(LimitOptions.graceOfCommand))"),
        transform: OptionValue.duration(allowsZero: true))
    var shutdownGrace: TimeAmount?

    /// The default of ``shutdownGrace`` for the length of a command: nobody waits for what it has left behind.
    static let graceOfCommand = TimeAmount.seconds(1)

    /// The limits, with the defaults for what was not given.
    var limits: ProxyLimits {
        var limits = ProxyLimits()
        func set<Value>(_ limit: WritableKeyPath<ProxyLimits, Value>, _ value: Value?) {
            if let value { limits[keyPath: limit] = value }
        }
        set(\.headerSectionBytes, maxHeaderBytes)
        set(\.headerFields, maxHeaderFields)
        set(\.requestTargetBytes, maxTargetBytes)
        set(\.idleTimeout, idleTimeout)
        set(\.headerTimeout, headerTimeout)
        set(\.connectTimeout, connectTimeout)
        set(\.silenceTimeout, originTimeout)
        set(\.collapseTimeout, collapseTimeout)
        set(\.tunnelIdleTimeout, tunnelIdleTimeout)
        set(\.connections, maxConnections)
        set(\.bodyBytes, maxBodyBuffer)
        set(\.shutdownGrace, shutdownGrace)
        return limits
    }

    /// What reading archives may cost.
    var archives: ArchiveLimits {
        var archives = ArchiveLimits()
        archives.targetBytes = limits.requestTargetBytes
        archives.headerBytes = limits.headerSectionBytes
        if let maxEntryBody { archives.body = maxEntryBody }
        return archives
    }

    // The defaults in the help are the library's own.

    private static func size(_ text: String, _ limit: KeyPath<ProxyLimits, Int>) -> ArgumentHelp {
        ArgumentHelp(
            "\(text). (default: \(OptionValue.sizeText(ProxyLimits()[keyPath: limit])))", valueName: "size")
    }

    private static func count(_ text: String, _ limit: KeyPath<ProxyLimits, Int>) -> ArgumentHelp {
        ArgumentHelp("\(text). (default: \(ProxyLimits()[keyPath: limit]))", valueName: "number")
    }

    private static func time(
        _ text: String, _ limit: KeyPath<ProxyLimits, TimeAmount>, or other: String = ""
    ) -> ArgumentHelp {
        ArgumentHelp(
            "\(text). (default: \(OptionValue.durationText(ProxyLimits()[keyPath: limit]))\(other))",
            valueName: "duration")
    }
}
