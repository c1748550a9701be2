public import NIOCore

/// Writes down what origins answer, for all event loops of a proxy.
///
/// It stands between an exchange and its origin (``RecordedTransfer``), and not where ``ExchangeObserver`` does: what
/// is recorded is what the origin sent, before rules, codings and this proxy's own fields have changed it for the
/// client. While there is one, nothing is stored or answered from the cache, and If-None-Match and If-Modified-Since
/// are not passed on. All functions are called on event loops, in the midst of serving, and return soon.
public protocol ExchangeRecorder: AnyObject, Sendable {
    /// The most bytes of a response's body that are recorded.
    var bodyLimit: Int { get }
    /// Asks whether an exchange may begin: what it leads to is held until it is written.
    ///
    /// - Parameter goOn: called once, on any thread, when there is room again.
    /// - Returns: whether there is room, so that `goOn` is not called.
    func admit(goOn: @escaping @Sendable () -> Void) -> Bool
    /// Takes an exchange whose response has come whole.
    ///
    /// - Parameters:
    ///   - body: the response's, with the content codings that the exchange tells.
    ///   - goOn: called once, on any thread, when there is room again.
    /// - Returns: whether there is room for more, so that `goOn` is not called.
    func record(_ exchange: PackedExchange, body: RecordedPieces, goOn: @escaping @Sendable () -> Void) -> Bool
    /// Begins a body that is too long to be held in memory.
    ///
    /// - Parameter exchange: as it is so far, with the response's head.
    func makeSpool(for exchange: PackedExchange) -> any BodySpool
    /// An exchange is not recorded.
    func passOver(_ reason: Unrecorded)
    /// The bytes of a tunnel are passed on as they are.
    func noteTunnel(host: String, port: UInt16)
}

/// A response's body as it was recorded.
public enum RecordedPieces: Sendable {
    case memory([ByteBuffer])
    case spooled(any BodySpool)
}

/// Takes a long body, piece by piece; one that is let go of without being recorded leaves nothing behind.
public protocol BodySpool: AnyObject, Sendable {
    /// Takes the next bytes.
    ///
    /// - Parameter taken: called once, on any thread, when they need no memory any more.
    func append(_ bytes: ByteBuffer, taken: @escaping @Sendable () -> Void)
}

/// Why an exchange is not recorded.
public enum Unrecorded: String, Error, Sendable, CaseIterable {
    /// The origin gave no response, or not the whole of it.
    case failed
    /// The client went away, or another answer took the place of the origin's.
    case cutOff = "cut off"
    /// The response's body is longer than what is recorded.
    case tooLong = "too long"
    /// Members were to be taken out of the response's body, and its content coding can't be taken off.
    case undecodable = "not decodable"
    /// Another protocol was switched to.
    case upgraded
}
