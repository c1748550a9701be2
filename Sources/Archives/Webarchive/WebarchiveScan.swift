import HTTPSemantics

/// Finds the resources of a webarchive, in the order of the document: the main one, then the subresources, then those
/// of each subframe archive likewise.
struct WebarchiveScan {
    private var file: PropertyListFile
    private let limits: ArchiveLimits
    let locations: PageLocations
    /// Where the main resource is.
    let document: EntryPlace
    private let main: WebarchiveReader.Resource
    private let members: [String: PropertyList]

    /// - Throws: ``ArchiveProblem`` where there is no usable main resource.
    init(_ file: PropertyListFile, _ input: ArchiveInput) throws(ArchiveProblem) {
        var file = file
        guard let members = try file.unfollowed(file.root) else {
            throw .error("the property list is no dictionary", at: 0)
        }
        guard let main = members["WebMainResource"] else { throw .error("WebMainResource is missing", at: 0) }
        let place = try file.place(of: main)
        guard let values = try file.members(main) else {
            throw .error("WebMainResource is no dictionary", at: place.offset)
        }
        guard let resource = try WebarchiveReader.Resource(values, &file) else {
            throw .error("WebMainResource has no WebResourceData", at: place.offset)
        }
        guard resource.type != nil else { throw .error("WebMainResource has no WebResourceMIMEType", at: place.offset) }
        self.file = file
        self.members = members
        self.main = resource
        limits = input.limits
        document = EntryPlace(
            offset: place.offset, length: resource.data.range.count, extra: UInt32(clamping: place.index))
        locations = PageLocations(document: resource.url, ownBase: nil, base: 0, bases: [[]], fallbacks: [])
    }

    mutating func read(into contents: inout ArchiveContents) throws(ArchiveProblem) {
        guard try subresources(members) != nil else { throw .error("WebSubresources is no array", at: 0) }
        try add(main, document, locations.document, &contents)
        try readRest(members, 1, &contents)
    }

    /// The subresources of an archive; nil where they are no array.
    private mutating func subresources(_ members: [String: PropertyList]) throws(ArchiveProblem) -> [PropertyList]? {
        guard let value = members["WebSubresources"] else { return [] }
        guard case .array(let items) = try file.value(value) else { return nil }
        return items
    }

    /// Adds the subresources and subframe archives of an archive.
    private mutating func readRest(
        _ members: [String: PropertyList], _ depth: Int, _ contents: inout ArchiveContents
    ) throws(ArchiveProblem) {
        var last = document.offset
        for item in try subresources(members) ?? [] {
            var place = try file.place(of: item)
            // Of a value in XML that is no dictionary it is not known: it is behind the one before.
            if place.offset == 0 { place.offset = last }
            last = place.offset
            guard let values = try file.members(item), let resource = try WebarchiveReader.Resource(values, &file)
            else {
                contents.warn(.warning("a resource has no data, and is passed over", at: place.offset))
                continue
            }
            guard !resource.url.isEmpty else {
                contents.warn(.warning("a resource has no URL, and is passed over", at: place.offset))
                continue
            }
            try add(resource, at: place, &contents)
        }
        guard let value = members["WebSubframeArchives"] else { return }
        guard case .array(let archives) = try file.value(value) else {
            contents.warn(.warning("WebSubframeArchives is no array, and is passed over", at: document.offset))
            return
        }
        for archive in archives {
            guard depth < WebarchiveReader.depthLimit else {
                throw .error("more than \(WebarchiveReader.depthLimit) archives in each other", at: document.offset)
            }
            try readSubframe(archive, depth, &contents)
        }
    }

    private mutating func readSubframe(
        _ archive: PropertyList, _ depth: Int, _ contents: inout ArchiveContents
    ) throws(ArchiveProblem) {
        var archivePlace = try file.place(of: archive)
        if archivePlace.offset == 0 { archivePlace.offset = document.offset }
        guard let members = try file.unfollowed(archive), let main = members["WebMainResource"],
            let values = try file.members(main), let resource = try WebarchiveReader.Resource(values, &file),
            resource.type != nil, try subresources(members) != nil
        else {
            contents.warn(.warning("a subframe archive is damaged, and is passed over", at: archivePlace.offset))
            return
        }
        let place = try file.place(of: main)
        try add(resource, at: place, &contents)
        try readRest(members, depth + 1, &contents)
    }

    private mutating func add(
        _ resource: WebarchiveReader.Resource, at place: (offset: Int, index: Int), _ contents: inout ArchiveContents
    ) throws(ArchiveProblem) {
        let url = locations.url(location: resource.url, ownBase: [], base: 0, id: [])
        let place = EntryPlace(
            offset: place.offset, length: resource.data.range.count, extra: UInt32(clamping: place.index))
        try add(resource, place, url, &contents)
    }

    private mutating func add(
        _ resource: WebarchiveReader.Resource, _ place: EntryPlace, _ url: [UInt8], _ contents: inout ArchiveContents
    ) throws(ArchiveProblem) {
        var found = FoundEntry(at: place)
        found.url = url
        found.status = resource.status
        found.time = resource.response?.time
        found.varies = resource.fields.contains { $0.isNamed("Vary") }
        try contents.table.add(found, limits: limits)
        if resource.isResponseBroken {
            contents.warn(
                .warning("WebResourceResponse can't be read", at: place.offset, entry: contents.table.count))
        }
        guard let other = resource.response?.url else { return }
        let alias = locations.url(
            location: WebarchiveReader.Resource.withoutPrefix(other), ownBase: [], base: 0, id: [])
        if alias != url { contents.table.addAlias(alias, limits: limits) }
    }
}
