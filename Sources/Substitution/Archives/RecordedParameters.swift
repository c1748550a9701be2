import HTTPSemantics

/// What of a query tells answers apart, and what only keeps caches from answering.
struct ParameterRules: Sendable {
    /// Further cache busters of the archive.
    var ignored: [WildcardText] = []
    /// Names of parameters that the archive has recorded as `REDACTED` somewhere: their values are not in hashes.
    var redacted: Set<[UInt8]> = []

    static let redactedValue = Array("REDACTED".utf8)
    private static let always: Set<[UInt8]> = Set(
        [
            "_", "__", "cb", "bust", "nocache", "no_cache", "uncache", "fbclid", "gclid", "gbraid", "wbraid", "dclid",
            "msclkid", "mc_cid", "mc_eid", "_ga", "_gl",
        ].map { Array($0.utf8) })
    private static let prefixes = ["cachebust", "cache_bust", "utm_"].map { Array($0.utf8) }
    private static let timed: Set<[UInt8]> = Set(
        ["t", "ts", "time", "timestamp", "rnd", "rand", "random", "v"].map { Array($0.utf8) })

    /// Whether a parameter takes no part, name and value.
    func isBuster(_ parameter: UnsafeRawBufferPointer) -> Bool {
        let equals = parameter.firstIndex(of: UInt8(ascii: "=")) ?? parameter.count
        let name = UnsafeRawBufferPointer(rebasing: parameter[..<equals])
        let value = UnsafeRawBufferPointer(rebasing: parameter[min(equals + 1, parameter.count)...])
        if name.count <= 16 {
            let text = Array(name)
            if ParameterRules.always.contains(text) { return true }
            if ParameterRules.timed.contains(text), ParameterRules.isTimeOrChance(value) { return true }
        }
        if ParameterRules.prefixes.contains(where: { $0.withUnsafeBytes { URLText.hasPrefix(name, $0) } }) {
            return true
        }
        if ParameterRules.isMilliseconds(value) { return true }
        return ignored.contains { $0.matches(name) }
    }

    /// Ten to sixteen digits, or `0.` and six digits or more.
    private static func isTimeOrChance(_ value: UnsafeRawBufferPointer) -> Bool {
        if (10...16).contains(value.count), value.allSatisfy(isDigit) { return true }
        return value.count >= 8 && value[0] == UInt8(ascii: "0") && value[1] == UInt8(ascii: ".")
            && value.dropFirst(2).allSatisfy(isDigit)
    }

    /// Thirteen digits from 1100000000000 to 2500000000000: the time in milliseconds from 2004 to 2049.
    private static func isMilliseconds(_ value: UnsafeRawBufferPointer) -> Bool {
        guard value.count == 13, value.allSatisfy(isDigit) else { return false }
        let number = value.reduce(0) { $0 * 10 + Int($1 & 15) }
        return (1_100_000_000_000...2_500_000_000_000).contains(number)
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    /// What of a parameter is in the hash that finds candidates: not the value of those that may equal any.
    func hashed(_ parameter: UnsafeRawBufferPointer) -> UInt64 {
        let equals = parameter.firstIndex(of: UInt8(ascii: "=")) ?? parameter.count
        let name = UnsafeRawBufferPointer(rebasing: parameter[..<equals])
        if ParameterRules.isRSC(name) { return URLHash.of(name) }
        if !redacted.isEmpty, redacted.contains(Array(name)) { return URLHash.of(name) }
        return URLHash.of(parameter)
    }

    /// Whether it is the parameter of React Server Components whose presence counts, and whose value busts caches.
    static func isRSC(_ name: UnsafeRawBufferPointer) -> Bool {
        name.count == 4 && name.elementsEqual("_rsc".utf8)
    }
}

/// The parameters of a URL, taken apart.
struct SplitQuery {
    struct Parameter {
        let bytes: UnsafeRawBufferPointer
        let nameLength: Int
        let isBuster: Bool

        var name: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[..<nameLength]) }

        var isRedacted: Bool {
            bytes.count == nameLength + 9 && bytes[(nameLength + 1)...].elementsEqual(ParameterRules.redactedValue)
        }

        /// Whether a request's parameter is the one that was recorded here.
        func admits(_ asked: Parameter) -> Bool {
            if URLText.equal(bytes, asked.bytes) { return true }
            return isRedacted && URLText.equal(name, asked.name)
        }

        /// The same where values that only bust caches are let go.
        func admitsLoosely(_ asked: Parameter) -> Bool {
            admits(asked) || (ParameterRules.isRSC(name) && ParameterRules.isRSC(asked.name))
        }
    }

    let parameters: [Parameter]

    init(_ url: UnsafeRawBufferPointer, pathEnd: Int, _ rules: ParameterRules) {
        guard pathEnd < url.count else {
            parameters = []
            return
        }
        parameters = QueryParameters(of: url, pathEnd: pathEnd).map { bytes in
            Parameter(
                bytes: bytes, nameLength: bytes.firstIndex(of: UInt8(ascii: "=")) ?? bytes.count,
                isBuster: rules.isBuster(bytes))
        }
    }

    var lasting: [Parameter] { parameters.filter { !$0.isBuster } }

    /// How this recorded query finds a request's: 1 the same, 2 in another order, 3 but for cache busters; nil not.
    func step(of asked: SplitQuery) -> Int? {
        if parameters.count == asked.parameters.count {
            if zip(parameters, asked.parameters).allSatisfy({ $0.admits($1) }) { return 1 }
            if SplitQuery.pair(parameters, asked.parameters, { $0.admits($1) }) == parameters.count { return 2 }
        }
        let (mine, theirs) = (lasting, asked.lasting)
        guard mine.count == theirs.count else { return nil }
        return SplitQuery.pair(mine, theirs, { $0.admitsLoosely($1) }) == mine.count ? 3 : nil
    }

    /// How many parameters are equal, busters and all.
    func equalCount(_ asked: SplitQuery) -> Int { SplitQuery.pair(parameters, asked.parameters) { $0.admits($1) } }

    /// 2·M/T of the parameters that are no cache busters (Dice's coefficient).
    func likeness(_ asked: SplitQuery) -> Double {
        let (mine, theirs) = (lasting, asked.lasting)
        guard !mine.isEmpty || !theirs.isEmpty else { return 1 }
        let equal = SplitQuery.pair(mine, theirs) { $0.admitsLoosely($1) }
        return Double(2 * equal) / Double(mine.count + theirs.count)
    }

    /// The names of cache busters in which the two differ, sorted, at most three.
    func bustersThatDiffer(_ asked: SplitQuery) -> [String] {
        var names: Set<String> = []
        guard isShort, asked.isShort else { return [] }
        for (ours, theirs) in [(self, asked), (asked, self)] {
            for parameter in ours.parameters where parameter.isBuster || ParameterRules.isRSC(parameter.name) {
                let isThere = theirs.parameters.contains { URLText.equal($0.bytes, parameter.bytes) }
                if !isThere { names.insert(String(decoding: parameter.name, as: UTF8.self)) }
            }
        }
        return Array(names.sorted().prefix(3))
    }

    /// The names of parameters in which the two differ, in the order of the request, then of the recording.
    func namesThatDiffer(_ asked: SplitQuery) -> [String] {
        var names: [String] = []
        guard isShort, asked.isShort else { return ["query"] }
        for (ours, theirs) in [(asked, self), (self, asked)] {
            for parameter in ours.parameters
            where !theirs.parameters.contains(where: { $0.admits(parameter) || parameter.admits($0) }) {
                let name = String(decoding: parameter.name, as: UTF8.self)
                if !names.contains(name) { names.append(name) }
            }
        }
        return names
    }

    /// Whether it has so few parameters that each may be compared with each.
    private var isShort: Bool { parameters.count <= 256 }

    /// How many of the first list find one of the second for themselves. Queries beyond 256 parameters are compared in
    /// their order alone, so that nobody buys a square of time with one long URL.
    private static func pair(
        _ first: [Parameter], _ second: [Parameter], _ equal: (Parameter, Parameter) -> Bool
    ) -> Int {
        guard first.count <= 256, second.count <= 256 else { return zip(first, second).count { equal($0, $1) } }
        var taken = [Bool](repeating: false, count: second.count)
        var count = 0
        // Those that are equal to the byte first, so that one which equals any does not take another's place.
        for isExact in [true, false] {
            for parameter in first where isExact != (parameter.isRedacted || ParameterRules.isRSC(parameter.name)) {
                for index in second.indices where !taken[index] && equal(parameter, second[index]) {
                    taken[index] = true
                    count += 1
                    break
                }
            }
        }
        return count
    }
}

/// What of a URL's query tells sequences apart, without an archive's own rules.
public enum ArchiveParameters {
    /// A URL without the parameters that only keep caches from answering, those that are left in the order of their bytes:
    /// equal for URLs that answer each other by `order` and `without`.
    public static func withoutBusters(_ url: [UInt8]) -> [UInt8] {
        guard let mark = url.firstIndex(of: UInt8(ascii: "?")) else { return url }
        let parameters = url.withUnsafeBytes { bytes in
            SplitQuery(bytes, pathEnd: mark, ParameterRules()).lasting.map { parameter in
                Array(ParameterRules.isRSC(parameter.name) ? parameter.name : parameter.bytes)
            }
        }
        let sorted = parameters.sorted { $0.lexicographicallyPrecedes($1) }
        return Array(url[..<mark]) + (sorted.isEmpty ? [] : [UInt8(ascii: "?")]) + sorted.joined(separator: [0x26])
    }
}
