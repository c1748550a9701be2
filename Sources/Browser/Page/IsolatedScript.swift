import JSON

/// An object of a script that runs beside a page's own, which know nothing of it.
struct IsolatedScript {
    private let connection: DevToolsConnection
    let session: String
    let context: JSONValue
    private let object: JSONValue

    /// Evaluates a script in a world of its own in a frame.
    ///
    /// - Parameter source: an expression whose value is an object.
    init(
        _ source: String, in frame: String, session: String, connection: DevToolsConnection, until deadline: Deadline
    ) throws(BrowserFailure) {
        self.connection = connection
        self.session = session
        let world = try connection.call(
            "Page.createIsolatedWorld", ["frameId": JSONValue(frame), "worldName": "subproxy"], session: session,
            until: deadline)
        context = world["executionContextId"] ?? .null
        let answer = try connection.call(
            "Runtime.evaluate", ["expression": JSONValue(source), "contextId": context], session: session,
            until: deadline)
        object = try IsolatedScript.value("objectId", of: answer)
    }

    /// Calls one of the object's functions, and waits for what it promises.
    ///
    /// - Parameter arguments: values, or objects (`objectId`), as Runtime.CallArgument has them.
    func call(
        _ name: String, _ arguments: [JSONValue] = [], until deadline: Deadline
    ) throws(BrowserFailure) -> JSONValue {
        let answer = try connection.call(
            "Runtime.callFunctionOn",
            [
                "objectId": object,
                "functionDeclaration": JSONValue("function (...all) { return this.\(name)(...all) }"),
                "arguments": .array(arguments), "returnByValue": true, "awaitPromise": true,
            ], session: session, until: deadline)
        return try IsolatedScript.value("value", of: answer)
    }

    private static func value(_ name: String, of answer: JSONValue) throws(BrowserFailure) -> JSONValue {
        if let details = answer["exceptionDetails"] {
            let text =
                details["exception"]?["description"]?.stringValue ?? details["text"]?.stringValue ?? "an exception"
            throw BrowserFailure(.misunderstood, String(text.prefix { !$0.isNewline }.prefix(200)))
        }
        return answer["result"]?[name] ?? .null
    }
}
