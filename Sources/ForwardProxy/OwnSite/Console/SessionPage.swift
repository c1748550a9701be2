import NIOCore
import Sessions

/// The pages on which a browser's back and forward list is restored.
///
/// They carry no script and no style of their own. What a session says stands in them as text.
enum SessionPage {
    /// `/session/restore`: its script reads the session from the address.
    static var restoring: OwnPage {
        page(
            title: "Restore a session",
            script: "restore.js",
            body: """
                <main>
                <h1>Restore a session</h1>
                <p class="quiet">The pages below become this tab's back and forward list.</p>
                <p id="message" role="status"></p>
                <button type="button" id="restore" disabled>Restore</button>
                <ol id="entries"></ol>
                \(withoutScript)
                </main>
                """)
    }

    /// `/sessions/NAME`.
    ///
    /// - Parameter isRestoredNow: whether the list is restored without a click.
    static func saved(_ session: SavedSession, _ name: SessionName, isRestoredNow: Bool) -> OwnPage {
        let count = session.entries.count
        let items = session.entries.enumerated().map { item($1, isCurrent: $0 == session.current) }
        let saved = session.saved.map { ", saved \(ErrorPage.escaped($0))" } ?? ""
        let now = isRestoredNow ? " data-restore=\"now\"" : ""
        return page(
            title: "Session \(name.text)", script: "session.js",
            body: """
                <main data-name="\(name.text)" data-count="\(count)" data-current="\(session.current)"\(now)>
                <h1>Session \(name.text)</h1>
                <p class="quiet">\(count == 1 ? "1 page" : "\(count) pages")\(saved)</p>
                <button type="button" id="restore" disabled>Restore</button>
                <p id="message" role="status"></p>
                <ol id="entries">
                \(items.joined(separator: "\n"))
                </ol>
                \(withoutScript)
                </main>
                """)
    }

    private static let withoutScript = "<noscript><p>Restoring needs JavaScript. The links do not.</p></noscript>"

    private static func item(_ entry: SavedSession.Entry, isCurrent: Bool) -> String {
        let url = ErrorPage.escaped(entry.url)
        let title = ErrorPage.escaped(entry.title)
        let link = "<a href=\"\(url)\" rel=\"noreferrer\">\(title.isEmpty ? url : title)</a>"
        let place = title.isEmpty ? "" : "<span class=\"url\">\(url)</span>"
        return "<li\(isCurrent ? " aria-current=\"page\"" : "")>\(link)\(place)</li>"
    }

    private static func page(title: String, script: String, body: String) -> OwnPage {
        let text = """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title) · subproxy</title>
            <link rel="icon" href="/console/icon.svg" type="image/svg+xml">
            <link rel="stylesheet" href="/console/session.css">
            <script type="module" src="/console/\(script)"></script>
            \(body)
            </html>

            """
        var page = OwnPage(type: "text/html; charset=utf-8", body: ByteBuffer(string: text))
        page.policy = .console
        return page
    }

    /// `/sessions/NAME/N`: leads to the entry's page.
    static func redirect(to entry: SavedSession.Entry) -> OwnPage {
        var page = OwnPage(status: 302, type: "", body: ByteBuffer())
        page.policy = .console
        page.lines.writeString("Location: \(entry.url)\r\n")
        return page
    }
}
