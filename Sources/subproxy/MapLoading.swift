import Substitution

/// Loads maps for commands, and prints what is wrong with them.
enum MapLoading {
    /// Loads maps; every error and warning is printed on standard error the way compilers do.
    ///
    /// - Throws: ``CommandFailure`` with status 65 where there is an error.
    static func load(_ files: [String]) throws -> SubstitutionMap {
        let result = SubstitutionMap.load(files: files)
        for message in result.diagnostics { StandardStream.error.writeLine(message.rendering) }
        guard let map = result.map else { throw CommandFailure(status: .dataError, message: "") }
        return map
    }
}

extension SubstitutionMap {
    /// What is in force: `3 maps, 1204 rules`.
    var summary: String { "\(counted(fileCount, "map")), \(counted(ruleCount, "rule"))" }
}

/// A number and its noun: `1 map`, `2 maps`.
func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
