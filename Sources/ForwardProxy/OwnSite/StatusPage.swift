import Files
import HTTPCaching
import NIOCore
import Substitution
import TLSTermination

extension LoopContext {
    /// The proxy's state, for a person.
    func statusPage() -> EventLoopFuture<OwnPage> {
        proxyMetrics().and(authorityIfAny()).assumeIsolated().map { [self] in statusPage($0, $1) }.nonisolated()
    }

    /// - Parameter authority: the certificate authority, or why there is none; nil where nothing is decrypted.
    private func statusPage(_ metrics: ProxyMetrics, _ authority: Result<CertificateAuthority, any Error>?) -> OwnPage {
        let exchanges = metrics.exchanges
        let counts = Outcome.allCases.map { outcome in
            "<tr><th>\(outcome.name)<td>\(exchanges.byStatus(outcome).reduce(0, &+))"
        }
        .joined(separator: "\n")
        let files = proxy.files.statistics
        let text = """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>subproxy</title>
            <style>
            body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 42rem; padding: 0 1rem }
            h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
            th { text-align: left; font-weight: normal; padding-right: 2rem } td { text-align: right }
            </style>
            <h1>subproxy is running</h1>
            <p>Set this address as the HTTP proxy of a browser or an app, or give it <code>/proxy.pac</code>, which sends
            only the hosts of the map here.</p>
            <h2>Map</h2>
            \(mapRows())\(archiveRows())\(AuthorityPassage.html(authority))<h2>Exchanges since the start</h2>
            <table>
            \(counts)
            </table>
            <h2>Stored responses</h2>
            <table>
            \(storedRows())
            </table>
            <h2>Retained files</h2>
            <table>
            <tr><th>files<td>\(files.entries)
            <tr><th>bytes<td>\(files.bytes)
            <tr><th>loads<td>\(files.loads)
            <tr><th>evictions<td>\(files.evictions)
            </table>
            </html>

            """
        return OwnPage(type: "text/html; charset=utf-8", body: ByteBuffer(string: text))
    }

    /// The maps in force; nothing where there are archives alone.
    private func mapRows() -> String {
        guard map.fileCount > 0 || !map.hasArchives else { return "" }
        let items = map.files.map { "<li><code>\(ErrorPage.escaped($0))</code>" }
        return "<p>\(map.ruleCount) rules in force, from</p>\n<ul>\n\(items.joined(separator: "\n"))\n</ul>\n"
    }

    /// The archives in force; nothing where there are none.
    private func archiveRows() -> String {
        guard map.hasArchives else { return "" }
        let items = map.archives.map { archive in
            let counts = archive.entryCounts
            return "<li><code>\(ErrorPage.escaped(archive.path))</code> (\(counts.usable) of \(counts.all) entries)"
        }
        return "<p>Archives:</p>\n<ul>\n\(items.joined(separator: "\n"))\n</ul>\n"
    }

    private func storedRows() -> String {
        guard let cache = proxy.cache else { return "<tr><th>nothing is stored (--cache-mode off)" }
        let store = cache.store.statistics
        return """
            <tr><th>responses<td>\(store.entries)
            <tr><th>bytes<td>\(store.bytes)
            <tr><th>evictions<td>\(store.evictions)
            """
    }
}
