import Basics
import Testing

@Suite struct DecimalTextTests {
    private func written(_ integer: Int64) -> String {
        text(of: DecimalText.longestInteger) { DecimalText.write(integer, to: $0) }
    }

    private func written(_ real: Double) -> String {
        text(of: DecimalText.longestReal) { DecimalText.write(real, to: $0) }
    }

    private func text(of size: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Int) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: size) { bytes in
            guard let start = bytes.baseAddress else { return "" }
            return String(decoding: bytes[..<write(start)], as: UTF8.self)
        }
    }

    @Test(arguments: [0, 1, -1, 9, 10, 99, 100, -100, 1_234_567_890, .max, .min, .max - 1, .min + 1] as [Int64])
    func `an integer is written as description has it`(integer: Int64) {
        #expect(written(integer) == integer.description)
    }

    @Test func `integers around powers of ten are written as description has them`() {
        var power: Int64 = 1
        for _ in 0..<18 {
            power *= 10
            for integer in [power - 1, power, power + 1, -power, 1 - power] {
                #expect(written(integer) == integer.description)
            }
        }
    }

    @Test func `a number of at most two places is written as description has it`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let digits = Int.random(in: 1...14, using: &generator)
            let bound = (0..<digits).reduce(1) { value, _ in value * 10 }
            let real = Double(Int.random(in: -bound...bound, using: &generator)) / 100
            guard real != 0, real.magnitude < 1e12 else { continue }
            #expect(written(real) == real.description)
        }
    }

    @Test(
        arguments: [
            (0, "0.0"), (0.01, "0.01"), (-0.1, "-0.1"), (0.1 + 0.2, ""), (19.99, "19.99"), (1e11, "100000000000.0"),
            (999_999_999_999.99, "999999999999.99"), (1e12, ""), (0.001, ""), (1.005, ""), (-0.0, ""),
            (.infinity, ""), (.nan, ""), (.leastNonzeroMagnitude, ""), (.greatestFiniteMagnitude, ""),
        ] as [(Double, String)])
    func `a number is written, or left to others`(real: Double, text: String) {
        #expect(written(real) == text)
        if !text.isEmpty { #expect(real.description == text) }
    }

    @Test func `no number is written otherwise than description has it`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let real = Double(bitPattern: .random(in: .min ... .max, using: &generator))
            let text = written(real)
            #expect(text.isEmpty || text == real.description)
        }
        for _ in 0..<20_000 {
            // Neighbours of numbers of two places.
            let real = (Double(Int.random(in: -1_000_000_000...1_000_000_000, using: &generator)) / 100)
            for neighbour in [real.nextUp, real.nextDown] {
                let text = written(neighbour)
                #expect(text.isEmpty || text == neighbour.description)
            }
        }
    }
}
