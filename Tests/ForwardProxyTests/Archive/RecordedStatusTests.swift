import Files
import ProxyTestKit
import Testing

@testable import ForwardProxy

@Suite("Recorded statuses")
struct RecordedStatusTests {
    @Test("that have no content are sent without what is recorded", arguments: [(204, nil), (205, "0")])
    func withoutContent(status: Int, length: String?) throws {
        let message = "HTTP/1.1 \(status) Done\r\nContent-Type: text/plain\r\nX-A: 1\r\n\r\ncontent"
        let head = [
            "WARC/1.1", "WARC-Type: response", "WARC-Target-URI: http://a.test/", "Content-Type: application/http",
            "Content-Length: \(message.utf8.count)", "", "",
        ]
        // The body is in memory, and is not.
        for retained in [1 << 20, 4] {
            let proxy = try TestProxy(
                "archives: [a.warc]\n",
                files: ["a.warc": head.joined(separator: "\r\n") + message + "\r\n\r\n"]
            ) { $0.retention.file = retained }
            for method in ["GET", "HEAD", "GET"] {
                let response = try proxy.exchange(method, "http://a.test/")
                #expect(response.status == status && response.body.isEmpty, "\(response.head)")
                #expect(response.field("Content-Length") == length && response.field("X-A") == "1")
                #expect(response.field("Transfer-Encoding") == nil)
            }
        }
    }
}
