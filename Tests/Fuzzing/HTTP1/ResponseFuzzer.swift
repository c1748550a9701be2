import HTTP1Invariants
import HTTPSemantics

/// Feeds bytes to the response parsers, cut in several ways; the first byte chooses the request's method.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzResponse(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
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
    let methods: [HTTPSemantics.Method] = [.get, .head, .connect, .post]
    try MessageInvariants.checkResponse(Array(bytes.dropFirst()), to: methods[Int(bytes.first ?? 0) % methods.count])
}
