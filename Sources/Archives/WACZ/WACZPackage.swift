/// The list of a WACZ's files with their digests: `datapackage.json`, whose own is in `datapackage-digest.json`.
enum WACZPackage {
    /// The most bytes of the list.
    private static let mostBytes = 64 << 20

    private struct Resource {
        var path: [UInt8] = []
        var hash: [UInt8] = []
        /// Negative where it is not said.
        var count = -1
    }

    /// Compares all files with the list. Does I/O.
    static func verify(_ zip: ZipDirectory, warn: (ArchiveProblem) -> Void) {
        guard let index = zip.find("datapackage.json".utf8) else {
            warn(ArchiveProblem(.warning, "there is no datapackage.json in it"))
            return
        }
        let place = zip.entries[index].offset
        let list: [UInt8]
        do throws(ArchiveProblem) {
            var stream = try zip.open(index)
            list = try stream.readAll(limit: mostBytes)
        } catch {
            warn(.warning("datapackage.json: \(error.message)", at: place))
            return
        }
        do throws(JSONError) {
            // Each file once, however often it is named.
            var seen: Set<[UInt8]> = []
            for resource in try resources(list) where seen.insert(resource.path).inserted {
                verify(resource, zip, place, warn)
            }
        } catch {
            warn(.warning("datapackage.json: \(error.message)", at: place))
        }
        verifyList(list, zip, warn)
    }

    private static func verify(
        _ resource: Resource, _ zip: ZipDirectory, _ place: Int, _ warn: (ArchiveProblem) -> Void
    ) {
        let name = String(decoding: resource.path.prefix(200), as: UTF8.self)
        guard let index = zip.find(resource.path) else {
            warn(.warning("\(name) is in datapackage.json, and not in the zip", at: place))
            return
        }
        let offset = zip.entries[index].offset
        if resource.count >= 0, resource.count != zip.entries[index].size {
            warn(.warning("\(name) is not as long as datapackage.json says", at: offset))
        }
        var check = DigestCheck(resource.hash[...])
        do throws(ArchiveProblem) {
            var stream = try zip.open(index)
            var part: [UInt8] = []
            var hasMore = true
            while hasMore {
                part.removeAll(keepingCapacity: true)
                hasMore = try stream.read(131_072, into: &part)
                part.withUnsafeBytes { check.update($0) }
            }
            if !check.holds { warn(.warning("\(name) is not what its digest in datapackage.json says", at: offset)) }
        } catch {
            warn(.warning("\(name): \(error.message)", at: offset))
        }
    }

    private static func verifyList(
        _ list: [UInt8], _ zip: ZipDirectory, _ warn: (ArchiveProblem) -> Void
    ) {
        guard let index = zip.find("datapackage-digest.json".utf8) else { return }
        let place = zip.entries[index].offset
        do throws(ArchiveProblem) {
            var stream = try zip.open(index)
            let text = try stream.readAll(limit: mostBytes)
            var check = DigestCheck((try? hash(text))?[...])
            list.withUnsafeBytes { check.update($0) }
            if !check.holds {
                warn(.warning("datapackage.json is not what its digest in datapackage-digest.json says", at: place))
            }
        } catch {
            warn(.warning("datapackage-digest.json: \(error.message)", at: place))
        }
    }

    private static func hash(_ text: [UInt8]) throws(JSONError) -> [UInt8] {
        var scanner = JSONScanner(ArchiveBytes(text), room: text.count)
        var resource = Resource()
        try readResource(&scanner, &resource)
        return resource.hash
    }

    private static func resources(_ list: [UInt8]) throws(JSONError) -> [Resource] {
        var scanner = JSONScanner(ArchiveBytes(list), room: 65_536)
        try scanner.beginning()
        guard try scanner.enterObject() else { throw scanner.unexpected("'{'") }
        var resources: [Resource] = []
        while let name = try scanner.nextMember() {
            let isList = name.elementsEqual("resources".utf8)
            guard isList, try scanner.enterArray() else {
                try scanner.skipValue()
                continue
            }
            while try scanner.nextElement() {
                var resource = Resource()
                try readResource(&scanner, &resource)
                resources.append(resource)
            }
        }
        return resources
    }

    private static func readResource(
        _ scanner: inout JSONScanner, _ resource: inout Resource
    ) throws(JSONError) {
        guard try scanner.enterObject() else {
            try scanner.skipValue()
            return
        }
        while let name = try scanner.nextMember() {
            if name.elementsEqual("path".utf8) {
                resource.path = try scanner.string().map { Array($0) } ?? []
            } else if name.elementsEqual("hash".utf8) {
                resource.hash = try scanner.string().map { Array($0) } ?? []
            } else if name.elementsEqual("bytes".utf8) {
                resource.count = try scanner.integer() ?? -1
            } else {
                try scanner.skipValue()
            }
        }
    }
}
