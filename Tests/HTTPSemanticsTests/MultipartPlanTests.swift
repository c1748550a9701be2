import HTTPSemantics
import Testing

@Suite("Multipart bodies of ranges")
struct MultipartPlanTests {
    @Test("The body is that of RFC 9110 §14.6, to the byte")
    func body() throws {
        let plan = try #require(
            MultipartPlan(
                ranges: [0..<2, 7..<10], size: 10, partType: Array("text/plain".utf8),
                randomBits: (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210)))
        let content = Array("0123456789".utf8)
        var body: [UInt8] = []
        for part in plan.parts { body += part.head + content[part.range] }
        body += plan.closing
        let boundary = "0123456789abcdeffedcba9876543210"
        #expect(text(plan.contentType) == "multipart/byteranges; boundary=\(boundary)")
        #expect(
            text(body)
                == "--\(boundary)\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01"
                + "\r\n--\(boundary)\r\nContent-Type: text/plain\r\nContent-Range: bytes 7-9/10\r\n\r\n789"
                + "\r\n--\(boundary)--\r\n")
        #expect(plan.totalLength == body.count)
    }

    @Test("A part without a type has no Content-Type")
    func untyped() throws {
        let plan = try #require(MultipartPlan(ranges: [0..<1], size: 1, partType: [], randomBits: (0, 0)))
        #expect(!text(plan.parts[0].head).contains("Content-Type"))
        #expect(plan.totalLength == plan.parts[0].head.count + 1 + plan.closing.count)
    }

    @Test("Different random bits give different boundaries of 32 digits")
    func boundaries() throws {
        let first = try #require(MultipartPlan(ranges: [], size: 0, partType: [], randomBits: (1, 0)))
        let second = try #require(MultipartPlan(ranges: [], size: 0, partType: [], randomBits: (0, 1)))
        #expect(first.contentType != second.contentType)
        #expect(first.contentType.count == "multipart/byteranges; boundary=".utf8.count + 32)
    }

    @Test("A length beyond Int is no plan instead of a trap")
    func overflow() {
        #expect(MultipartPlan(ranges: [0..<Int.max], size: .max, partType: [], randomBits: (0, 0)) == nil)
        let almost = Int.max - 200
        #expect(MultipartPlan(ranges: [0..<almost], size: .max, partType: [], randomBits: (0, 0)) != nil)
    }
}
