import CCrypt

/// A password hashed with bcrypt, as crypt(5) writes it: `$2y$10$`, 22 characters of salt, 31 of the hash.
public struct PasswordHash: Sendable, Hashable {
    private let text: [UInt8]
    /// The binary logarithm of the rounds that one check takes.
    let cost: Int

    /// How many bytes of a password bcrypt looks at; it ignores the rest.
    public static let significantBytes = 72

    /// With the highest cost that is accepted a check takes a second or two; with 31 it would take days.
    static let costs = 4...14

    /// - Throws: ``PasswordHashError``, which never has the text itself.
    init(_ text: some Collection<UInt8>) throws(PasswordHashError) {
        let text = Array(text)
        guard let scheme = PasswordHash.scheme(text) else { throw .unknown }
        guard scheme == "bcrypt" else { throw .other(scheme) }
        let isDigit: (UInt8) -> Bool = { (0x30...0x39).contains($0) }
        guard text.count == 60, isDigit(text[4]), isDigit(text[5]), text[6] == UInt8(ascii: "$"),
            text[7...].allSatisfy({ byte in
                switch byte {
                case 0x2e...0x39, 0x41...0x5a, 0x61...0x7a: true
                default: false
                }
            })
        else { throw .malformed }
        cost = Int(text[4] &- 0x30) &* 10 &+ Int(text[5] &- 0x30)
        guard PasswordHash.costs.contains(cost) else { throw .cost(cost) }
        self.text = text
    }

    /// Whether the password has this hash. Takes long; how long depends on the cost alone.
    ///
    /// - Parameter password: must have no byte 0, which would be taken for its end.
    func isHash(of password: [UInt8]) -> Bool {
        var hash = [CChar](repeating: 0, count: 128)
        let setting = text.map { CChar(bitPattern: $0) } + [0]
        var key = password.map { CChar(bitPattern: $0) } + [0]
        defer { for index in key.indices { key[index] = 0 } }
        guard crypt_hash(key, setting, &hash, hash.count) == 0 else { return false }
        var difference: UInt8 = 0
        for (index, byte) in text.enumerated() { difference |= byte ^ UInt8(bitPattern: hash[index]) }
        return difference == 0 && hash[text.count] == 0
    }

    /// The scheme that a hash names in its first characters; nil where it names none.
    private static func scheme(_ text: [UInt8]) -> String? {
        let schemes: [(String, String)] = [
            ("$2y$", "bcrypt"), ("$2b$", "bcrypt"), ("$2a$", "bcrypt"), ("$2x$", "a faulty bcrypt ($2x$)"),
            ("$apr1$", "MD5 ($apr1$)"), ("$1$", "MD5 ($1$)"), ("$5$", "SHA-256 ($5$)"), ("$6$", "SHA-512 ($6$)"),
            ("$y$", "yescrypt ($y$)"), ("{SHA}", "SHA-1 ({SHA})"), ("{SSHA}", "SHA-1 ({SSHA})"),
            ("{PLAIN}", "nothing ({PLAIN})"),
        ]
        return schemes.first { text.starts(with: Array($0.0.utf8)) }?.1
    }
}

/// Why a text can't be used as the hash of a password.
enum PasswordHashError: Error {
    /// Hashed in another way.
    case other(String)
    /// Not recognised: plain text, or crypt's DES.
    case unknown
    case malformed
    case cost(Int)

    var explanation: String {
        switch self {
        case .other(let scheme): "the password is hashed with \(scheme), and only bcrypt is taken ($2y$): htpasswd -B"
        case .unknown: "the password is in plain text or hashed with DES, and only bcrypt is taken ($2y$): htpasswd -B"
        case .malformed: "the bcrypt hash is not whole: it has 60 characters, as in $2y$10$…"
        case .cost(let cost):
            """
            the cost of the bcrypt hash is \(cost), and must be from \(PasswordHash.costs.lowerBound) to \
            \(PasswordHash.costs.upperBound): htpasswd -B -C 10
            """
        }
    }
}
