import Glibc

/// What a shell completes behind `run … --`: a command, and files.
enum CommandCompletion {
    /// - Parameters:
    ///   - words: the command line.
    ///   - index: which of the words is completed.
    ///   - prefix: what there is of it.
    @Sendable
    static func candidates(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        let isCommand = index > 0 && words.indices.contains(index - 1) && words[index - 1] == "--"
        var found = Set(files(prefix))
        if isCommand, !prefix.contains("/") {
            let path = getenv("PATH").map { String(cString: $0) } ?? ""
            for folder in path.split(separator: ":") {
                found.formUnion(names(in: String(folder), prefix).filter { access("\(folder)/\($0)", X_OK) == 0 })
            }
        }
        return found.sorted()
    }

    /// The files whose paths begin so; folders end in `/`.
    private static func files(_ prefix: String) -> [String] {
        let end = prefix.lastIndex(of: "/").map { prefix.index(after: $0) } ?? prefix.startIndex
        let folder = String(prefix[..<end])
        return names(in: folder.isEmpty ? "." : folder, String(prefix[end...])).map { name in
            var status = stat()
            let isFolder = stat(folder + name, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            return folder + name + (isFolder ? "/" : "")
        }
    }

    private static func names(in folder: String, _ prefix: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let isHidden = name.hasPrefix(".") && !prefix.hasPrefix(".")
            if name.hasPrefix(prefix), !isHidden, name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
