import Glibc

/// Converts IP addresses between their bytes and their text (`inet_pton`, `inet_ntop`).
enum InternetAddress {
    /// The 4 or 16 bytes of an address, or nil for what is none; zone identifiers are none.
    static func bytes(_ text: [UInt8], _ family: CInt) -> [UInt8]? {
        guard text.count > 1, text.count < 46, !text.contains(0) else { return nil }
        var address = [UInt8](repeating: 0, count: family == AF_INET ? 4 : 16)
        let characters = text.map { CChar(bitPattern: $0) } + [0]
        return inet_pton(family, characters, &address) == 1 ? address : nil
    }

    /// The text of 4 or 16 bytes.
    static func text(_ address: [UInt8]) -> String {
        var characters = [CChar](repeating: 0, count: 46)
        let family = address.count == 4 ? AF_INET : AF_INET6
        _ = inet_ntop(family, address, &characters, socklen_t(characters.count))
        return String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
