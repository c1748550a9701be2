/// The argument of a directive, as it stands in the text.
enum ModelArgument: Equatable {
    case none
    case text(String)
    case malformed
}

/// What kind of cache the model is.
struct ModelPolicy: CustomStringConvertible {
    var isShared = true
    var targetedFields: [String] = []
    var heuristicPercent: Int64 = 10
    var heuristicLimit: Int64 = 86_400

    var description: String { "\(isShared ? "shared" : "private") targeted=\(targetedFields)" }
}

/// Cache directives as a dictionary of names to the arguments they were given, in order (RFC 9111 §5.2).
struct ModelDirectives: Equatable {
    var arguments: [String: [ModelArgument]] = [:]
    var isTargeted = false

    init() {}

    /// All lines of a Cache-Control field.
    init(cacheControl values: [String]) {
        for member in values.flatMap(ModelText.members) {
            guard let equals = member.firstIndex(of: "=") else {
                if ModelText.isToken(member) { add(member, .none) } else { addWords(of: member) }
                continue
            }
            let name = String(member[..<equals])
            guard ModelText.isToken(name) else {
                // A space before the sign, as in `max-age =60`, makes the argument malformed.
                add(ModelText.trimmed(name), .malformed)
                addWords(of: member)
                continue
            }
            let value = String(member[member.index(after: equals)...])
            if ModelText.isToken(value) {
                add(name, .text(value))
            } else if let content = ModelText.unquoted(value) {
                add(name, .text(content))
            } else {
                add(name, .malformed)
                addWords(of: member)
            }
        }
    }

    /// What is no directive may have been meant as several: the words in it that forbid something count.
    private mutating func addWords(of member: String) {
        let words = member.split { !ModelText.isToken(String($0)) }.map { $0.lowercased() }
        for word in words where ModelDirectives.forbidding.contains(word) { add(word, .none) }
    }

    static let forbidding: Set<String> = ["no-store", "no-cache", "private"]

    /// A response's directives: of the first targeted field that is valid and not empty, else of Cache-Control
    /// (RFC 9213 §2.2).
    init(response fields: [ModelField], policy: ModelPolicy) {
        for name in policy.targetedFields {
            if let targeted = ModelDirectives(dictionary: fields.values(name)) {
                self = targeted
                return
            }
        }
        self.init(cacheControl: fields.values("cache-control"))
    }

    /// A Dictionary of Structured Fields (RFC 8941 §3.2), of which the model knows what the generator writes: members
    /// without a value, with an integer, a token or a string.
    init?(dictionary values: [String]) {
        guard !values.isEmpty else { return nil }
        let parts = values.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false)
        for part in parts.map(ModelText.trimmed) {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let key = pair.first, key.first?.isLowercase == true,
                key.utf8.allSatisfy({ (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d })
            else { return nil }
            guard pair.count == 2 else {
                add(key, .none)
                continue
            }
            if let content = ModelText.unquoted(pair[1]) {
                add(key, .text(content))
            } else if ModelText.isToken(pair[1]), pair[1].first != "-" || Int(pair[1]) != nil {
                add(key, .text(pair[1]))
            } else {
                return nil
            }
        }
        isTargeted = true
    }

    private mutating func add(_ name: String, _ argument: ModelArgument) {
        arguments[name.lowercased(), default: []].append(argument)
    }

    func has(_ name: String) -> Bool { arguments[name] != nil }

    /// Seconds of the first occurrence; nil where there is none or it is malformed.
    func seconds(_ name: String) -> Int64? {
        guard case .text(let text) = arguments[name]?.first else { return nil }
        return ModelText.seconds(text)
    }

    /// The field names that `no-cache` or `private` is limited to; nil where the directive counts in full or is absent.
    func limitedTo(_ name: String) -> Set<String>? {
        guard let given = arguments[name] else { return nil }
        var names: Set<String> = []
        for argument in given {
            guard case .text(let text) = argument else { return nil }
            let listed = ModelText.members(text).map { $0.lowercased() }
            guard !listed.isEmpty else { return nil }
            names.formUnion(listed)
        }
        return names
    }

    /// Whether `no-cache` or `private` is there and counts in full.
    func isUnlimited(_ name: String) -> Bool { has(name) && limitedTo(name) == nil }

    /// Fields that are not stored: those that `no-cache`, and in a shared cache `private`, names (RFC 9111 §3.1).
    func unstoredFields(_ policy: ModelPolicy) -> Set<String> {
        (limitedTo("no-cache") ?? []).union(policy.isShared ? limitedTo("private") ?? [] : [])
    }

    /// Whether a stale response must not be used without validation (RFC 9111 §4.2.4).
    func forbidStale(_ policy: ModelPolicy) -> Bool {
        isUnlimited("no-cache") || has("must-revalidate")
            || policy.isShared && (has("proxy-revalidate") || has("s-maxage"))
    }

    /// Whether a shared cache may use the response to a request with Authorization (RFC 9111 §3.5); an s-maxage that is
    /// no number allows nothing.
    var allowAuthorized: Bool { has("public") || seconds("s-maxage") != nil || has("must-revalidate") }
}
