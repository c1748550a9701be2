import Basics

/// Why a text is no host that a certificate could be made for.
public enum CertificateHostRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    case empty
    /// More than 253 bytes.
    case tooLong
    case emptyLabel
    /// A label of more than 63 bytes.
    case longLabel
    case wildcard
    /// A byte other than a letter, a digit, `-`, `_` and the dots between labels.
    case forbiddenByte(UInt8)
    /// A label that begins or ends in a hyphen.
    case hyphenAtEdge
    /// The last label is a number, but the whole is no IPv4 address of four decimal numbers.
    case endsInNumber
    case malformedAddress

    public var description: String {
        switch self {
        case .empty: "the host is empty"
        case .tooLong: "the host is longer than 253 bytes"
        case .emptyLabel: "the host has an empty label"
        case .longLabel: "a label of the host is longer than 63 bytes"
        case .wildcard: "the host has a wildcard"
        case .forbiddenByte(let byte): "the host has the byte 0x\(Hexadecimal.text([byte]))"
        case .hyphenAtEdge: "a label of the host begins or ends in a hyphen"
        case .endsInNumber: "the host ends in a number, but is no IPv4 address"
        case .malformedAddress: "the host is no IPv6 address"
        }
    }
}
