import Foundation
import Testing

@testable import Authentication

@Suite("Credentials of the Basic scheme")
struct BasicCredentialsTests {
    private func read(_ value: String) -> (name: String, password: String)? {
        Array(value.utf8).withUnsafeBytes { BasicCredentials($0) }.map {
            (String(decoding: $0.name, as: UTF8.self), String(decoding: $0.password, as: UTF8.self))
        }
    }

    private func basic(_ text: String) -> String { "Basic " + Data(text.utf8).base64EncodedString() }

    @Test(
        "the name ends at the first colon, all else is the password",
        arguments: [
            ("ann:secret", "ann", "secret"), ("ann:", "ann", ""), (":", "", ""), ("ann:a:b", "ann", "a:b"),
            ("änn:pässword €", "änn", "pässword €"),
        ])
    func parts(text: String, name: String, password: String) throws {
        let credentials = try #require(read(basic(text)))
        #expect(credentials.name == name)
        #expect(credentials.password == password)
    }

    @Test(
        "the scheme's name has no case, and padding may be missing",
        arguments: ["basic YTpi", "BASIC  YTpi", "Basic YTo"])
    func tolerated(value: String) throws {
        #expect(try #require(read(value)).name == "a")
    }

    @Test(
        "nothing else is credentials",
        arguments: [
            "", "Basic", "Basic ", "BasicYTpi", "Bearer YTpi", "Digest username=\"a\"", "Basic YTpi YTpi", "Basic YWI=",
            "Basic YTp", "Basic YT=i", "Basic =YTpi", "Basic YTpi=", "Basic YTpi====", "Basic YTp-", "Basic YTpj ",
            "Basic YQBiOmM=", "Basic YTpiAGM=", "Basic " + String(repeating: "YTpi", count: 600),
        ])
    func refused(value: String) {
        #expect(read(value) == nil)
    }
}
