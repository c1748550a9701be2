import NIOCore

/// Writes Prometheus's text format, version 0.0.4.
///
/// By hand, in place of a library of metrics: the numbers exist already, on loops that need no locks for them, and the
/// format is two comment lines a family and one line a sample.
struct MetricsWriter {
    static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    enum Kind: String { case counter, gauge, histogram }

    typealias Label = (name: StaticString, value: String)

    private(set) var buffer = ByteBuffer()

    /// Begins a family of samples; those that follow are its own.
    mutating func family(_ name: StaticString, _ kind: Kind, _ help: StaticString) {
        buffer.writeStaticString("# HELP ")
        buffer.writeStaticString(name)
        buffer.writeStaticString(" ")
        buffer.writeStaticString(help)
        buffer.writeStaticString("\n# TYPE ")
        buffer.writeStaticString(name)
        buffer.writeStaticString(" ")
        buffer.writeString(kind.rawValue)
        buffer.writeStaticString("\n")
    }

    /// Writes a sample of the family.
    ///
    /// - Parameter suffix: what follows the family's name in a histogram's samples.
    mutating func sample(_ name: StaticString, suffix: StaticString = "", _ labels: [Label] = [], _ value: String) {
        buffer.writeStaticString(name)
        buffer.writeStaticString(suffix)
        for (index, label) in labels.enumerated() {
            buffer.writeStaticString(index == 0 ? "{" : ",")
            buffer.writeStaticString(label.name)
            buffer.writeStaticString("=\"")
            for byte in label.value.utf8 {
                switch byte {
                case UInt8(ascii: "\\"): buffer.writeStaticString("\\\\")
                case UInt8(ascii: "\""): buffer.writeStaticString("\\\"")
                case UInt8(ascii: "\n"): buffer.writeStaticString("\\n")
                default: buffer.writeInteger(byte)
                }
            }
            buffer.writeStaticString("\"")
        }
        if !labels.isEmpty { buffer.writeStaticString("}") }
        buffer.writeStaticString(" ")
        buffer.writeString(value)
        buffer.writeStaticString("\n")
    }

    mutating func sample(_ name: StaticString, _ labels: [Label] = [], _ value: some BinaryInteger) {
        sample(name, labels, "\(value)")
    }

    /// A family of one sample.
    mutating func single(_ name: StaticString, _ kind: Kind, _ help: StaticString, _ value: some BinaryInteger) {
        family(name, kind, help)
        sample(name, [], value)
    }

    /// A family of one sample, in seconds.
    mutating func single(_ name: StaticString, _ kind: Kind, _ help: StaticString, nanoseconds: UInt64) {
        family(name, kind, help)
        sample(name, [], MetricsWriter.seconds(nanoseconds))
    }

    /// Writes the samples of a histogram of durations.
    mutating func histogram(
        _ name: StaticString, _ labels: [Label], buckets: [UInt64], bounds: [UInt64], nanoseconds: UInt64
    ) {
        var count: UInt64 = 0
        for (index, bucket) in buckets.enumerated() {
            count &+= bucket
            let bound = index < bounds.count ? MetricsWriter.seconds(bounds[index]) : "+Inf"
            sample(name, suffix: "_bucket", labels + [("le", bound)], "\(count)")
        }
        sample(name, suffix: "_sum", labels, MetricsWriter.seconds(nanoseconds))
        sample(name, suffix: "_count", labels, "\(count)")
    }

    /// `0.00025`: whole seconds, and as many places as are needed.
    static func seconds(_ nanoseconds: UInt64) -> String {
        let whole = nanoseconds / 1_000_000_000
        var rest = nanoseconds % 1_000_000_000
        guard rest > 0 else { return "\(whole)" }
        var places = 9
        while rest % 10 == 0 {
            rest /= 10
            places &-= 1
        }
        let digits = "\(rest)"
        return "\(whole)." + String(repeating: "0", count: places &- digits.utf8.count) + digits
    }
}
