import Testing

@testable import HTTPSemantics

@Suite("Dates of cookies")
struct CookieDateTests {
    @Test(
        "are read in all the forms that browsers read",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC", "\"Sun, 06 Nov 1994 08:49:37 GMT\"",
            "6 NOVEMBER 1994 8:49:37", "08:49:37 6-nov-94", "1994 08:49:37x 6th Nov", "Sun,06/Nov/1994,08:49:37,+0000",
        ])
    func valid(_ date: String) {
        #expect(CookieDate.parse(Array(date.utf8)) == 784_111_777)
    }

    @Test(
        "have years of two digits from 1970 to 2069",
        arguments: [("1 Jan 70 0:0:0", 0), ("31 Dec 69 23:59:59", 3_155_759_999)] as [(String, Int64)])
    func years(_ date: String, _ expected: Int64) {
        #expect(CookieDate.parse(Array(date.utf8)) == expected)
    }

    @Test(
        "are nothing else",
        arguments: [
            "", "0", "Session", "06 Nov 1994", "08:49:37 Nov 1994", "06 08:49:37 1994", "06 Nov 08:49:37",
            "06 Nov 1994 24:00:00", "06 Nov 1994 08:60:00", "06 Nov 1994 08:49:60", "00 Nov 1994 08:49:37",
            "31 Nov 1994 08:49:37", "29 Feb 2023 00:00:00", "06 Nov 1600 08:49:37", "06 Nov 19940 08:49:37",
            "06 Nov 1994 08:49", "06 Nov 1994 08:049:37", "06 Nov 1994 a8:49:37", "006 Nov 1994 08:49:37",
        ])
    func invalid(_ date: String) {
        #expect(CookieDate.parse(Array(date.utf8)) == nil)
    }
}
