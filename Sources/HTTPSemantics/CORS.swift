/// The parts of the CORS protocol that answering in an origin's place needs (Fetch standard, "HTTP extensions").
public enum CORS {
    /// Whether the request is a preflight: OPTIONS with Origin and Access-Control-Request-Method.
    public static func isPreflight(_ method: Method, _ fields: FieldSection) -> Bool {
        method == .options && fields.contains(.origin) && fields.contains(.accessControlRequestMethod)
    }

    /// Whether scripts see this response field without Access-Control-Expose-Headers, or must never see it.
    ///
    /// The former are the CORS-safelisted response-header names; the latter Set-Cookie and Set-Cookie2.
    public static func needsNoExposing(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 6: name.equalsIgnoringCase("pragma")
        case 7: name.equalsIgnoringCase("expires")
        case 10: name.equalsIgnoringCase("set-cookie")
        case 11: name.equalsIgnoringCase("set-cookie2")
        case 12: name.equalsIgnoringCase("content-type")
        case 13: name.equalsIgnoringCase("cache-control") || name.equalsIgnoringCase("last-modified")
        case 14: name.equalsIgnoringCase("content-length")
        case 16: name.equalsIgnoringCase("content-language")
        default: false
        }
    }

    /// The method that a preflight asks for; nil where there isn't exactly one or it is no token.
    public static func requestedMethod(_ fields: FieldSection) -> [UInt8]? {
        guard fields.count(of: .accessControlRequestMethod) == 1 else { return nil }
        return fields.withFirst(.accessControlRequestMethod) { $0.isToken ? Array($0) : nil } ?? nil
    }

    /// The field names that a preflight asks for, joined by `, `, fit for Access-Control-Allow-Headers.
    ///
    /// - Returns: Empty where it asks for none; nil where one of them is no token.
    public static func requestedFieldNames(_ fields: FieldSection) -> [UInt8]? {
        var out: [UInt8] = []
        var areTokens = true
        fields.forEachElement(of: .accessControlRequestHeaders) { name in
            guard name.isToken else {
                areTokens = false
                return
            }
            if !out.isEmpty { out.append(", ") }
            out.append(contentsOf: name)
        }
        return areTokens ? out : nil
    }
}
