public import HTTPSemantics
import Patterns

/// A request's method as rules compare it: one of RFC 9110's, or any other token (RFC 9110 §9.1).
public struct RequestMethod: Sendable, Equatable {
    public let known: Method
    /// The token where `known` is ``HTTPSemantics/Method/other``; empty for all others.
    public let token: [UInt8]

    /// The method's token.
    public var bytes: [UInt8] { known.token.map { Array("\($0)".utf8) } ?? token }

    /// One of the methods that are known.
    public init(_ known: Method) {
        self.known = known
        token = []
    }

    /// The method of a request; allocates for one that is not known only.
    public init(_ head: borrowing RequestHead) {
        known = head.method
        token = head.method == .other ? head.methodBytes : []
    }

    /// A method by its bytes, such as those of `Access-Control-Request-Method`.
    public init(_ bytes: UnsafeRawBufferPointer) {
        known = Method(bytes)
        token = known == .other ? Array(bytes) : []
    }
}

/// The methods that a rule answers.
struct MethodSet: Sendable, Hashable {
    /// One bit for each method that is known, by its raw value.
    private(set) var known: UInt16 = 0
    private(set) var others: [[UInt8]] = []
    private(set) var isUniversal = false

    /// Every method.
    static let all: MethodSet = {
        var set = MethodSet()
        set.isUniversal = true
        set.known = .max
        return set
    }()

    /// What a rule with a file answers by default.
    static let retrieval: MethodSet = {
        var set = MethodSet()
        set.insert([UInt8]("GET".utf8))
        return set
    }()

    /// Adds a method; with GET also HEAD, since a server that answers one answers the other (RFC 9110 §9.3.2).
    mutating func insert(_ token: [UInt8]) {
        let method = token.withUnsafeBytes { Method($0) }
        if method == .other {
            if !others.contains(token) { others.append(token) }
            return
        }
        known |= 1 << UInt16(method.rawValue)
        if method == .get { known |= 1 << UInt16(Method.head.rawValue) }
    }

    func contains(_ method: RequestMethod) -> Bool {
        if isUniversal { return true }
        return method.known == .other ? others.contains(method.token) : known >> UInt16(method.known.rawValue) & 1 != 0
    }

    /// The methods' names, GET and HEAD first, as in an Allow field.
    var names: [String] {
        if isUniversal { return [] }
        let order: [Method] = [.get, .head, .post, .put, .delete, .patch, .options, .trace, .connect]
        return order.filter { known >> UInt16($0.rawValue) & 1 != 0 }.compactMap { $0.token.map { "\($0)" } }
            + others.map { String(decoding: $0, as: UTF8.self) }
    }
}

/// What a rule wants of the request's query.
///
/// The parameters in a pattern's own text are wanted in any case, since a pattern is for the path alone. Those in an
/// exact URL are the URL's query: `exact` compares all of them, a mapping wants them too, `ignore` passes them by.
enum QueryCondition: Sendable, Hashable {
    /// The parameters of the rule's URL and no others, in any order.
    case exact
    /// The query takes no part.
    case ignore
    /// These parameters, and those of the rule's URL, among others.
    case parameters([ParameterCondition])

    /// The names of its own parameters, decoded.
    var names: [String] {
        guard case .parameters(let parameters) = self else { return [] }
        return parameters.map { String(decoding: $0.name, as: UTF8.self) }
    }
}

/// A parameter that must be in the query with a value.
struct ParameterCondition: Sendable, Hashable {
    /// The name, decoded.
    let name: [UInt8]
    /// The value, compared with the decoded value.
    let value: WildcardText

    /// Reads name and value as in a map's `query:`, where percent-encoding may be used and need not be.
    init(name: some RandomAccessCollection<UInt8>, value: some Sequence<UInt8>) {
        var decoded: [UInt8] = []
        PercentDecoding.append(name, to: &decoded)
        self.name = decoded
        self.value = WildcardText(percentEncoded: Array(value))
    }

    /// Whether a parameter, as it stands in a query, has this name and this value. `+` is no space.
    ///
    /// - Parameter memory: Room to decode in.
    func matches(_ parameter: UnsafeRawBufferPointer, memory: inout [UInt8]) -> Bool {
        let equals = parameter.firstIndex(of: UInt8(ascii: "="))
        // Decoding makes nothing longer, and most names have nothing to decode.
        let written = UnsafeRawBufferPointer(rebasing: parameter[0..<(equals ?? parameter.count)])
        guard written.count >= name.count else { return false }
        memory.removeAll(keepingCapacity: true)
        PercentDecoding.append(written, to: &memory)
        guard memory == name else { return false }
        memory.removeAll(keepingCapacity: true)
        if let equals { PercentDecoding.append(parameter[(equals + 1)...], to: &memory) }
        return memory.withUnsafeBytes(value.matches)
    }

    /// Appends what the value's stars stand for in a parameter that matches, as ranges of the URL that it stands in.
    ///
    /// - Parameters:
    ///   - start: where the parameter begins in the URL.
    ///   - memory: its value, decoded, as ``matches(_:memory:)`` has left it.
    func appendCaptures(
        of parameter: UnsafeRawBufferPointer, at start: Int, memory: [UInt8], to captures: inout CaptureList
    ) {
        var position = parameter.firstIndex(of: UInt8(ascii: "=")).map { $0 + 1 } ?? parameter.count
        var decoded = 0
        // Where a byte of the decoded value stands in the parameter; asked in ascending order.
        func place(_ offset: Int) -> Int {
            while decoded < offset {
                position += PercentDecoding.byte(parameter, at: position) == nil ? 1 : 3
                decoded += 1
            }
            return start + position
        }
        for star in memory.withUnsafeBytes(value.stars) {
            let lower = place(star.lowerBound)
            captures.append(lower..<place(star.upperBound))
        }
    }

    var description: String { "\(String(decoding: name, as: UTF8.self))=\(value.description)" }
}

/// A field that a request must have with a value.
struct FieldCondition: Sendable, Hashable {
    /// The name in lower case.
    let name: [UInt8]
    let value: WildcardText

    /// Whether one of the section's lines of this name has a matching value; names without case, values with.
    func holds(in fields: FieldSection) -> Bool {
        fields.lines.contains { line in
            Int(line.nameLength) == name.count
                && fields.withName(line) { zip($0, name).allSatisfy { $0.asciiLowercased == $1 } }
                && fields.withValue(line) { value.matches($0.trimmingOptionalWhitespace) }
        }
    }

    /// Whether the section has a line of this name at all.
    func isNamed(in fields: FieldSection) -> Bool {
        fields.lines.contains { line in
            fields.withName(line) { URLText.equalIgnoringCase($0, name) }
        }
    }
}
