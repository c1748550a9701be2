extension SecurityDatabase {
    /// The databases of the user's browsers.
    ///
    /// Those that are there; and Chromium's where it is installed, or where the folder around it is.
    static func find(in surroundings: TrustSurroundings) -> [SecurityDatabase] {
        let tool = surroundings.tool("certutil")
        let folders = chromium(surroundings).map { ("Chromium", $0) } + firefox(surroundings).map { ("Firefox", $0) }
        var seen: Set<String> = []
        return folders.filter { seen.insert($0.1).inserted }.map {
            SecurityDatabase(owner: $0.0, path: $0.1, tool: tool)
        }
    }

    /// Folders of databases that Chromium and its like use.
    private static func chromium(_ surroundings: TrustSurroundings) -> [String] {
        guard let home = surroundings.home else { return [] }
        let old = "\(home)/.pki/nssdb"
        let new = (surroundings.folder("XDG_DATA_HOME", orBelowHome: ".local/share") ?? "") + "/pki/nssdb"
        let isInstalled = isChromiumInstalled(surroundings)
        var folders: [String] = []
        // Since version 146 Chromium uses the new one, unless there is the old one: to make that would hide the new one
        // with all that is in it.
        if isThere(old) || (!isThere(new) && (isInstalled || LocalFiles.isFolder(parent(old)))) { folders.append(old) }
        if isThere(new) || isInstalled || LocalFiles.isFolder(parent(new)) { folders.append(new) }
        // Snaps and Flatpaks have homes of their own.
        for name in LocalFiles.names(in: "\(home)/snap") {
            let own = "\(home)/snap/\(name)/current"
            let candidates = ["\(own)/.pki/nssdb", "\(own)/.local/share/pki/nssdb"]
            folders += candidates.filter(isThere)
            if name == "chromium", LocalFiles.isFolder(own), !candidates.contains(where: isThere) {
                folders.append(candidates[0])
            }
        }
        for name in LocalFiles.names(in: "\(home)/.var/app") {
            let own = "\(home)/.var/app/\(name)"
            folders += ["\(own)/.pki/nssdb", "\(own)/data/pki/nssdb"].filter(isThere)
        }
        return folders
    }

    /// Folders of Firefox's profiles.
    private static func firefox(_ surroundings: TrustSurroundings) -> [String] {
        guard let home = surroundings.home else { return [] }
        let settings = surroundings.folder("XDG_CONFIG_HOME", orBelowHome: ".config") ?? ""
        let places = [
            "\(home)/.mozilla/firefox", "\(settings)/mozilla/firefox", "\(home)/snap/firefox/common/.mozilla/firefox",
            "\(home)/.var/app/org.mozilla.firefox/.mozilla/firefox",
            "\(home)/.var/app/org.mozilla.firefox/config/mozilla/firefox",
        ]
        return places.flatMap { place in LocalFiles.names(in: place).map { "\(place)/\($0)" } }.filter(isThere)
    }

    /// Whether a browser of Chromium's kind is installed, or has been used.
    static func isChromiumInstalled(_ surroundings: TrustSurroundings) -> Bool {
        let programs = [
            "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "google-chrome-beta",
            "microsoft-edge", "brave-browser", "vivaldi",
        ]
        if programs.contains(where: { surroundings.tool($0) != nil }) { return true }
        let settings = surroundings.folder("XDG_CONFIG_HOME", orBelowHome: ".config") ?? ""
        return ["chromium", "google-chrome"].contains { LocalFiles.isFolder("\(settings)/\($0)") }
    }

    private static func parent(_ path: String) -> String {
        String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }
}
