import JSON

/// The frames of a page, those of all processes.
struct FrameTree {
    struct Frame {
        let id: String
        let parent: String?
        let session: String
        /// Of the document that it shows.
        let loader: String
        /// Without its fragment.
        let url: String
        /// With its `#`; empty where there is none.
        let fragment: String

        /// How the URL begins of what the browser shows in place of a document.
        static let errors = "chrome-error:"
        /// The URLs of what is there before anything is loaded.
        static let blanks: Set<String> = ["about:blank", "", ":"]

        var isError: Bool { url.hasPrefix(Frame.errors) }
        var isBlank: Bool { Frame.blanks.contains(url) }
    }

    /// Each frame stands behind the one that it is in.
    private(set) var frames: [Frame] = []

    /// Adds a session's frames, from the answer to Page.getFrameTree.
    ///
    /// - Parameter parent: the frame of another session in which they stand.
    mutating func add(_ tree: JSONValue, session: String, parent: String?) {
        var open: [(JSONValue, String?)] = [(tree, parent)]
        while let (node, parent) = open.popLast() {
            guard let frame = node["frame"], let id = frame["id"]?.stringValue else { continue }
            frames.append(
                Frame(
                    id: id, parent: parent ?? frame["parentId"]?.stringValue, session: session,
                    loader: frame["loaderId"]?.stringValue ?? "",
                    url: frame["url"]?.stringValue ?? "", fragment: frame["urlFragment"]?.stringValue ?? ""))
            open += (node["childFrames"]?.elements ?? []).reversed().map { ($0, id) }
        }
    }

    func children(of id: String) -> [Frame] { frames.filter { $0.parent == id } }
}
