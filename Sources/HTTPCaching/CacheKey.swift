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

    /// Whether the key of a target URI consists of its bytes: where what goes to the origin is in normal form.
    public static func consists(ofBytesOf target: TargetURI) -> Bool { target.hasNormalPathAndQuery }
}
