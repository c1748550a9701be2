import Glibc
import HTTPSemantics

/// What of a query tells answers apart, and what only keeps caches from answering.
struct ParameterRules: Sendable {
    /// Further cache busters of the archive.
    var ignored: [WildcardText] = []
    /// Names of parameters that the archive has recorded as `REDACTED` somewhere: their values are not in hashes.
    var redacted: Set<[UInt8]> = []
    /// Whether the archive has recorded a whole parameter as `REDACTED`: one whose name was JSON.
    var hasRedactedNames = false
    /// Whether some parameters may equal others.
    var hasRedacted: Bool { hasRedactedNames || !redacted.isEmpty }

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
        if hasRedactedNames, ParameterRules.mayBeMember(name) {
            return ParameterRules.redactedValue.withUnsafeBytes { URLHash.of($0) }
        }
        return URLHash.of(parameter)
    }

    /// Whether a parameter's name may be JSON with a member: it has a colon, which may be encoded.
    static func mayBeMember(_ name: UnsafeRawBufferPointer) -> Bool {
        name.indices.contains { index in
            name[index] == UInt8(ascii: ":")
                || name[index] == UInt8(ascii: "%") && name.count - index > 2 && name[index + 1] == UInt8(ascii: "3")
                    && name[index + 2] | 0x20 == UInt8(ascii: "a")
        }
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

        /// Whether all of it was taken out where it was recorded, since its name was JSON.
        var isNameRedacted: Bool {
            bytes.count == nameLength && bytes.elementsEqual(ParameterRules.redactedValue)
        }

        /// Whether, where it is recorded, its value equals others, or all of it does.
        ///
        /// - Parameter isLoose: whether values that only bust caches are let go.
        func isTolerant(isLoose: Bool) -> Bool {
            isRedacted || isNameRedacted || (isLoose && ParameterRules.isRSC(name))
        }

        /// Whether a request's parameter is the one that was recorded here.
        func admits(_ asked: Parameter, isLoose: Bool = false) -> Bool {
            if URLText.equal(bytes, asked.bytes) { return true }
            if isNameRedacted { return ParameterRules.mayBeMember(asked.name) }
            return isTolerant(isLoose: isLoose) && URLText.equal(name, asked.name)
        }
    }

    /// What is made of a long query once, however many recorded ones it is compared with.
    private final class Long {
        let parameters: [Parameter]
        lazy var lasting = parameters.filter { !$0.isBuster }
        lazy var tally = QueryTally(parameters)
        lazy var lastingTally = QueryTally(lasting)

        init(_ parameters: [Parameter]) { self.parameters = parameters }
    }

    let parameters: [Parameter]
    private let lastingCount: Int
    /// Nil for a short one.
    private let long: Long?

    /// The most parameters of a short query: of two of them each is compared with each.
    private static let mostOfShort = 16

    init(_ url: UnsafeRawBufferPointer, pathEnd: Int, _ rules: ParameterRules) {
        var parameters: [Parameter] = []
        var lastingCount = 0
        if pathEnd < url.count {
            var rest = QueryParameters(of: url, pathEnd: pathEnd)
            while let bytes = rest.next() {
                let isBuster = rules.isBuster(bytes)
                if !isBuster { lastingCount += 1 }
                parameters.append(
                    Parameter(bytes: bytes, nameLength: ParameterRules.nameLength(bytes), isBuster: isBuster))
            }
        }
        self.parameters = parameters
        self.lastingCount = lastingCount
        long = parameters.count > SplitQuery.mostOfShort ? Long(parameters) : nil
    }

    var lasting: [Parameter] { long?.lasting ?? parameters.filter { !$0.isBuster } }

    /// How this recorded query finds a request's: 1 the same, 2 in another order, 3 but for cache busters; nil not.
    func step(of asked: SplitQuery) -> Int? {
        if parameters.count == asked.parameters.count {
            if zip(parameters, asked.parameters).allSatisfy({ $0.admits($1) }) { return 1 }
            if pairs(asked, isLoose: false) == parameters.count { return 2 }
        }
        guard lastingCount == asked.lastingCount else { return nil }
        return isSameInOrder(asked) || pairs(asked, isLoose: true) == lastingCount ? 3 : nil
    }

    /// Whether the parameters that are no cache busters are the same, one after another. Mostly they are, and need no
    /// lists of their own.
    private func isSameInOrder(_ asked: SplitQuery) -> Bool {
        let others = asked.long?.lasting ?? asked.parameters
        var index = 0
        for mine in parameters where !mine.isBuster {
            while index < others.count, others[index].isBuster { index += 1 }
            guard index < others.count, mine.admits(others[index], isLoose: true) else { return false }
            index += 1
        }
        return others[index...].allSatisfy { $0.isBuster }
    }

    /// How many parameters are equal, busters and all.
    func equalCount(_ asked: SplitQuery) -> Int { pairs(asked, isLoose: false) }

    /// 2·M/T of the parameters that are no cache busters (Dice's coefficient).
    func likeness(_ asked: SplitQuery) -> Double {
        guard lastingCount + asked.lastingCount > 0 else { return 1 }
        return Double(2 * pairs(asked, isLoose: true)) / Double(lastingCount + asked.lastingCount)
    }

    /// How many of these recorded parameters find one of a request's for themselves.
    ///
    /// - Parameter isLoose: whether only those count that are no cache busters, and values that bust them are let go.
    private func pairs(_ asked: SplitQuery, isLoose: Bool) -> Int {
        let mine = isLoose ? lasting : parameters
        let theirs = isLoose ? asked.lasting : asked.parameters
        guard mine.count > SplitQuery.mostOfShort || theirs.count > SplitQuery.mostOfShort else {
            return SplitQuery.pairs(mine, theirs, isLoose: isLoose)
        }
        let tally = (isLoose ? asked.long?.lastingTally : asked.long?.tally) ?? QueryTally(theirs)
        return tally.pairs(with: mine, isLoose: isLoose)
    }

    /// The same of short lists.
    private static func pairs(_ recorded: [Parameter], _ asked: [Parameter], isLoose: Bool) -> Int {
        // A bit for each that is taken.
        var taken = 0
        var count = 0
        // Those that are equal to the byte first, so that one which equals any does not take another's place.
        for isTolerant in [false, true] {
            for parameter in recorded where isTolerant == parameter.isTolerant(isLoose: isLoose) {
                for index in asked.indices
                where taken & 1 << index == 0 && parameter.admits(asked[index], isLoose: isLoose) {
                    taken |= 1 << index
                    count += 1
                    break
                }
            }
        }
        return count
    }

    /// Whether one of the parameters is this one, to the byte.
    private func has(_ parameter: Parameter) -> Bool {
        long?.tally.has(parameter.bytes) ?? parameters.contains { URLText.equal($0.bytes, parameter.bytes) }
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
        var only: UnsafeRawBufferPointer?
        for isMine in [true, false] {
            let (ours, theirs) = isMine ? (self, asked) : (asked, self)
            for parameter in ours.parameters where parameter.isBuster || ParameterRules.isRSC(parameter.name) {
                if theirs.has(parameter) { continue }
                if let only, !URLText.equal(only, parameter.name) { return nil }
                only = parameter.name
            }
        }
        return only
    }

    /// The names of cache busters in which the two differ, sorted, at most three.
    func bustersThatDiffer(_ asked: SplitQuery) -> [String] {
        var names: Set<String> = []
        for (ours, theirs) in [(self, asked), (asked, self)] {
            for parameter in ours.parameters where parameter.isBuster || ParameterRules.isRSC(parameter.name) {
                if !theirs.has(parameter) { names.insert(String(decoding: parameter.name, as: UTF8.self)) }
            }
        }
        return Array(names.sorted().prefix(3))
    }

    /// The names of parameters in which the two differ, in the order of the request, then of the recording; `query`
    /// where they have so many that nobody would read them.
    func namesThatDiffer(_ asked: SplitQuery) -> [String] {
        guard parameters.count <= 256, asked.parameters.count <= 256 else { return ["query"] }
        var names: [String] = []
        var known: Set<String> = []
        for (ours, theirs) in [(asked, self), (self, asked)] {
            for parameter in ours.parameters where !theirs.has(parameter) {
                let isTaken = theirs.parameters.contains {
                    ($0.isRedacted || parameter.isRedacted) && URLText.equal($0.name, parameter.name)
                }
                let name = String(decoding: parameter.name, as: UTF8.self)
                if !isTaken, known.insert(name).inserted { names.append(name) }
            }
        }
        return names
    }
}

/// What of a URL's query tells sequences apart, without an archive's own rules.
public enum ArchiveParameters {
    /// A URL without the parameters that only keep caches from answering, those that are left in the order of their
    /// bytes: equal for URLs that answer each other by `order` and `without`.
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
