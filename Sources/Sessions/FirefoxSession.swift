import Basics
import Diagnostics
import JSON

/// Reads the files in which Firefox keeps its windows (`sessionstore.jsonlz4`, `recovery.jsonlz4`, `previous.jsonlz4`):
/// eight bytes of a mark, the length, and JSON that LZ4 has compressed as one block.
public enum FirefoxSession {
    /// A tab's session, and the pages that can't be in one.
    public struct Tab: Sendable, Equatable {
        public let session: SavedSession
        /// The URLs that were left out, since they are none of http or https: `about:` and the like.
        public let omitted: [String]
    }

    /// Bytes of a file, and of the JSON in it.
    public static let mostBytes = 64 << 20

    private static let mark = Array("mozLz40\0".utf8)

    /// Whether a file says that it is one of these.
    public static func isOne(_ bytes: [UInt8]) -> Bool { bytes.starts(with: mark) }

    /// Reads a tab of the selected window.
    ///
    /// - Parameter number: the tab's, from 1; nil for the one that is selected.
    /// - Throws: what is wrong; there is no line.
    public static func tab(_ number: Int?, of bytes: [UInt8]) throws(SessionError) -> Tab {
        guard case .object(let root) = try json(bytes) else { throw SessionError("the file has no windows") }
        guard case .array(let windows)? = root["windows"], !windows.isEmpty else {
            throw SessionError("the file has no windows")
        }
        let selected = integer(root["selectedWindow"]).flatMap { windows.indices.contains($0 &- 1) ? $0 &- 1 : nil }
        guard case .object(let window) = windows[selected ?? 0], case .array(let tabs)? = window["tabs"], !tabs.isEmpty
        else { throw SessionError("the selected window has no tabs") }
        let wanted = number ?? integer(window["selected"]) ?? 1
        guard wanted > 0, wanted <= tabs.count, case .object(let tab) = tabs[wanted - 1] else {
            throw SessionError("the selected window has no tab \(wanted); it has \(tabs.count)")
        }
        return try session(tab, wanted)
    }

    private static func session(_ tab: JSONObject, _ number: Int) throws(SessionError) -> Tab {
        guard case .array(let list)? = tab["entries"], !list.isEmpty else {
            throw SessionError("tab \(number) has no pages")
        }
        // From 1; without it the last one is shown.
        let shown = integer(tab["index"]).flatMap { list.indices.contains($0 &- 1) ? $0 &- 1 : nil } ?? list.count &- 1
        var entries: [SavedSession.Entry] = []
        var omitted: [String] = []
        var current = 0
        for (index, element) in list.enumerated() {
            guard case .object(let entry) = element, case .string(let text)? = entry["url"] else {
                throw SessionError("page \(index + 1) of tab \(number) has no URL")
            }
            let url = String(decoding: text, as: UTF8.self)
            guard let usable = try? SessionURL(url) else {
                omitted.append(url)
                continue
            }
            var title = ""
            if case .string(let text)? = entry["title"] { title = String(decoding: text, as: UTF8.self) }
            entries.append(SavedSession.Entry(url: usable, title: title))
            // Where the one that is shown is left out, it is the one before it.
            if index <= shown { current = entries.count &- 1 }
        }
        guard !entries.isEmpty else { throw SessionError("tab \(number) has no http or https page") }
        guard let session = SavedSession(saved: nil, current: current, entries: entries) else {
            throw SessionError(
                "tab \(number) has \(entries.count) pages; at most \(SavedSession.mostEntries) can be restored")
        }
        return Tab(session: session, omitted: omitted)
    }

    private static func json(_ bytes: [UInt8]) throws(SessionError) -> JSONValue {
        guard isOne(bytes), bytes.count >= 12 else { throw SessionError("this is no jsonlz4 file") }
        guard bytes.count <= mostBytes else { throw SessionError("the file has more than \(mostBytes >> 20) MiB") }
        let length = (8..<12).reversed().reduce(0) { $0 << 8 | Int(bytes[$1]) }
        guard length <= mostBytes else { throw SessionError("its JSON has more than \(mostBytes >> 20) MiB") }
        var json: [UInt8]
        do throws(LZ4Block.Failure) {
            json = try LZ4Block.decompress(bytes[12...], to: length)
        } catch {
            throw SessionError(error.description)
        }
        replaceLoneSurrogates(in: &json)
        do throws(JSONError) {
            return try JSONReader.value(json, byteOrderMark: .skipped)
        } catch {
            throw SessionError("its JSON can't be read: \(visibleText(of: error.message.utf8))")
        }
    }

    private static func integer(_ value: JSONValue?) -> Int? {
        guard case .number(let number)? = value else { return nil }
        return number.integer.flatMap { Int(exactly: $0) }
    }

    /// JSON of a browser's may have half a character in a title that was cut: `\ud83d` alone (ECMAScript's
    /// `JSON.stringify` writes it so). It becomes U+FFFD.
    static func replaceLoneSurrogates(in json: inout [UInt8]) {
        var index = 0
        while index < json.count {
            guard json[index] == UInt8(ascii: "\\") else {
                index &+= 1
                continue
            }
            guard let unit = escapedUnit(json, at: index), 0xD800...0xDFFF ~= unit else {
                index &+= 2
                continue
            }
            if unit < 0xDC00, let second = escapedUnit(json, at: index &+ 6), 0xDC00...0xDFFF ~= second {
                index &+= 12
                continue
            }
            json.replaceSubrange(index &+ 2..<index &+ 6, with: "fffd".utf8)
            index &+= 6
        }
    }

    /// The unit of the `\uXXXX` that stands there; nil where none does.
    private static func escapedUnit(_ json: [UInt8], at index: Int) -> UInt32? {
        guard index &+ 6 <= json.count, json[index] == UInt8(ascii: "\\"), json[index &+ 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt32 = 0
        for place in index &+ 2..<index &+ 6 {
            guard let digit = json[place].hexValue else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }
}
