import HTTPSemantics
import NIOCore
import YAML

/// `redirect`: a redirect to another URL, or to another path of the same host.
///
/// The rest of a folder's path and the request's query are added where the rule is a folder and the path of the URL,
/// which has neither query nor fragment, ends in `/`.
struct RedirectSource: SourceKind {
    let option = "redirect"
    let traits: SourceTraits = [.dependsOnRequest, .isShown]
    let status = 302

    func read(_ value: YAMLNode, _ reader: SourceReader) -> RuleBody.Text? {
        reader.url(value, "'redirect' is a URL") { text throws(KeyError) in
            // A reference to another path of the same host, or to another host with the same scheme, is allowed in
            // Location (RFC 9110 §10.2.2).
            guard text.first == UInt8(ascii: "/") else {
                _ = try SourceURL.parse(text)
                return
            }
            guard text.dropFirst().first != UInt8(ascii: "\\") else {
                throw KeyError("a path does not begin with a backslash, which browsers take for a slash")
            }
            if text.starts(with: "//".utf8) { _ = try SourceURL.parse(Array("http:".utf8) + text) }
        }
    }

    func effect(of option: OptionName, in given: GivenOptions) -> OptionEffect {
        switch option {
        case .status:
            guard let status = given.status, !accepts(status: status) else { return .some }
            return .contradiction("the status of a redirect is one from 300 to 399, and not 304")
        case .type: return .none("")
        default: return usualEffect(of: option)
        }
    }

    func accepts(status: Int) -> Bool { (300...399).contains(status) && status != 304 }

    func answer(_ request: SourceRequest) -> SourceAnswer {
        var url = request.expanded()
        let isPathAlone = !url.contains { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        if request.kind == .folder, url.last == UInt8(ascii: "/"), isPathAlone { SourceURL.append(request, to: &url) }
        let namesHost = request.written.starts(with: "//".utf8)
        let location = namesHost ? url : RedirectSource.keepingHost(url)
        // A path stays on the host that was asked.
        if request.template != nil, namesHost || location.first != UInt8(ascii: "/") {
            let scheme = url.first == UInt8(ascii: "/") ? Array("http:".utf8) : []
            do throws(TargetError) {
                let target = try TargetURI(absolute: ByteBuffer(bytes: scheme + url))
                guard request.keepsAuthority else { return .refused(.capturedAuthority) }
                guard !SourceURL.hasEmptyLabel(target) else { return .refused(.emptyLabel) }
            } catch {
                return .refused(.notAURL(error))
            }
        }
        return .content(
            SourceContent(bytes: [], type: "", status: status, location: location, isOwnWording: true))
    }

    func words(for answer: SourceAnswer, by options: RuleOptions) -> String {
        guard case .content(let content) = answer, let location = content.location else { return answer.words(options) }
        return "a redirect to \(String(decoding: location, as: UTF8.self))"
    }

    /// The value of Location for a path, which stays on the host that was asked whatever captures and the rest of a
    /// folder's path begin with. Clients take `//name`, and browsers `/\\name`, for another host (RFC 3986 §4.2; URL
    /// standard, "relative slash state").
    private static func keepingHost(_ url: [UInt8]) -> [UInt8] {
        guard url.first == UInt8(ascii: "/") else { return url }
        return [UInt8(ascii: "/")] + url.drop { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
    }
}
