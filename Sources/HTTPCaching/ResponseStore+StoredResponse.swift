extension ResponseStore where Metadata == StoredResponse {
    /// The same as for any metadata, compiled for this one: a look-up stands in every request's way.
    public func entries(for key: StoreKey) -> [Entry] { shard(of: key).read { $0.entries(for: key) } }
}
