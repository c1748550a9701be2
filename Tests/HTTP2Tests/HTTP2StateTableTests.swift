import NIOCore
import Testing

@testable import HTTP2

/// RFC 9113 §5.1 as a table: each state of a stream, each frame that may come on it.
@Suite("States of HTTP/2 streams and the frames that come")
struct HTTP2StateTableTests {
    /// A state, and how the stream has come there.
    enum Start: CaseIterable {
        case idle, open, halfClosedLocal, halfClosedRemote, closedByBoth, closedByClient, closedByProxy, forgotten
    }

    enum Event: CaseIterable {
        case headers, lastHeaders, data, lastData, priority, reset, windowUpdate, pushPromise, continuation
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var start: Start
        var event: Event
        var outcome: Stage.Outcome

        var testDescription: String { "\(start), \(event)" }
    }

    private static let table: [(Start, [Stage.Outcome])] = [
        (
            .idle,
            [
                .is(.open), .is(.halfClosedRemote), .connection(.protocolError), .connection(.protocolError), .ignored,
                .connection(.protocolError), .connection(.protocolError), .connection(.protocolError),
                .connection(.protocolError),
            ]
        ),
        (
            .open,
            [
                .stream(.protocolError), .is(.halfClosedRemote), .is(.open), .is(.halfClosedRemote), .is(.open),
                .closed,
                .is(.open), .connection(.protocolError), .connection(.protocolError),
            ]
        ),
        (
            .halfClosedLocal,
            [
                .stream(.protocolError), .closed, .is(.halfClosedLocal), .closed, .is(.halfClosedLocal), .closed,
                .is(.halfClosedLocal), .connection(.protocolError), .connection(.protocolError),
            ]
        ),
        (
            .halfClosedRemote,
            [
                .stream(.streamClosed), .stream(.streamClosed), .stream(.streamClosed), .stream(.streamClosed),
                .is(.halfClosedRemote), .closed, .is(.halfClosedRemote), .connection(.protocolError),
                .connection(.protocolError),
            ]
        ),
        (
            .closedByBoth,
            [
                .connection(.streamClosed), .connection(.streamClosed), .stream(.streamClosed), .stream(.streamClosed),
                .ignored, .ignored, .ignored, .connection(.protocolError), .connection(.protocolError),
            ]
        ),
        (
            .closedByClient,
            [
                .connection(.streamClosed), .connection(.streamClosed), .stream(.streamClosed), .stream(.streamClosed),
                .ignored, .ignored, .ignored, .connection(.protocolError), .connection(.protocolError),
            ]
        ),
        (
            // What comes may have been on its way when the reset left.
            .closedByProxy,
            [
                .ignored, .ignored, .ignored, .ignored, .ignored, .ignored, .ignored, .connection(.protocolError),
                .connection(.protocolError),
            ]
        ),
        (
            .forgotten,
            [
                .connection(.protocolError), .connection(.protocolError), .stream(.streamClosed),
                .stream(.streamClosed), .ignored, .ignored, .ignored, .connection(.protocolError),
                .connection(.protocolError),
            ]
        ),
    ]

    private static let rows = table.flatMap { start, outcomes in
        zip(Event.allCases, outcomes).map { Row(start: start, event: $0, outcome: $1) }
    }

    @Test("A frame on a stream does what RFC 9113 says of the stream's state", arguments: rows)
    func frame(row: Row) {
        var stage = Stage(row.start)
        #expect(stage.receive(row.event) == row.outcome)
    }

    @Test("The table has a row for each state and a column for each frame")
    func isWhole() {
        #expect(HTTP2StateTableTests.table.map(\.0) == Start.allCases)
        #expect(HTTP2StateTableTests.table.allSatisfy { $0.1.count == Event.allCases.count })
    }
}

extension HTTP2StateTableTests {
    /// A connection with one stream that is looked at, as values: it does what ``HTTP2Connection`` does with frames.
    struct Stage {
        enum Outcome: Equatable {
            case `is`(HTTP2StreamState.Phase)
            case closed
            /// The frame is for a stream that isn't open, and changes nothing.
            case ignored
            case stream(HTTP2ErrorCode)
            case connection(HTTP2ErrorCode)
        }

        var connection = HTTP2ConnectionState(maxBlockBytes: 1 << 16)
        var stream: HTTP2StreamState?
        let id: UInt32 = 3

        init(_ start: Start) {
            connection.receivedPreface()
            try? connection.received(HTTP2FrameHeader(length: 0, kind: .settings, stream: 0))
            switch start {
            case .idle: break
            case .open: _ = receive(.headers)
            case .halfClosedLocal:
                _ = receive(.headers)
                respond()
            case .halfClosedRemote: _ = receive(.lastHeaders)
            case .closedByBoth:
                _ = receive(.lastHeaders)
                respond()
            case .closedByClient:
                _ = receive(.headers)
                _ = receive(.reset)
            case .closedByProxy:
                _ = receive(.headers)
                stream?.close()
                close(byProxy: true)
            case .forgotten:
                // A higher stream was used, and this one never.
                _ = try? connection.receivedRequest(block(5, isLast: true), openStreams: 0, now: 0)
            }
        }

        private func block(_ id: UInt32, isLast: Bool) throws(HTTP2Violation) -> HTTP2HeaderBlock {
            let flags: HTTP2FrameFlags = isLast ? [.endHeaders, .endStream] : .endHeaders
            return try HTTP2HeaderBlock(
                HTTP2FrameHeader(length: 0, kind: .headers, flags: flags, stream: id), ByteBuffer(), now: 0)
        }

        private mutating func respond() {
            // An error, whose end isn't kept back.
            _ = stream?.willHoldEnding(status: 500, length: 0)
            if stream?.startedResponse(length: 0) == .writeLast { stream?.sentEnd(now: 0) }
            if stream?.phase == .closed { close(byProxy: false) }
        }

        private mutating func close(byProxy: Bool) {
            stream = nil
            connection.closedStream(id, byProxy: byProxy)
        }

        mutating func receive(_ event: Event) -> Outcome {
            let wasOpen = stream != nil
            do throws(HTTP2Violation) {
                try take(event)
            } catch {
                switch error {
                case .connection(let code): return .connection(code)
                case .stream(_, let code): return .stream(code)
                }
            }
            guard let phase = stream?.phase else { return wasOpen ? .closed : .ignored }
            guard phase == .closed else { return .is(phase) }
            close(byProxy: false)
            return .closed
        }

        private mutating func take(_ event: Event) throws(HTTP2Violation) {
            let payload = ByteBuffer(repeating: 0, count: event == .priority ? 5 : 4)
            func header(_ kind: HTTP2FrameKind, _ flags: HTTP2FrameFlags = []) -> HTTP2FrameHeader {
                HTTP2FrameHeader(length: payload.readableBytes, kind: kind, flags: flags, stream: id)
            }
            switch event {
            case .headers, .lastHeaders:
                try connection.received(header(.headers, .endHeaders))
                let isLast = event == .lastHeaders
                guard stream == nil else {
                    try stream?.receivedTrailers(isLast: isLast)
                    return _ = stream?.endedRequest()
                }
                guard try connection.receivedRequest(block(id, isLast: isLast), openStreams: 0, now: 0) else { return }
                stream = HTTP2StreamState(id, requestIsComplete: isLast, window: 65_535, now: 0)
            case .data, .lastData:
                try connection.received(header(.data))
                _ = try connection.receivedData(header(.data))
                guard stream != nil else { return try connection.receivedData(onAbsent: id, now: 0) }
                _ = try stream?.receivedData(4, frame: 4, isLast: event == .lastData, now: 0)
            case .priority:
                try connection.received(header(.priority))
                try connection.receivedPriority(header(.priority), payload, isOpen: stream != nil, now: 0)
            case .reset:
                try connection.received(header(.reset))
                try connection.receivedReset(header(.reset), isOpen: stream != nil, now: 0)
                guard stream != nil else { return }
                close(byProxy: false)
                try connection.closedByReset(now: 0)
            case .windowUpdate:
                try connection.received(header(.windowUpdate))
                let one = ByteBuffer(bytes: [0, 0, 0, 1])
                let increment = try connection.receivedWindowUpdate(
                    header(.windowUpdate), one, isOpen: stream != nil, now: 0)
                if let increment { try stream?.receivedWindowUpdate(increment) }
            case .pushPromise: try connection.received(header(.pushPromise))
            case .continuation: try connection.received(header(.continuation))
            }
        }
    }
}
