import Diagnostics
import HTTPSemantics
import NIOCore
import YAML

/// `forward`: the answer of the origin, or of another URL's.
///
/// The rest of a folder's path is added to that URL, and the request's query: not with a regular expression, which has
/// seen the query.
struct ForwardSource: SourceKind {
    let option = "forward"
    let traits: SourceTraits = [.asksOrigin, .dependsOnRequest, .isShown]

    /// `true` leaves no text: the request goes on as it is.
    func read(_ value: YAMLNode, _ reader: SourceReader) -> RuleBody.Text? {
        if let boolean = value.scalar?.boolValue {
            return boolean ? reader.builder.append([UInt8]()) : reader.refuseFalse(value)
        }
        let expected = "'forward' is true or a URL"
        if let scalar = value.scalar, scalar.value == .text, scalar.isYAML11Boolean {
            reader.diagnostics.error("\(expected); for \(scalar) write true", at: scalar.span)
            return nil
        }
        var port: UInt16?
        let url = reader.url(value, expected) { text throws(KeyError) in
            let target = try SourceURL.parse(text)
            guard target.scheme != .other else {
                throw KeyError("requests are forwarded to http and https URLs only")
            }
            if target.scheme == .https { port = target.port }
        }
        if url != nil, let port, let text = value.scalar?.string, !hasCapturedAuthority(text) {
            reader.builder.storage.forwardedPorts.insert(port)
        }
        return url
    }

    /// Whether a capture is in the host or the port of a URL.
    private func hasCapturedAuthority(_ url: String) -> Bool {
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count < 3 || parts[2].prefix { $0 != "?" && $0 != "#" }.contains("$")
    }

    func note(_ value: YAMLNode, into given: inout GivenOptions) {
        given.forwardsAsAsked = value.scalar?.boolValue == true
    }

    func effect(of option: OptionName, in given: GivenOptions) -> OptionEffect {
        switch option {
        case .status, .type, .cors: return .none("")
        case .when:
            guard given.forwardsAsAsked, given.when == .originFails else { return .some }
            return .idle("'when' has no effect with 'forward: true': there is nothing beside the origin to be asked")
        default: return usualEffect(of: option)
        }
    }

    /// The origin does not stand in for itself.
    func settle(_ options: inout GivenOptions) {
        if options.forwardsAsAsked { options.when = .always }
    }

    func answer(_ request: SourceRequest) -> SourceAnswer {
        var url = request.expanded()
        guard !url.isEmpty else { return .origin(nil) }
        SourceURL.append(request, to: &url)
        do throws(TargetError) {
            let target = try TargetURI(absolute: ByteBuffer(bytes: url))
            guard request.template != nil else { return .origin(target) }
            guard request.keepsAuthority else { return .refused(.capturedAuthority) }
            return SourceURL.hasEmptyLabel(target) ? .refused(.emptyLabel) : .origin(target)
        } catch {
            return .refused(.notAURL(error))
        }
    }
}
