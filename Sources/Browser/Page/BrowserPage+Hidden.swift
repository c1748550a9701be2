import JSON

/// What of a page no script may read, but the browser tells.
extension BrowserPage {
    /// How long the browser has for each answer, and how many canvases are looked at.
    private static let hiddenTime = 10_000
    private static let mostCanvases = 20
    /// The most elements of a frame that are asked whether they are hosts.
    private static let mostHosts = 2000

    /// The closed shadow roots of all frames, by the frames' names: numbers of nodes (`BackendNodeId`).
    ///
    /// What the browser does not tell is left out; the page is frozen all the same.
    func findClosedRoots(until deadline: Deadline) throws(BrowserFailure) -> [String: [JSONValue]] {
        var roots: [String: [JSONValue]] = [:]
        for (id, part) in sessions where part.kind == .frames {
            let answer: JSONValue?
            do throws(BrowserFailure) {
                let own = id == session ? deadline : Deadline(milliseconds: BrowserPage.hiddenTime)
                let limit = own.orEarlier(deadline)
                answer = try connection.call(
                    "DOMSnapshot.captureSnapshot", ["computedStyles": []], session: id, containing: #""closed""#,
                    until: limit)
            } catch {
                try passOver(error, isMain: false, until: deadline)
                continue
            }
            guard let answer else { continue }
            let strings = answer["strings"]?.elements ?? []
            for document in answer["documents"]?.elements ?? [] {
                guard let frame = text(document["frameId"], of: strings), let nodes = document["nodes"] else {
                    continue
                }
                for host in hosts(in: nodes, strings).prefix(BrowserPage.mostHosts) {
                    do throws(BrowserFailure) {
                        roots[frame, default: []] += try closedRoots(of: host, in: id, until: deadline)
                    } catch {
                        try passOver(error, isMain: false, until: deadline)
                    }
                }
            }
        }
        return roots
    }

    /// The elements that may be the hosts of closed roots: the parents of all nodes in such ones.
    private func hosts(in nodes: JSONValue, _ strings: [JSONValue]) -> [JSONValue] {
        let numbers = nodes["backendNodeId"]?.elements ?? []
        let parents = nodes["parentIndex"]?.elements ?? []
        let kinds = nodes["shadowRootType"]
        var hosts: [JSONValue] = []
        var seen: Set<Int> = []
        for (index, kind) in zip(kinds?["index"]?.elements ?? [], kinds?["value"]?.elements ?? []) {
            guard text(kind, of: strings) == "closed", let index = index.integerValue, parents.indices.contains(index),
                let parent = parents[index].integerValue, numbers.indices.contains(parent), seen.insert(parent).inserted
            else { continue }
            hosts.append(numbers[parent])
        }
        return hosts
    }

    /// The closed root that an element is the host of, if it is.
    private func closedRoots(
        of host: JSONValue, in session: String, until deadline: Deadline
    ) throws(BrowserFailure) -> [JSONValue] {
        let limit = Deadline(milliseconds: BrowserPage.hiddenTime).orEarlier(deadline)
        let answer = try connection.call(
            "DOM.describeNode", ["backendNodeId": host], session: session, until: limit)
        let roots = answer["node"]?["shadowRoots"]?.elements ?? []
        return roots.filter { $0["shadowRootType"]?.stringValue == "closed" }.compactMap { $0["backendNodeId"] }
    }

    private func text(_ index: JSONValue?, of strings: [JSONValue]) -> String? {
        guard let index = index?.integerValue, strings.indices.contains(index) else { return nil }
        return strings[index].stringValue
    }

    /// Gives a frame's closed shadow roots to the script that freezes it.
    func showClosedRoots(
        of frame: FrameTree.Frame, to script: IsolatedScript, until deadline: Deadline
    ) throws(BrowserFailure) {
        let limit = Deadline(milliseconds: BrowserPage.hiddenTime).orEarlier(deadline)
        for root in closedRoots[frame.id] ?? [] {
            do throws(BrowserFailure) {
                let node = try connection.call(
                    "DOM.resolveNode", ["backendNodeId": root, "executionContextId": script.context],
                    session: frame.session, until: limit)
                _ = try script.call(
                    "shadow", [["objectId": node["object"]?["objectId"] ?? .null]], until: limit)
            } catch {
                // It has gone meanwhile.
                try passOver(error, isMain: false, until: deadline)
            }
        }
    }

    /// Gives pictures of the canvases that no script can read to the script that freezes the page: those of WebGL whose
    /// page does not keep them, and those with pictures of other origins.
    func showCanvases(to script: IsolatedScript, until deadline: Deadline) throws(BrowserFailure) {
        let limit = Deadline(milliseconds: BrowserPage.hiddenTime).orEarlier(deadline)
        do throws(BrowserFailure) {
            let places = try script.call("unread", until: limit).elements
            guard !places.isEmpty else { return }
            try setBackground(isTransparent: true, until: limit)
            for (index, place) in places.prefix(BrowserPage.mostCanvases).enumerated() {
                let index: JSONValue = ["value": JSONValue(index)]
                _ = try script.call("show", [index], until: limit)
                guard let picture = try picture(of: place, until: limit) else { continue }
                _ = try script.call(
                    "take", [index, ["value": JSONValue("data:image/png;base64," + picture)]], until: limit)
            }
        } catch {
            try passOver(error, isMain: false, until: deadline)
        }
        // These have time of their own: what took too long before would else stay as it is for the page's picture.
        let rest = Deadline(milliseconds: BrowserPage.hiddenTime).orEarlier(deadline)
        do throws(BrowserFailure) {
            _ = try script.call("showAll", until: rest)
        } catch {
            try passOver(error, isMain: false, until: deadline)
        }
        do throws(BrowserFailure) {
            try setBackground(isTransparent: false, until: rest)
        } catch {
            try passOver(error, isMain: false, until: deadline)
        }
    }

    /// A place of the page, as base64 of a PNG.
    private func picture(of place: JSONValue, until deadline: Deadline) throws(BrowserFailure) -> String? {
        var clip: [(String, JSONValue)] = [("scale", 1)]
        for name in ["x", "y", "width", "height"] { clip.append((name, place[name] ?? 0)) }
        let answer = try connection.call(
            "Page.captureScreenshot", ["format": "png", "captureBeyondViewport": true, "clip": .members(clip)],
            session: session, until: deadline)
        return answer["data"]?.stringValue
    }

    private func setBackground(isTransparent: Bool, until deadline: Deadline) throws(BrowserFailure) {
        let transparent: JSONValue = ["color": ["r": 0, "g": 0, "b": 0, "a": 0]]
        _ = try connection.call(
            "Emulation.setDefaultBackgroundColorOverride", isTransparent ? transparent : [:], session: session,
            until: deadline)
    }
}
