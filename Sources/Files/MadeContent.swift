public import HTTPSemantics
public import NIOCore

/// Content that is made from something else than a file of its own, and retained like one: an archive's entry.
public struct MadeContent: Sendable {
    /// nil for the content itself.
    public var coding: ContentCoding?
    /// With its quotes; empty for none.
    public var etag: [UInt8]
    public var body: ByteBuffer

    public init(coding: ContentCoding?, etag: [UInt8], body: ByteBuffer) {
        self.coding = coding
        self.etag = etag
        self.body = body
    }
}

/// What is kept with content that was made, as long as that is.
public struct MadeNote: Sendable {
    public var value: any Sendable
    /// Roughly the bytes that it takes.
    public var cost: Int

    public init(_ value: any Sendable, cost: Int) {
        self.value = value
        self.cost = cost
    }
}

extension RetainedFiles {
    /// Keeps content that was made, as a file that was read is kept: within the memory, until it is dropped.
    ///
    /// - Parameters:
    ///   - name: what it is found by below `root`; another one for each content that was ever there.
    ///   - contents: without a coding first.
    ///   - note: kept with it.
    /// - Returns: What to answer from; ``holds(_:)`` tells whether it was kept.
    public func keep(
        _ contents: [MadeContent], as name: [UInt8], below root: FolderRoot, mode: RetentionMode = .retain,
        note: MadeNote? = nil
    ) -> LoadedFile {
        let none = FileTime(seconds: 0, nanoseconds: 0)
        let variants = contents.map { content in
            FileVariant(
                coding: content.coding,
                identity: FileIdentity(
                    device: 0, inode: 0, size: content.body.readableBytes, modified: none, changed: none),
                etag: content.etag, size: content.body.readableBytes, body: content.body)
        }
        let made = LoadedFile(
            root: root, path: name, mode: mode, variants: variants, seen: [], isSettled: true, note: note)
        return mode == .none ? made : insert(made)
    }
}
