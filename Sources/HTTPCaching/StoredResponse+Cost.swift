import HTTPSemantics
import NIOCore

extension StoredResponse: StoreMetadata {
    /// Bytes that the value refers to: its fields with their line table, reason phrase, entity tag, selecting values.
    public var memoryCost: Int {
        var cost = fields.bytes.storageCapacity &+ fields.lines.count &* 24 &+ reason.readableBytes &+ 256
        cost &+= etag?.count ?? 0
        for name in selection.names { cost &+= name.count &+ 48 }
        for value in selection.values { cost &+= value?.count ?? 0 }
        return cost
    }
}
