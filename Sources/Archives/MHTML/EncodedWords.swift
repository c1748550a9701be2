import Basics
import HTTPSemantics

/// Text of mail fields that is not ASCII (RFC 2047).
enum EncodedWords {
    /// The text of a value: encoded words of UTF-8, ASCII and ISO 8859-1 decoded, those of other charsets as they are.
    static func decoded(_ value: [UInt8]) -> String {
        var text: [UInt8] = []
        var blanks: [UInt8] = []
        var isBehindWord = false
        for piece in value.split(separator: 0x20, omittingEmptySubsequences: false) {
            let word = word(piece)
            // Blanks between two encoded words are none of the text (RFC 2047 §6.2).
            if !(isBehindWord && word != nil) { text += blanks }
            text += word ?? Array(piece)
            isBehindWord = word != nil
            blanks = [0x20]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// `=?charset?encoding?text?=`
    private static func word(_ piece: ArraySlice<UInt8>) -> [UInt8]? {
        guard piece.count >= 6, piece.starts(with: "=?".utf8), piece.suffix(2).elementsEqual("?=".utf8) else {
            return nil
        }
        let parts = piece.dropFirst(2).dropLast(2).split(separator: 0x3F, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let charset = String(decoding: parts[0].map(\.asciiLowercased), as: UTF8.self)
        var bytes: [UInt8] = []
        switch parts[1].first {
        case UInt8(ascii: "B"), UInt8(ascii: "b"):
            var decoder = Base64Decoder()
            parts[2].withUnsafeBytes { decoder.decode($0, into: &bytes) }
            decoder.finish(into: &bytes)
        case UInt8(ascii: "Q"), UInt8(ascii: "q"):
            var decoder = QuotedPrintableDecoder(hasLines: false)
            parts[2].map { $0 == 0x5F ? 0x20 : $0 }.withUnsafeBytes { decoder.decode($0, into: &bytes) }
            decoder.finish(into: &bytes)
        default: return nil
        }
        switch charset {
        case "utf-8", "utf8", "us-ascii": return bytes
        case "iso-8859-1": return Array(String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })).utf8)
        default: return nil
        }
    }

    /// A text as a value: as it is where it is ASCII, else in encoded words of at most 75 bytes, one a line.
    static func encoded(_ text: String) -> String {
        let isPlain =
            text.utf8.allSatisfy { (0x20..<0x7F).contains($0) } && !text.contains("=?") && text.utf8.count <= 900
        guard !isPlain else { return text }
        var words: [String] = []
        var word = ""
        for scalar in text.unicodeScalars {
            var bytes = ""
            for byte in String(scalar).utf8 {
                bytes += byte.isMember(of: .alphanumeric) ? String(Unicode.Scalar(byte)) : escape(byte)
            }
            if word.utf8.count + bytes.utf8.count > 63 {
                words.append(word)
                word = ""
            }
            word += bytes
        }
        words.append(word)
        return words.map { "=?utf-8?Q?\($0)?=" }.joined(separator: "\r\n ")
    }

    private static func escape(_ byte: UInt8) -> String { byte == 0x20 ? "_" : "=" + Hexadecimal.text([byte], .upper) }
}
