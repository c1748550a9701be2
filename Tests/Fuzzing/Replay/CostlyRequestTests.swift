#if DEBUG || FUZZING
import FuzzTargets
import Glibc
import Testing

/// What the proxy makes of requests whose parts are as long as they may be: work in proportion to their length.
@Suite("Costly requests")
struct CostlyRequestTests {
    enum Part: String, CaseIterable {
        case cookie, list, cacheControl, tags, accept, encodings, range, via, quoted, query, percent, dots, slashes

        /// A request of about so many bytes.
        func request(_ length: Int) -> [UInt8] {
            func filled(_ text: String) -> String { String(repeating: text, count: length / text.utf8.count) }
            let (target, field) =
                switch self {
                case .cookie: ("", "Cookie: \(filled("a=b; "))")
                case .list: ("", "Connection: \(filled("a,"))")
                case .cacheControl: ("", "Cache-Control: \(filled("max-age=1,"))")
                case .tags: ("", "If-None-Match: \(filled("\"a\","))")
                case .accept: ("blocked", "Accept: \(filled("a/b;q=0.1,"))")
                case .encodings: ("", "Accept-Encoding: \(filled("gzip;q=0.1,"))")
                case .range: ("big", "Range: bytes=\(filled("9-8,"))0-1")
                case .via: ("other", "Via: \(filled("1.1 a,"))")
                case .quoted: ("", "Cache-Control: a=\"\(filled("\\\""))")
                case .query: (String("?" + filled("a=b&").prefix(length / 2)), "X: y")
                case .percent: (String(filled("%").prefix(length / 2)), "X: y")
                case .dots: (String(filled("../").prefix(length / 2)), "X: y")
                case .slashes: (String(filled("a/").prefix(length / 2)), "X: y")
                }
            return Array("GET http://a.test/\(target) HTTP/1.1\r\nHost: a.test\r\n\(field)\r\n\r\n".utf8)
        }
    }

    private static func cost(_ bytes: [UInt8]) throws -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = now()
        _ = try ConnectionInvariants.answer(to: bytes)
        return now() - start
    }

    @Test("cost no more than their length asks for", arguments: Part.allCases)
    func cost(of part: Part) throws {
        // Eight times the length: work that grows with its square would be 64 times as much. The machine adds to each
        // measurement as it likes, and takes nothing away: so that the least of each counts, until it is little enough.
        let requests = [10, 7_000, 56_000].map(part.request)
        var least = requests.map { _ in Double.infinity }
        var isInProportion = false
        for round in 1...200 where !isInProportion {
            for (index, request) in requests.enumerated() { least[index] = min(least[index], try Self.cost(request)) }
            isInProportion = round >= 3 && least[2] - least[0] < max(least[1] - least[0], 0.0002) * 24
        }
        #expect(isInProportion, "\(part): \(least)")
    }
}
#endif
