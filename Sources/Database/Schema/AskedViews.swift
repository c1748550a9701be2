import Basics

/// Views that are asked for, as far as their columns have to be known.
enum AskedViews {
    /// All of them, but those that take much.
    case all
    /// Those that a request's path names.
    case named(in: DatabaseRequest)

    /// As names are compared; nil for all.
    var names: Set<ByBytes<String>>? {
        guard case .named(let request) = self else { return nil }
        // A statement's own columns are told when it is prepared.
        guard request.rule.statement == nil, request.statements.isEmpty else { return [] }
        let segments = (try? ResourcePath(request.path))?.segments ?? []
        guard !segments.isEmpty else { return nil }
        let names = Set(segments.map { String(decoding: $0, as: UTF8.self).asName })
        return request.rule.tables.map { names.intersection($0.map(\.asName)) } ?? names
    }
}
