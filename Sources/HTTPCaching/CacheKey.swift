import Glibc
public import HTTPSemantics
import NIOCore

/// The primary key of a stored response (RFC 9111 §2).
///
/// Scheme and authority in normal form, then path and query as received, so that URLs which differ on their way to the
/// origin never share an entry. The method is no part of it: what is stored answers GET and HEAD.
public typealias CacheKey = StoreKey

extension StoreKey {
    /// The key of a target URI.
    public init(_ target: TargetURI) {
        let bytes = target.withBytes { normalised in
            target.rawPathAndQuery.withUnsafeReadableBytes { path in
                [UInt8](unsafeUninitializedCapacity: target.pathStart &+ path.count) { space, count in
                    let start = normalised.prefix(target.pathStart)
                    UnsafeMutableRawBufferPointer(space).copyBytes(from: start)
                    UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(space)[start.count...])
                        .copyBytes(from: path)
                    count = start.count &+ path.count
                }
            }
        }
        self.init(bytes)
    }

    /// Calls `body` with the bytes of the key of a target URI where they stand in it already: where what goes to the
    /// origin is in normal form.
    @inline(__always)
    public static func withBytes<Result>(
        of target: TargetURI, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        target.withBytes { normalised in
            target.rawPathAndQuery.withUnsafeReadableBytes { path in
                guard path.count == normalised.count &- target.pathStart, let start = normalised.baseAddress,
                    let received = path.baseAddress
                else { return nil }
                let isSame = memcmp(start + target.pathStart, received, path.count) == 0
                return isSame ? body(normalised) : nil
            }
        }
    }
}
