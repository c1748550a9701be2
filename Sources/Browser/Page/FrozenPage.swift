/// A page that shows the same without scripts.
public struct FrozenPage: Sendable, Hashable {
    /// A document with a URL of its own; others are part of those that they stand in.
    public struct Document: Sendable, Hashable {
        /// Without a fragment.
        public var url: String
        /// In UTF-8.
        public var markup: [UInt8]
        /// `text/html`, `application/xhtml+xml`, `image/svg+xml`, or another one of XML.
        public var mediaType = "text/html"
        /// The status of the response that it was made from; nil where it is not known.
        public var status: Int?
    }

    /// The page's document first, then those of frames. None where the page is not HTML or XML.
    public var documents: [Document]
    public var title: String
    /// The type of the page's document, such as `text/html`.
    public var mediaType: String
    /// How many script elements were left out.
    public var droppedScripts: Int
    /// URLs of frames that the static copy alone has loaded: they are as they are shown without scripts.
    public var late: [String] = []
}
