import JSON

/// A message of the Chrome DevTools Protocol (https://chromedevtools.github.io/devtools-protocol/).
enum DevToolsMessage {
    /// The answer to a command, or why it was refused.
    case answer(id: Int, result: JSONValue)
    case refusal(id: Int, message: String)
    case event(DevToolsEvent)

    /// - Returns: nil for what is none.
    init?(_ bytes: [UInt8]) {
        guard let value = try? JSONReader.value(bytes, loneSurrogates: .replaced, levels: 512) else { return nil }
        if let id = value["id"]?.integerValue {
            if let error = value["error"] {
                self = .refusal(id: id, message: error["message"]?.stringValue ?? "it gives no reason")
            } else {
                self = .answer(id: id, result: value["result"] ?? [:])
            }
        } else if let name = value["method"]?.stringValue {
            self = .event(
                DevToolsEvent(name: name, session: value["sessionId"]?.stringValue, parameters: value["params"] ?? [:]))
        } else {
            return nil
        }
    }

    /// The text of a command.
    static func command(_ id: Int, _ method: String, _ parameters: JSONValue, session: String?) -> [UInt8] {
        var object = JSONObject()
        _ = object.append(Array("id".utf8), JSONValue(id))
        _ = object.append(Array("method".utf8), JSONValue(method))
        _ = object.append(Array("params".utf8), parameters)
        if let session { _ = object.append(Array("sessionId".utf8), JSONValue(session)) }
        return JSONValue.object(object).text
    }
}

/// Something that has happened in a browser.
struct DevToolsEvent {
    let name: String
    /// The session that it is of; nil for the browser's own.
    let session: String?
    let parameters: JSONValue
}
