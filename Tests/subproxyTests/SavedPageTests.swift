import Testing

@testable import subproxy

@Suite("What is said of a saved page")
struct SavedPageTests {
    @Test("names frames that came too late in one line, five at most, with what helps")
    func lateFrames() {
        #expect(
            SavedPage.lateLine(["http://a/"])
                == "subproxy: warning: when the page was frozen, a frame had not loaded or did not answer, and is saved "
                + "without what scripts make of it; --wait 5s gives more time: http://a/")
        #expect(
            SavedPage.lateLine((1...7).map { "http://a/\($0)" })
                == "subproxy: warning: when the page was frozen, 7 frames had not loaded or did not answer, and are saved "
                + "without what scripts make of them; --wait 5s gives more time: http://a/1, http://a/2, http://a/3, "
                + "http://a/4, http://a/5, and 2 more")
    }
}
