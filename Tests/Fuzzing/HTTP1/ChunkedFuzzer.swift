import HTTP1Invariants

/// Feeds bytes to the decoder of the chunked coding, cut in several ways.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzChunked(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    do {
        try run(bytes)
    } catch {
        // A trap is how libFuzzer learns of a finding.
        fatalError("\(error)")
    }
    return 0
}

private func run(_ bytes: [UInt8]) throws {
    try MessageInvariants.checkChunked(bytes)
}
