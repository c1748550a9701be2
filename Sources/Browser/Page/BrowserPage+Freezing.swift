import JSON

extension BrowserPage {
    private static let mostFrames = 1000
    private static let deepestFrame = 32
    /// How often frames are looked for that wait to be seen, in those that were loaded for that.
    private static let deepestLate = 4

    /// What a frame shows, as markup.
    private struct Frozen {
        var markup: [UInt8]?
        var title = ""
        var mediaType = ""
        var isQuirky = false
    }

    /// Makes copies of all documents that need no scripts.
    ///
    /// The page itself stays as it is. A frame that goes meanwhile, or does not answer, is left as its element has it:
    /// ``PageCapture/addLateFrames(of:to:)`` freezes it.
    ///
    /// - Parameter namesFragments: whether URLs of frames have the fragments that they have in the page. The default is
    ///   true.
    /// - Throws: ``BrowserFailure``: `timedOut` where the deadline is over, `misunderstood` where the page's own frame
    ///   can't be read, `ended`, and `interrupted`.
    public func freeze(
        until deadline: Deadline, namesFragments: Bool = true
    ) throws(BrowserFailure) -> FrozenPage {
        let tree = try frameTree(until: deadline)
        keepsFragments = namesFragments
        closedRoots = try findClosedRoots(until: deadline)
        defer {
            closedRoots = [:]
            blank?.close()
            blank = nil
        }
        guard let main = tree.frames.first(where: { $0.id == target }) else {
            throw BrowserFailure(.misunderstood, "the page has no frame")
        }
        var page = FrozenPage(documents: [], title: "", mediaType: "", droppedScripts: 0)
        let frozen = try freeze(main, of: tree, depth: 0, into: &page, until: deadline)
        page.title = frozen.title
        page.mediaType = frozen.mediaType
        if let markup = frozen.markup {
            let document = FrozenPage.Document(
                url: main.url, markup: markup, mediaType: frozen.mediaType,
                status: network.documents[main.loader]?.status)
            page.documents.insert(document, at: 0)
        } else {
            page.documents = []
        }
        return page
    }

    /// Has frames loaded that wait until they are seen (HTML, `loading=lazy`), and those that they have.
    ///
    /// - Throws: ``BrowserFailure``: `timedOut` where the deadline is over, `ended`, and `interrupted`.
    func loadLateFrames(until deadline: Deadline) throws(BrowserFailure) {
        for _ in 0..<BrowserPage.deepestLate {
            let tree = try frameTree(until: deadline)
            let parents = Set(tree.frames.filter(\.isBlank).compactMap(\.parent))
            var count = 0
            for frame in tree.frames where parents.contains(frame.id) {
                do throws(BrowserFailure) {
                    let limit = Deadline(milliseconds: options.frameTime).orEarlier(deadline)
                    let script = try IsolatedScript(
                        LateFrameScript.source, in: frame.id, session: frame.session, connection: connection,
                        until: limit)
                    count += try script.call("load", until: limit).integerValue ?? 0
                } catch {
                    try passOver(error, isMain: false, until: deadline)
                }
            }
            guard count > 0 else { return }
            let patience = isRestless ? BrowserPage.restlessPause : deadline.milliseconds
            _ = try waitUntilQuiet(until: Deadline(milliseconds: patience).orEarlier(deadline))
        }
    }

    func frameTree(until deadline: Deadline) throws(BrowserFailure) -> FrameTree {
        var tree = FrameTree()
        let parts = sessions.filter { $0.value.kind == .frames }.sorted { $0.value.frame < $1.value.frame }
        for (id, part) in parts {
            do throws(BrowserFailure) {
                // Without the page's own frame there is nothing to be saved: a script of it may take its time.
                let own = id == session ? deadline : Deadline(milliseconds: options.frameTime)
                let answer = try connection.call(
                    "Page.getFrameTree", session: id, until: own.orEarlier(deadline))
                tree.add(answer["frameTree"] ?? [:], session: id, parent: part.parent)
            } catch {
                try passOver(error, isMain: id == session, until: deadline)
            }
        }
        return tree
    }

    private func freeze(
        _ frame: FrameTree.Frame, of tree: FrameTree, depth: Int, into page: inout FrozenPage, until deadline: Deadline
    ) throws(BrowserFailure) -> Frozen {
        // What the browser shows in place of a document, or makes of a PDF, is none of the page's.
        if depth > 0, frame.isError { return Frozen(markup: nil) }
        let answer = network.documents[frame.loader]
        let isShown = answer?.mediaType.isEmpty != false || answer.map { BrowserPage.isDocument($0.mediaType) } == true
        guard answer?.isProxys != true || depth == 0, isShown else {
            return Frozen(markup: nil, mediaType: answer?.mediaType ?? "")
        }
        let limit = depth == 0 ? deadline : Deadline(milliseconds: options.frameTime).orEarlier(deadline)
        let script = try IsolatedScript(
            FreezeScript.source(), in: frame.id, session: frame.session, connection: connection, until: limit)
        if depth < BrowserPage.deepestFrame {
            for child in tree.children(of: frame.id).prefix(BrowserPage.mostFrames) {
                do throws(BrowserFailure) {
                    let frozen = try freeze(child, of: tree, depth: depth + 1, into: &page, until: deadline)
                    try mark(child, frozen, in: frame, script, &page, until: deadline)
                } catch {
                    try passOver(error, isMain: false, until: deadline)
                }
            }
        }
        try showClosedRoots(of: frame, to: script, until: deadline)
        if depth == 0 { try showCanvases(to: script, until: deadline) }
        let refused = network.refusals(of: frame.loader)
        let lists = [refused.wholly, refused.partly, network.upgraded(of: frame.loader)]
        if lists.contains(where: { !$0.isEmpty }) {
            let lists = lists.map { urls -> JSONValue in ["value": .array(urls.sorted().map { JSONValue($0) })] }
            _ = try script.call("block", lists, until: limit)
        }
        let result = try script.call(
            "run", [["value": .bool(answer?.isUpgrading == true)]],
            until: depth == 0 ? deadline : Deadline(milliseconds: options.frameTime).orEarlier(deadline))
        if depth == 0, result["isEmpty"]?.boolValue == true {
            throw BrowserFailure(.misunderstood, "\(frame.url): a script has removed the page's document element")
        }
        var settled = result
        if result["unsettled"] != nil { settled = try settle(result, script, until: limit) }
        if settled["isUnwritable"]?.boolValue == true {
            throw BrowserFailure(.misunderstood, "\(frame.url): what scripts have made of it can't be written as XML")
        }
        page.droppedScripts += (result["scripts"]?.integerValue ?? 0) + (settled["more"]?.integerValue ?? 0)
        return Frozen(
            markup: settled["markup"]?.stringBytes, title: result["title"]?.stringValue ?? "",
            mediaType: result["contentType"]?.stringValue ?? "", isQuirky: result["isQuirky"]?.boolValue == true)
    }

    /// Has a document read and cleaned in a page without policies, since its own lets nobody do that.
    ///
    /// - Parameter result: what the script has made of it.
    /// - Returns: `markup`, and `more` scripts; or `isUnwritable`.
    private func settle(
        _ result: JSONValue, _ script: IsolatedScript, until deadline: Deadline
    ) throws(BrowserFailure) -> JSONValue {
        if blank == nil { blank = try openBlank() }
        guard let blank else { throw BrowserFailure(.ended, "the browser has ended") }
        let type: StaticString
        switch result["contentType"]?.stringValue {
        case "text/html": type = "text/html"
        case "application/xhtml+xml": type = "application/xhtml+xml"
        case "image/svg+xml": type = "image/svg+xml"
        default: type = "application/xml"
        }
        let cleaner = try IsolatedScript(
            FreezeScript.source(of: type), in: blank.target, session: blank.session, connection: connection,
            until: deadline)
        let given = result["given"]?.elements ?? []
        let clean = try cleaner.call(
            "settle", [["value": result["unsettled"] ?? .null]] + given.map { ["value": $0] }, until: deadline)
        guard let text = clean["text"]?.stringBytes else { return ["isUnwritable": true] }
        let markup = try script.call("finish", [["value": .string(text)]], until: deadline)
        return ["markup": markup, "more": clean["scripts"] ?? 0]
    }

    /// Whether a type is that of documents, which may have scripts: of HTML and XML, as SVG is, and what browsers take
    /// for XML.
    static func isDocument(_ type: String) -> Bool {
        type == "text/html" || type == "text/xsl" || type.hasSuffix("/xml") || type.hasSuffix("+xml")
    }

    /// Tells the document that a frame stands in what will be there in its place.
    private func mark(
        _ child: FrameTree.Frame, _ frozen: Frozen, in frame: FrameTree.Frame, _ script: IsolatedScript,
        _ page: inout FrozenPage, until deadline: Deadline
    ) throws(BrowserFailure) {
        guard
            let content = FrameContent(
                child.url, frozen.markup, frozen.mediaType, status: network.documents[child.loader]?.status, page: url,
                known: page.documents)
        else { return }
        let limit = Deadline(milliseconds: options.frameTime).orEarlier(deadline)
        let owner = try connection.call(
            "DOM.getFrameOwner", ["frameId": JSONValue(child.id)], session: frame.session, until: limit)
        let element = try connection.call(
            "DOM.resolveNode",
            ["backendNodeId": owner["backendNodeId"] ?? 0, "executionContextId": script.context],
            session: frame.session, until: limit)
        let object: JSONValue = ["objectId": element["object"]?["objectId"] ?? .null]
        let (kind, value): (String, JSONValue)
        switch content {
        case .url(let document):
            (kind, value) = ("url", JSONValue(child.url + (keepsFragments ? child.fragment : "")))
            if let document { page.documents.append(document) }
        case .markup(let markup): (kind, value) = ("markup", .string(markup))
        case .blank(let markup): (kind, value) = ("blank", .string(markup))
        case .nothing: (kind, value) = ("none", .null)
        }
        _ = try script.call(
            "mark",
            [
                object, ["value": JSONValue(kind)], ["value": value], ["value": JSONValue(frozen.mediaType)],
                ["value": .bool(frozen.isQuirky)],
            ],
            until: limit)
    }

    func passOver(_ failure: BrowserFailure, isMain: Bool, until deadline: Deadline) throws(BrowserFailure) {
        let isFrame = failure.kind == .misunderstood || failure.kind == .timedOut && !deadline.isOver
        guard isFrame, !isMain else { throw failure }
    }
}

/// What stands for a frame in the document that it is in.
enum FrameContent: Equatable {
    /// Its URL; with the document that is to be found there, if it is not known yet.
    case url(FrozenPage.Document?)
    /// The document itself, which has no URL of its own, or one that is another document's.
    case markup([UInt8])
    /// A document that was never loaded, which stands where nothing else is named.
    case blank([UInt8])
    /// An error of the browser's, also where the page did not allow what the frame names.
    case nothing

    /// - Parameters:
    ///   - markup: nil for what is no document.
    ///   - status: that of the response that it was made from.
    ///   - page: the URL of the page's document.
    ///   - known: documents of other frames.
    /// - Returns: nil for what could not be loaded.
    init?(
        _ url: String, _ markup: [UInt8]?, _ mediaType: String = "text/html", status: Int? = nil, page: String,
        known: [FrozenPage.Document]
    ) {
        if url.hasPrefix("http:") || url.hasPrefix("https:") {
            guard let markup else {
                self = .url(nil)
                return
            }
            let same = known.first { $0.url == url }
            if url == page || same.map({ $0.markup != markup }) == true {
                self = .markup(markup)
            } else {
                let document = FrozenPage.Document(url: url, markup: markup, mediaType: mediaType, status: status)
                self = .url(same == nil ? document : nil)
            }
        } else if url.hasPrefix(FrameTree.Frame.errors) {
            self = .nothing
        } else if let markup, !url.hasPrefix("chrome") {
            self = FrameTree.Frame.blanks.contains(url) ? .blank(markup) : .markup(markup)
        } else {
            return nil
        }
    }
}
