import HTTPSemantics
import NIOCore

/// Writes the fields that say what happened to an exchange: Cache-Status (RFC 9211), Proxy-Status (RFC 9209).
enum StatusFields {
    /// `Cache-Status: subproxy; hit; detail="substitutions.yaml:12"`.
    static func writeHit(rule: String, to lines: inout ByteBuffer) {
        lines.writeStaticString("Cache-Status: subproxy; hit; detail=")
        writeString(rule, to: &lines)
        lines.writeStaticString("\r\n")
    }

    /// `Cache-Status: subproxy; fwd=uri-miss`, with the rule's position where one took part.
    static func writeForward(_ reason: ForwardReason, detail: String, to lines: inout ByteBuffer) {
        lines.writeStaticString("Cache-Status: subproxy; fwd=")
        lines.writeStaticString(reason.parameter)
        if !detail.isEmpty {
            lines.writeStaticString("; detail=")
            writeString(detail, to: &lines)
        }
        lines.writeStaticString("\r\n")
    }

    /// `Cache-Status: subproxy; fwd=uri-miss; stored; collapsed`, with the parameters that hold.
    ///
    /// - Parameter status: the origin's, where it answered a validation.
    static func writeFetched(
        _ reason: ForwardReason, status: Int?, isStored: Bool, isCollapsed: Bool, detail: String,
        to lines: inout ByteBuffer
    ) {
        lines.writeStaticString("Cache-Status: subproxy; fwd=")
        lines.writeStaticString(reason.parameter)
        if let status {
            lines.writeStaticString("; fwd-status=")
            lines.writeDecimal(status)
        }
        if isStored { lines.writeStaticString("; stored") }
        if isCollapsed { lines.writeStaticString("; collapsed") }
        writeParameters(detail: detail, key: [], to: &lines)
    }

    /// Ends a member of Cache-Status and its line, with what is not empty.
    static func writeParameters(detail: String, key: [UInt8], to lines: inout ByteBuffer) {
        if !key.isEmpty {
            lines.writeStaticString("; key=")
            lines.writeBytes(StructuredString.bytes(key))
        }
        if !detail.isEmpty {
            lines.writeStaticString("; detail=")
            writeString(detail, to: &lines)
        }
        lines.writeStaticString("\r\n")
    }

    /// `Proxy-Status: subproxy; error=connection_refused; details="…"`.
    static func writeError(_ error: ProxyError, to lines: inout ByteBuffer) {
        lines.writeStaticString("Proxy-Status: subproxy")
        if error.type.utf8CodeUnitCount > 0 {
            lines.writeStaticString("; error=")
            lines.writeStaticString(error.type)
        }
        lines.writeStaticString("; details=")
        writeString(error.failure, to: &lines)
        lines.writeStaticString("\r\n")
    }

    /// A structured-field string: printable ASCII in quotes (RFC 9651 §3.3.3).
    private static func writeString(_ text: String, to lines: inout ByteBuffer) {
        lines.writeBytes(StructuredString.bytes(text.utf8))
    }
}
