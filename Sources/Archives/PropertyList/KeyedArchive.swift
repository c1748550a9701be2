/// What NSKeyedArchiver writes: a property list whose `$objects` refer to each other by their index.
///
/// A property list that is none is read as its own root.
struct KeyedArchive {
    private var file: PropertyListFile
    private var objects: [PropertyList]?
    private var top: [String: PropertyList]
    /// The most references that are followed to reach a value.
    private static let depthLimit = 32

    /// - Throws: ``ArchiveProblem`` where it is no property list.
    init(_ bytes: ArchiveBytes) throws(ArchiveProblem) {
        var file = try PropertyListFile(bytes)
        top = try file.members(file.root) ?? [:]
        if case .array(let objects) = top["$objects"] { self.objects = objects }
        self.file = file
    }

    /// The root object: the one that `$top` has under a key, else under `root`, else under any.
    mutating func root(_ key: String?) throws(ArchiveProblem) -> PropertyList? {
        guard objects != nil else { return file.root }
        guard let top = top["$top"], let members = try file.members(top) else { return nil }
        let value = key.flatMap { members[$0] } ?? members["root"] ?? members.min { $0.key < $1.key }?.value
        return try value.map { value throws(ArchiveProblem) in try followed(value) }
    }

    /// The value that a reference means.
    mutating func followed(_ value: PropertyList) throws(ArchiveProblem) -> PropertyList {
        var value = try file.value(value)
        var steps = 0
        while case .uid(let index) = value {
            guard let objects, let index = Int(exactly: index), index < objects.count else {
                throw .error("a reference leads out of the keyed archive", at: 0)
            }
            // The first object stands for nothing.
            guard index > 0 else { return .null }
            steps += 1
            guard steps <= KeyedArchive.depthLimit else {
                throw .error("more than \(KeyedArchive.depthLimit) references after each other", at: 0)
            }
            value = try file.value(objects[index])
        }
        return value
    }

    /// The members of an object by their keys, references followed.
    mutating func members(_ value: PropertyList) throws(ArchiveProblem) -> [String: PropertyList]? {
        guard let members = try file.members(try followed(value)) else { return nil }
        var followed: [String: PropertyList] = [:]
        for (key, value) in members { followed[key] = try self.followed(value) }
        return followed
    }

    /// The name of an object's class.
    mutating func className(_ members: [String: PropertyList]) throws(ArchiveProblem) -> String? {
        guard let description = members["$class"], let names = try self.members(description),
            case .string(let name) = names["$classname"]
        else { return nil }
        return String(decoding: name, as: UTF8.self)
    }

    /// The values of the keys that are a prefix and a number, in the order of the numbers.
    func numbered(_ members: [String: PropertyList], _ prefix: String) -> [PropertyList] {
        let numbers = members.keys.compactMap { $0.hasPrefix(prefix) ? Int($0.dropFirst(prefix.count)) : nil }.sorted()
        return numbers.compactMap { members["\(prefix)\($0)"] }
    }

    /// An NSURL; nil where the value is none.
    mutating func url(_ value: PropertyList, _ depth: Int) throws(ArchiveProblem) -> [UInt8]? {
        guard depth > 0 else { throw .error("more than \(KeyedArchive.depthLimit) objects in each other", at: 0) }
        guard let members = try members(value) else { return nil }
        guard let relative = members["NS.relative"], case .string(let text) = relative else { return nil }
        guard let base = members["NS.base"], base != .null, !RecordedURL.hasScheme(text),
            let url = try url(base, depth - 1)
        else { return text }
        return PageLocations.resolve(RecordedURL.repaired(text), against: [RecordedURL.repaired(url)])
    }

    /// The members of an NSDictionary in their order, with its keys and values in two lists or under numbered names, or
    /// of a plain dictionary; nil where the value is none.
    mutating func dictionary(_ value: PropertyList) throws(ArchiveProblem) -> [(key: [UInt8], value: PropertyList)]? {
        guard case .dictionary(let plain) = try followed(value), let members = try members(value) else { return nil }
        var keys: [PropertyList] = []
        var values: [PropertyList] = []
        if case .array(let names) = members["NS.keys"], case .array(let objects) = members["NS.objects"] {
            (keys, values) = (names, objects)
        } else if members["NS.key.0"] != nil {
            var index = 0
            while let key = members["NS.key.\(index)"], let value = members["NS.object.\(index)"] {
                keys.append(key)
                values.append(value)
                index += 1
            }
        } else if members["$class"] == nil {
            (keys, values) = (plain.map(\.key), plain.map(\.value))
        } else {
            return members["NS.keys"] == nil ? nil : []
        }
        var found: [(key: [UInt8], value: PropertyList)] = []
        for (key, value) in zip(keys, values) {
            guard case .string(let name) = try followed(key) else { continue }
            found.append((name, try followed(value)))
        }
        return found
    }

    /// The items of an NSArray or a plain one; of a single value, itself.
    mutating func items(_ value: PropertyList) throws(ArchiveProblem) -> [PropertyList] {
        let value = try followed(value)
        var list: [PropertyList]
        switch value {
        case .array(let plain): list = plain
        case .dictionary:
            guard case .array(let objects) = try members(value)?["NS.objects"] else { return [] }
            list = objects
        default: list = [value]
        }
        var items: [PropertyList] = []
        for item in list { items.append(try followed(item)) }
        return items
    }
}
