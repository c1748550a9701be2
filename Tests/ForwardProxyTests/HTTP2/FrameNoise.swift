import NIOCore
import ProxyTestKit

@testable import ForwardProxy

/// Makes connections of HTTP/2 that are nearly right: frames of all types in odd orders, with lengths, flags, streams
/// and payloads that are mostly what they should be. The seed decides them.
struct FrameNoise {
    private var generator: SeededGenerator
    private var nextStream: UInt32 = 1
    /// The streams whose requests have not ended.
    private var open: [UInt32] = []
    /// One in so many parts of a connection is not as it should be.
    private var oddity = 100

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// The bytes of one connection, from the preface on.
    mutating func connection() -> [UInt8] {
        nextStream = 1
        open = []
        oddity = pick([8, 40, 40, 200])
        var bytes = isOneIn(oddity * 4) ? noise(40) : Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        bytes += isOneIn(oddity) ? frame() : settings()
        for _ in 0..<number(1...16) { bytes += frame() }
        guard isOneIn(oddity) else { return bytes }
        for _ in 0..<number(1...4) { bytes[number(0...bytes.count - 1)] = UInt8(number(0...255)) }
        bytes.removeLast(number(0...min(20, bytes.count)))
        return bytes
    }

    /// The bytes in pieces as they may arrive.
    mutating func pieces(of bytes: [UInt8]) -> [ByteBuffer] {
        if bytes.count < 1000, isOneIn(4) { return bytes.map { ByteBuffer(bytes: [$0]) } }
        let cuts = [0, bytes.count] + (0..<number(0...6)).map { _ in number(0...bytes.count) }
        let sorted = cuts.sorted()
        return zip(sorted, sorted.dropFirst()).filter { $0 < $1 }.map { ByteBuffer(bytes: bytes[$0..<$1]) }
    }

    // MARK: Frames

    private mutating func frame() -> [UInt8] {
        switch number(0...15) {
        case 0...5: return headers()
        case 6...8: return data()
        case 9: return make(2, [], stream(), sized(word(nextStream + 10) + [UInt8(number(0...255))]))
        case 10: return make(3, [], known(), sized(word(UInt32(number(0...13)))))
        case 11: return settings()
        case 12: return make(6, isOneIn(4) ? [1] : [], isOdd ? stream() : 0, sized(noise(8)))
        case 13: return make(8, [], isOneIn(2) ? 0 : known(), sized(word(isOdd ? increment() : 1000)))
        case 14 where isOdd:
            return make(pick([5, 7, 9]), pick([[], [4]]), pick([0, stream()]), noise(number(0...30)))
        default: return make(UInt8(number(10...255)), [], stream(), noise(number(0...30)))
        }
    }

    private mutating func headers() -> [UInt8] {
        var stream = nextStream
        if isOdd { stream = self.stream() } else { nextStream += 2 }
        var payload = block()
        var flags: [UInt8] = []
        if isOneIn(2) { flags.append(1) } else { open.append(stream) }
        if isOneIn(8) {
            flags.append(0x20)
            payload = word(isOdd ? stream : 0x8000_0000) + [1] + payload
        }
        if isOneIn(8) {
            let padding = number(0...9)
            flags.append(8)
            payload = [UInt8(isOdd ? 255 : padding)] + payload + [UInt8](repeating: 0, count: padding)
            return make(1, flags + [4], stream, payload)
        }
        guard isOneIn(4) else { return make(1, flags + (isOdd ? [] : [4]), stream, payload) }
        // In up to five frames, or in more.
        let parts = number(1...(isOdd ? 8 : 4))
        var bytes = make(1, flags, stream, Array(payload.prefix(2)))
        for part in 0..<parts {
            let isLast = part == parts - 1
            bytes += make(9, isLast ? [4] : [], stream, isLast ? Array(payload.dropFirst(2)) : [])
        }
        return bytes
    }

    private mutating func data() -> [UInt8] {
        var target = stream()
        if !isOdd, let stream = open.last { target = stream }
        guard isOdd || open.contains(target) else { return headers() }
        var payload = [UInt8](repeating: 0x78, count: isOneIn(20) ? number(0...16_384) : number(0...50))
        var flags: [UInt8] = []
        if isOneIn(2) {
            flags.append(1)
            open.removeAll { $0 == target }
        }
        if isOneIn(8), payload.count < 16_000 {
            let padding = number(0...40)
            flags.append(8)
            payload = [UInt8(isOdd ? 255 : padding)] + payload + [UInt8](repeating: 0, count: padding)
        }
        return make(0, flags, target, payload)
    }

    private mutating func settings() -> [UInt8] {
        var payload: [UInt8] = []
        for _ in 0..<number(0...3) {
            let good: [(UInt8, UInt32)] = [
                (1, 0), (2, 0), (3, 7), (4, 0), (4, 1), (4, 65_535), (4, 1 << 20), (5, 16_384), (6, 100), (255, 1),
            ]
            let bad: [(UInt8, UInt32)] = [
                (2, 2), (4, 0x8000_0000), (4, 0x7fff_ffff), (5, 16_383), (5, 1 << 24), (8, 2),
            ]
            let (name, value) = pick(isOdd ? bad : good)
            payload += [0, name] + word(value)
        }
        return make(4, isOdd ? [1] : [], isOdd ? stream() : 0, sized(payload))
    }

    private mutating func make(_ kind: UInt8, _ flags: [UInt8], _ stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        let length = isOdd && isOneIn(8) ? number(0...70_000) : payload.count
        let flags = isOdd && isOneIn(4) ? UInt8(number(0...255)) : flags.reduce(0, |)
        let size = [UInt8(length >> 16 & 0xff), UInt8(length >> 8 & 0xff), UInt8(length & 0xff)]
        return size + [kind, flags] + word(stream) + payload
    }

    // MARK: Parts

    private mutating func block() -> [UInt8] {
        let host: [UInt8] = [0x41, 6] + Array("h.test".utf8)
        let paths = ["/large", "/absent", "/any", "/empty"].map { [0x04, UInt8($0.utf8.count)] + Array($0.utf8) }
        var block = [pick([0x82, 0x83]), 0x87] + pick(paths + [[0x84]]) + host
        let good: [[UInt8]] = [
            [0x40, 3, 0x78, 0x2d, 0x61, 1, 0x31], [0x00, 2, 0x74, 0x65, 8] + Array("trailers".utf8),
            [0x0f, 0x14, 12] + Array("100-continue".utf8), [0x10, 2, 0x78, 0x79, 0x81, 0x1f],
            [0x40, 3, 0x78, 0x2d, 0x62, 0x7f, 0x81, 0x1e] + [UInt8](repeating: 0x79, count: 3968),
        ]
        let bad: [[UInt8]] = [
            [0xfe], [0x20], [0x3f, 0xe1, 0x1f], [0x80], [0x00, 0, 0], [0x0f, 0x0d, 1, 0x33], [0x00, 1, 0x58, 1, 0x31],
            [0x00, 4] + Array(":foo".utf8) + [0], [0x10, 0x81, 0xff], [0xff, 0xff, 0xff], noise(12),
        ]
        for _ in 0..<number(0...2) { block += pick(isOdd ? bad : good) }
        if isOdd { block.removeLast(number(0...block.count)) }
        return block
    }

    private mutating func stream() -> UInt32 {
        switch number(0...9) {
        case 0: 0
        case 1: pick([2, 0x7fff_ffff, 0xffff_ffff, nextStream, nextStream + 2])
        default: known()
        }
    }

    /// A stream that was used.
    private mutating func known() -> UInt32 {
        nextStream == 1 && !isOdd ? 0 : UInt32(number(0...max(0, Int(nextStream) / 2 - 1))) * 2 + 1
    }

    private mutating func increment() -> UInt32 { pick([0, 1, 65_535, 0x7fff_ffff, 0xffff_ffff]) }

    /// Mostly the size that the frame has to have.
    private mutating func sized(_ payload: [UInt8]) -> [UInt8] {
        isOdd ? noise(number(0...payload.count + 3)) : payload
    }

    private func word(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
    }

    private var isOdd: Bool { mutating get { isOneIn(oddity) } }

    private mutating func noise(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(number(0...255)) } }

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    private mutating func isOneIn(_ count: Int) -> Bool { number(1...count) == 1 }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { elements[number(0...elements.count - 1)] }
}
