import HTTPSemantics

/// An instant on the two clocks of the model.
struct ModelInstant: CustomStringConvertible {
    /// Unix seconds, as they are written in fields.
    var wall: Int64
    /// Nanoseconds that never jump.
    var steady: UInt64

    /// Whole seconds from an earlier instant to this one, by the clock that never jumps.
    func seconds(since earlier: ModelInstant) -> Int64 {
        steady < earlier.steady ? 0 : Int64((steady - earlier.steady) / 1_000_000_000)
    }

    var description: String { "wall \(wall) steady \(steady)" }
}

/// A request as plain values.
struct ModelRequest: CustomStringConvertible {
    let method: String
    let fields: [ModelField]
    let hasContent: Bool
    let wishes: Wishes

    init(method: String = "GET", fields: [ModelField] = [], hasContent: Bool = false) {
        self.method = method
        self.fields = fields
        self.hasContent = hasContent
        wishes = Wishes(ModelRequest.directives(fields))
    }

    /// What the origin gets: the fields that Connection nominates are not passed on (RFC 9110 §7.6.1).
    var forwarded: [ModelField] { fields.withoutNominated }

    /// Cache-Control, or `no-cache` where only Pragma has it (RFC 9111 §5.4).
    private static func directives(_ fields: [ModelField]) -> ModelDirectives {
        if fields.has("cache-control") { return ModelDirectives(cacheControl: fields.values("cache-control")) }
        let pragma = fields.members("pragma").map { $0.lowercased() }
        return ModelDirectives(cacheControl: pragma.filter { $0 == "no-cache" })
    }

    var description: String { "\(method)\(hasContent ? " with content" : "") \(fields)" }

    /// What the directives of the request ask for; of repeated ones the stricter counts.
    struct Wishes {
        var noCache = false
        var noStore = false
        var maxAge: Int64?
        var minFresh: Int64?
        var maxStale: Int64?
        var staleIfError: Int64?

        init(_ directives: ModelDirectives) {
            noCache = directives.has("no-cache")
            noStore = directives.has("no-store")
            func numbers(_ name: String, whereBad: Int64?) -> [Int64] {
                (directives.arguments[name] ?? []).compactMap { argument in
                    guard case .text(let text) = argument, let value = ModelText.seconds(text) else { return whereBad }
                    return value
                }
            }
            maxAge = numbers("max-age", whereBad: 0).min()
            minFresh = numbers("min-fresh", whereBad: nil).max()
            staleIfError = numbers("stale-if-error", whereBad: nil).min()
            let limits = numbers("max-stale", whereBad: nil)
            // Without an argument: a stale response of any age.
            maxStale = limits.min() ?? ((directives.arguments["max-stale"] ?? []).contains(.none) ? .max : nil)
        }
    }
}

/// A response as plain values.
struct ModelResponse: CustomStringConvertible {
    var status: Int
    var fields: [ModelField]
    var requestedAt: ModelInstant
    var receivedAt: ModelInstant

    var description: String { "\(status) \(fields) requested \(requestedAt) received \(receivedAt)" }
}

/// Which bytes of a representation a 206 carries.
struct ModelPart: Equatable {
    var range: Range<Int>
    var completeLength: Int?

    /// Reads `bytes first-last/length` (RFC 9110 §14.4); nil for anything else.
    init?(contentRange: String) {
        guard contentRange.hasPrefix("bytes ") else { return nil }
        let halves = contentRange.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        let ends = (halves.first ?? "").split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard halves.count == 2, ends.count == 2, let first = ends[0], let last = ends[1], first <= last else {
            return nil
        }
        range = first..<last + 1
        guard halves[1] != "*" else { return }
        guard let length = Int(halves[1]), last < length else { return nil }
        completeLength = length
    }

    init(_ range: Range<Int>, of completeLength: Int?) {
        self.range = range
        self.completeLength = completeLength
    }

    var isComplete: Bool { completeLength.map { range == 0..<$0 } ?? false }

    /// The bytes that a Range field with one range asks for, where they all lie in this part (RFC 9111 §3.3).
    func range(of value: String) -> Range<Int>? {
        guard value.hasPrefix("bytes=") else { return nil }
        let ends = value.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard ends.count == 2 else { return nil }
        var wanted: Range<Int>
        switch (Int(ends[0]), Int(ends[1])) {
        case (let first?, let last?) where first <= last:
            wanted = first..<last + 1
            if let completeLength, wanted.upperBound > completeLength, first < completeLength {
                wanted = first..<completeLength
            }
        case (let first?, nil) where ends[1].isEmpty:
            guard let completeLength, first < completeLength else { return nil }
            wanted = first..<completeLength
        case (nil, let length?) where ends[0].isEmpty:
            guard let completeLength, length > 0 else { return nil }
            wanted = max(0, completeLength - length)..<completeLength
        default: return nil
        }
        return range.lowerBound <= wanted.lowerBound && wanted.upperBound <= range.upperBound ? wanted : nil
    }
}
