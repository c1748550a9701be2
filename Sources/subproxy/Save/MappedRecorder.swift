import Archives
import ForwardProxy
import HTTPSemantics
import Recorder

/// Records what comes through the proxy that answers by maps, but for what that says where it reaches no origin.
final class MappedRecorder: ExchangeRecorder {
    private let recorder: Recorder

    init(_ recorder: Recorder) { self.recorder = recorder }

    var bodyLimit: Int { recorder.bodyLimit }

    func admit(goOn: @escaping @Sendable () -> Void) -> Bool { recorder.admit(goOn: goOn) }

    func record(_ exchange: PackedExchange, body: RecordedPieces, goOn: @escaping @Sendable () -> Void) -> Bool {
        guard !isFailure(exchange) else {
            recorder.passOver(.failed)
            return true
        }
        return recorder.record(exchange, body: body, goOn: goOn)
    }

    /// Whether it is this program's own answer to a failure (RFC 9209 §2.1.1).
    private func isFailure(_ exchange: PackedExchange) -> Bool {
        guard exchange.status >= 400, let value = exchange.exchange().value("proxy-status") else { return false }
        return String(decoding: value, as: UTF8.self).hasPrefix("subproxy; error=")
    }

    func makeSpool(for exchange: PackedExchange) -> any BodySpool { recorder.makeSpool(for: exchange) }
    func passOver(_ reason: Unrecorded) { recorder.passOver(reason) }
    func noteTunnel(host: String, port: UInt16) { recorder.noteTunnel(host: host, port: port) }
}
