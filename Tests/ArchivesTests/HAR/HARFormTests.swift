import Testing

@testable import Archives

@Suite("Request bodies of a HAR")
struct HARFormTests {
    @Test(
        "are text, parameters or a file",
        arguments: [
            (#""text":"a=b","params":[{"name":"c","value":"d"}]"#, "a=b"),
            (#""text":"","params":[{"name":"a b","value":"c&d"},{"name":"ü"}]"#, "a+b=c%26d&%C3%BC="),
            (#""params":[{"name":"a%20b","value":"c+d"}]"#, "a%20b=c+d"),
            (#""params":[{"name":"a","value":"100% ü"}]"#, "a=100%25+%C3%BC"),
            (#""text":"YWI=","encoding":"base64""#, "ab"), (#""text":"","_file":"f""#, "file"), (#""text":"""#, nil),
            (#""_file":"none""#, nil), (#""params":[]"#, nil),
            (
                #""mimeType":"multipart/form-data; boundary=\"x\"","params":[{"name":"a","value":"b"},"#
                    + #"{"name":"c","fileName":"d\"","contentType":"text/plain","value":"e"}]"#,
                "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x\r\nContent-Disposition: form-data; "
                    + "name=\"c\"; filename=\"d%22\"\r\nContent-Type: text/plain\r\n\r\ne\r\n--x--\r\n"
            ),
        ] as [(String, String?)])
    func bodies(_ data: String, _ body: String?) throws {
        let entry = HARSample.entry(method: "POST", request: #","postData":{\#(data)}"#)
        let archive = try HARSample.open(HARSample.har(entry), files: ["f": Array("file".utf8)])
        #expect(try archive.exchange(0).requestBody.map { String(decoding: $0, as: UTF8.self) } == body)
        #expect(archive.table[0].hasRequestBody == (body != nil))
    }
}
