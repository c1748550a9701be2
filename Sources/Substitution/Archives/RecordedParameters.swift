import Glibc
import HTTPSemantics

/// What of a query tells answers apart, and what only keeps caches from answering.
struct ParameterRules: Sendable {
    /// Further cache busters of the archive.
    var ignored: [WildcardText] = []
    /// Names of parameters that the archive has recorded as `REDACTED` somewhere: their values are not in hashes.
    var redacted: Set<[UInt8]> = []

    static let redactedValue = Array("REDACTED".utf8)

    /// Whether a parameter takes no part, name and value.
    func isBuster(_ parameter: UnsafeRawBufferPointer) -> Bool {
        let equals = ParameterRules.nameLength(parameter)
        let name = UnsafeRawBufferPointer(rebasing: parameter[..<equals])
        let value = UnsafeRawBufferPointer(rebasing: parameter[min(equals + 1, parameter.count)...])
        if ParameterRules.isAlways(name) || ParameterRules.isTagged(name) { return true }
        if ParameterRules.isTimed(name), ParameterRules.isTimeOrChance(value) { return true }
        if ParameterRules.isMilliseconds(value) { return true }
        return ignored.contains { $0.matches(name) }
    }

    /// Where the name of a parameter ends.
    static func nameLength(_ parameter: UnsafeRawBufferPointer) -> Int {
        guard let start = parameter.baseAddress, let equals = memchr(start, 0x3D, parameter.count) else {
            return parameter.count
        }
        return UnsafeRawPointer(equals) - start
    }

    private static func isAlways(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 1: name.equals("_")
        case 2: name.equals("__") || name.equals("cb")
        case 3: name.equals("_ga") || name.equals("_gl")
        case 4: name.equals("bust")
        case 5: name.equals("gclid") || name.equals("dclid")
        case 6:
            name.equals("fbclid") || name.equals("gbraid") || name.equals("wbraid") || name.equals("mc_cid")
                || name.equals("mc_eid")
        case 7: name.equals("nocache") || name.equals("uncache") || name.equals("msclkid")
        case 8: name.equals("no_cache")
        default: false
        }
    }

    /// Whether it is one of those that begin in a known way.
    private static func isTagged(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.first {
        case UInt8(ascii: "c"): name.begins(with: "cachebust") || name.begins(with: "cache_bust")
        case UInt8(ascii: "u"): name.begins(with: "utm_")
        default: false
        }
    }

    /// Whether it busts caches where its value is a time or a number by chance.
    private static func isTimed(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 1: name.equals("t") || name.equals("v")
        case 2: name.equals("ts")
        case 3: name.equals("rnd")
        case 4: name.equals("time") || name.equals("rand")
        case 6: name.equals("random")
        case 9: name.equals("timestamp")
        default: false
        }
    }

    /// Ten to sixteen digits, or `0.` and six digits or more.
    private static func isTimeOrChance(_ value: UnsafeRawBufferPointer) -> Bool {
        if (10...16).contains(value.count), areDigits(value, from: 0) { return true }
        return value.count >= 8 && value[0] == UInt8(ascii: "0") && value[1] == UInt8(ascii: ".")
            && areDigits(value, from: 2)
    }

    /// Thirteen digits from 1100000000000 to 2500000000000: the time in milliseconds from 2004 to 2049.
    private static func isMilliseconds(_ value: UnsafeRawBufferPointer) -> Bool {
        guard value.count == 13, areDigits(value, from: 0) else { return false }
        let number = value.reduce(0) { $0 * 10 + Int($1 & 15) }
        return (1_100_000_000_000...2_500_000_000_000).contains(number)
    }

    private static func areDigits(_ value: UnsafeRawBufferPointer, from start: Int) -> Bool {
        for index in start..<value.count where !isDigit(value[index]) { return false }
        return true
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    /// What of a parameter is in the hash that finds candidates: not the value of those that may equal any.
    func hashed(_ parameter: UnsafeRawBufferPointer) -> UInt64 {
        let name = UnsafeRawBufferPointer(rebasing: parameter[..<ParameterRules.nameLength(parameter)])
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
        var parameters: [Parameter] = []
        var rest = QueryParameters(of: url, pathEnd: pathEnd)
        while let bytes = rest.next() {
            parameters.append(
                Parameter(
                    bytes: bytes, nameLength: ParameterRules.nameLength(bytes), isBuster: rules.isBuster(bytes)))
        }
        self.parameters = parameters
    }

    var lasting: [Parameter] { parameters.filter { !$0.isBuster } }

    /// How this recorded query finds a request's: 1 the same, 2 in another order, 3 but for cache busters; nil not.
    func step(of asked: SplitQuery) -> Int? {
        if parameters.count == asked.parameters.count {
            if zip(parameters, asked.parameters).allSatisfy({ $0.admits($1) }) { return 1 }
            if SplitQuery.canPair(parameters, asked.parameters, { $0.admits($1) }) { return 2 }
        }
        // Mostly their order is the same, and they need no lists of their own.
        if isSameInOrder(asked) { return 3 }
        let (mine, theirs) = (lasting, asked.lasting)
        return SplitQuery.canPair(mine, theirs) { $0.admitsLoosely($1) } ? 3 : nil
    }

    /// Whether the parameters that are no cache busters are the same, one after another.
    private func isSameInOrder(_ asked: SplitQuery) -> Bool {
        var index = 0
        for mine in parameters where !mine.isBuster {
            while index < asked.parameters.count, asked.parameters[index].isBuster { index += 1 }
            guard index < asked.parameters.count, mine.admitsLoosely(asked.parameters[index]) else { return false }
            index += 1
        }
        return asked.parameters[index...].allSatisfy { $0.isBuster }
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

    /// What is said of a request that differs in cache busters: `without _, t`.
    func wordsWithout(_ asked: SplitQuery) -> String {
        // Mostly there is one.
        guard let name = onlyBusterThatDiffers(asked) else {
            return "without " + bustersThatDiffer(asked).joined(separator: ", ")
        }
        return "without " + String(decoding: name, as: UTF8.self)
    }

    /// The name of the cache buster in which the two differ; nil for none, and for several.
    private func onlyBusterThatDiffers(_ asked: SplitQuery) -> UnsafeRawBufferPointer? {
        guard isShort, asked.isShort else { return nil }
        var only: UnsafeRawBufferPointer?
        for isMine in [true, false] {
            let (ours, theirs) = isMine ? (self, asked) : (asked, self)
            for parameter in ours.parameters where parameter.isBuster || ParameterRules.isRSC(parameter.name) {
                if theirs.parameters.contains(where: { URLText.equal($0.bytes, parameter.bytes) }) { continue }
                if let only, !URLText.equal(only, parameter.name) { return nil }
                only = parameter.name
            }
        }
        return only
    }

    /// The names of cache busters in which the two differ, sorted, at most three.
    func bustersThatDiffer(_ asked: SplitQuery) -> [String] {
        var names: [String] = []
        guard isShort, asked.isShort else { return [] }
        addBusters(to: &names, missingIn: asked)
        asked.addBusters(to: &names, missingIn: self)
        if names.count > 1 { names.sort() }
        return names.count > 3 ? Array(names[..<3]) : names
    }

    private func addBusters(to names: inout [String], missingIn other: SplitQuery) {
        for parameter in parameters where parameter.isBuster || ParameterRules.isRSC(parameter.name) {
            if other.parameters.contains(where: { URLText.equal($0.bytes, parameter.bytes) }) { continue }
            let name = String(decoding: parameter.name, as: UTF8.self)
            if !names.contains(name) { names.append(name) }
        }
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

    /// Whether each of the first list finds one of the second for itself, and none is left.
    private static func canPair(
        _ first: [Parameter], _ second: [Parameter], _ equal: (Parameter, Parameter) -> Bool
    ) -> Bool {
        guard first.count == second.count else { return false }
        // One that nothing is equal to tells it already.
        if let last = first.last, first.count <= 256, !second.contains(where: { equal(last, $0) }) { return false }
        return pair(first, second, equal) == first.count
    }

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
