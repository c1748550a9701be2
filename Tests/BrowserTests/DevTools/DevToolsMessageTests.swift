import JSON
import Testing

@testable import Browser

@Suite("Messages of the DevTools protocol")
struct DevToolsMessageTests {
    @Test(
        "are cut at NUL, however they come",
        arguments: [
            (["a\0"], ["a"]), (["a", "b\0c\0d"], ["ab", "c"]), (["\0\0x\0"], ["", "", "x"]), (["abc"], []), ([], []),
            (["a\0b", "", "\0"], ["a", "b"]),
        ])
    func splitting(pieces: [String], messages: [String]) {
        var splitter = MessageSplitter()
        var found: [String] = []
        for piece in pieces {
            let isTaken = splitter.append(Array(piece.utf8))
            #expect(isTaken)
            while let message = splitter.next() { found.append(String(decoding: message, as: UTF8.self)) }
        }
        #expect(found == messages)
    }

    @Test("are commands with a number, and with a session where there is one")
    func commands() {
        func text(_ session: String?) -> String {
            String(
                decoding: DevToolsMessage.command(7, "Page.navigate", ["url": "http://a/\"\u{1}"], session: session),
                as: UTF8.self)
        }
        #expect(text(nil) == #"{"id":7,"method":"Page.navigate","params":{"url":"http://a/\"\u0001"}}"#)
        #expect(
            text("S") == #"{"id":7,"method":"Page.navigate","params":{"url":"http://a/\"\u0001"},"sessionId":"S"}"#)
    }

    @Test("are answers, refusals and events")
    func kinds() {
        guard case .answer(3, let result)? = DevToolsMessage(Array(#"{"id":3,"result":{"a":[1.5,true]}}"#.utf8)) else {
            return #expect(Bool(false))
        }
        #expect(result["a"]?.elements.first?.realValue == 1.5)
        #expect(result["a"]?.elements.last?.boolValue == true)
        guard case .refusal(4, "no")? = DevToolsMessage(Array(#"{"id":4,"error":{"code":-1,"message":"no"}}"#.utf8))
        else { return #expect(Bool(false)) }
        guard
            case .event(let event)? = DevToolsMessage(
                Array(#"{"method":"Page.x","params":{"t":"\ud800!"},"sessionId":"S"}"#.utf8))
        else { return #expect(Bool(false)) }
        #expect(event.name == "Page.x")
        #expect(event.session == "S")
        #expect(event.parameters["t"]?.stringValue == "\u{FFFD}!")
    }

    @Test("are nothing else", arguments: ["", "[]", "{}", "x", #"{"id":"3"}"#, #"{"method":1}"#])
    func others(text: String) {
        if DevToolsMessage(Array(text.utf8)) != nil { Issue.record("\(text) is taken for a message") }
    }
}
