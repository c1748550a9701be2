/// Reads what LZ4 has compressed as one block (LZ4 Block Format Description: sequences of literals and matches).
public enum LZ4Block {
    /// What is wrong with a block.
    public enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// It ends inside of a sequence.
        case cutShort
        /// It copies from before its beginning.
        case badOffset
        /// It is longer, or shorter, than it was said to be.
        case otherLength

        public var description: String {
            switch self {
            case .cutShort: "the compressed data end too early"
            case .badOffset: "the compressed data copy from before their beginning"
            case .otherLength: "the compressed data have another length than the file says"
            }
        }
    }

    /// Decompresses a block, in memory and time that are in proportion to its lengths.
    ///
    /// - Parameter length: how many bytes it makes, exactly: nothing beyond is written.
    /// - Throws: ``Failure`` where the block is none, or makes another number of bytes.
    public static func decompress(_ block: ArraySlice<UInt8>, to length: Int) throws(Failure) -> [UInt8] {
        var failure: Failure?
        // A byte stands for 255 at the most, so that a small file can't ask for much memory.
        guard length >= 0, length / 255 <= block.count else { throw .otherLength }
        let bytes = [UInt8](unsafeUninitializedCapacity: length) { output, count in
            block.withUnsafeBytes { input in
                var decoder = Decoder(input: input, output: UnsafeMutableRawBufferPointer(output))
                do throws(Failure) {
                    try decoder.run()
                } catch {
                    failure = error
                }
                count = decoder.written
            }
        }
        if let failure { throw failure }
        guard bytes.count == length else { throw .otherLength }
        return bytes
    }

    private struct Decoder {
        let input: UnsafeRawBufferPointer
        let output: UnsafeMutableRawBufferPointer
        private var read = 0
        private(set) var written = 0

        init(input: UnsafeRawBufferPointer, output: UnsafeMutableRawBufferPointer) {
            self.input = input
            self.output = output
        }

        mutating func run() throws(Failure) {
            while true {
                let token = Int(try next())
                try copyLiterals(try length(token >> 4))
                // The last sequence has literals alone.
                guard read < input.count else { return }
                let offset = Int(try next()) | Int(try next()) << 8
                try copyMatch(from: offset, try length(token & 15))
            }
        }

        private mutating func next() throws(Failure) -> UInt8 {
            guard read < input.count else { throw .cutShort }
            defer { read &+= 1 }
            return input[read]
        }

        /// A length whose four bits of the token are all set goes on in bytes, up to one that is not 255.
        private mutating func length(_ start: Int) throws(Failure) -> Int {
            guard start == 15 else { return start }
            var length = start
            while true {
                let byte = Int(try next())
                // No more than 255 times the input's length, which is in memory.
                length &+= byte
                if byte != 255 { return length }
            }
        }

        private mutating func copyLiterals(_ count: Int) throws(Failure) {
            guard count <= input.count &- read else { throw .cutShort }
            guard count <= output.count &- written else { throw .otherLength }
            guard count > 0 else { return }
            UnsafeMutableRawBufferPointer(rebasing: output[written..<written &+ count])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: input[read..<read &+ count]))
            read &+= count
            written &+= count
        }

        /// Copies what was written before; where the copy overlaps itself the bytes repeat.
        private mutating func copyMatch(from offset: Int, _ extra: Int) throws(Failure) {
            let count = extra &+ 4
            guard offset > 0, offset <= written else { throw .badOffset }
            guard count <= output.count &- written else { throw .otherLength }
            for _ in 0..<count {
                output[written] = output[written &- offset]
                written &+= 1
            }
        }
    }
}
