import Testing

@testable import subproxy

@Suite("What the doctor has found")
struct DiagnosisTests {
    @Test("without an authority it is that there is none, and what makes one")
    func noAuthority() throws {
        let diagnosis = try Diagnosis(folder: "/nonexistent/ca", stored: nil, hosts: [])
        #expect(!diagnosis.isGood)
        #expect(
            diagnosis.text == """
                authority: /nonexistent/ca
                  can't be used: there is none; `subproxy ca install --ca-dir /nonexistent/ca` makes it
                not all is well
                """)
        #expect(
            diagnosis.json
                == #"{"good":false,"authority":{"path":null,"name":null,"fingerprint":null,"expires":null,"#
                + #""limited":false,"problem":"there is none; `subproxy ca install --ca-dir /nonexistent/ca` makes it"},"stores":[],"clients":[]}"#
        )
    }
}
