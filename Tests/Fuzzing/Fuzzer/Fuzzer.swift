import FuzzTargets
import Glibc

// The package manager gives each executable a main function of this name in place of `main`, and so of libFuzzer's own.
@_cdecl("Fuzzer_main")
public func fuzzerMain(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> CInt {
    var count = count
    var arguments = arguments
    return LLVMFuzzerRunDriver(&count, &arguments) { fuzz($0, $1) }
}

/// libFuzzer's entry, for programs with a main function of their own.
@_silgen_name("LLVMFuzzerRunDriver")
private func LLVMFuzzerRunDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The target that SUBPROXY_FUZZ_TARGET names.
private let target: FuzzTarget = {
    let name = getenv("SUBPROXY_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        print("SUBPROXY_FUZZ_TARGET has to be one of", FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))
        exit(2)
    }
    return target
}()

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try target.check(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        // A trap is how libFuzzer learns of a finding.
        fatalError("\(error)")
    }
    return 0
}
