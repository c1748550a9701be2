import SQLite

/// Why a request of a database is refused: what a problem document says (RFC 9457).
public struct Problem: Error, Sendable, Equatable {
    /// The status code.
    public var status: Int
    /// What kind of problem it is, in a few words that scripts can compare.
    public var title: String
    /// What is wrong with this request.
    public var detail: String
    /// A member of the document beside these, a list of names: `columns` or `tables`.
    public var names: (member: String, values: [String])?
    /// Whether the file itself is at fault, so that it is opened anew.
    var isOfFile = false
    /// Whether a connection that is opened anew can do what this one couldn't.
    var isOfConnection = false
    /// Fields of the response beside those of every problem.
    public var fields: [AnswerField] = []

    /// A problem of the proxy's side.
    public init(status: Int, title: String, detail: String) { self.init(status, title, detail) }

    init(_ status: Int, _ title: String, _ detail: String, names: (member: String, values: [String])? = nil) {
        self.status = status
        self.title = title
        self.detail = detail
        self.names = names
        if title == "database locked" || title == "busy" { fields.append(AnswerField("Retry-After", "1")) }
    }

    public static func == (first: Problem, second: Problem) -> Bool {
        first.status == second.status && first.title == second.title && first.detail == second.detail
            && first.names?.member == second.names?.member && first.names?.values == second.names?.values
    }

    /// The document, as JSON.
    public var document: [UInt8] {
        var output = JSONOutput()
        output.append("{\"title\":")
        output.append(string: title)
        output.append(",\"status\":")
        output.append(Int64(status))
        output.append(",\"detail\":")
        output.append(string: detail)
        if let names {
            output.append(",")
            output.append(string: names.member)
            output.append(":[")
            for (index, name) in names.values.enumerated() {
                if index > 0 { output.append(",") }
                output.append(string: name)
            }
            output.append("]")
        }
        output.append("}")
        return output.bytes
    }

    // MARK: Problems

    static func badValue(_ detail: String) -> Problem { Problem(400, "bad value", detail) }
    static func badBody(_ detail: String) -> Problem { Problem(400, "bad body", detail) }
    static func noRow(_ resource: String) -> Problem { Problem(404, "no such row", "there is no row \(resource)") }

    static func busy(_ name: String) -> Problem {
        Problem(503, "busy", "256 requests wait for \(name)")
    }

    static func closed(_ name: String) -> Problem {
        Problem(503, "busy", "the map of \(name) has changed, or the proxy ends: ask again")
    }

    /// Another file stands at the database's place, and the log beside it would be read into that one.
    static func foreignLog(_ name: String) -> Problem {
        Problem(
            502, "database error",
            "\(name) is another file now, and \(name)-wal is that of the one before: remove \(name)-shm, and then \(name)-wal"
        )
    }

    /// A program was killed in the midst of a write, and who only reads can't take that back.
    static func hotJournal(_ name: String) -> Problem {
        var problem = Problem(
            502, "database error",
            "\(name): a program has ended in the midst of a write and left \(name)-journal; "
                + "'sqlite3 \(name) .tables' takes back what it had begun")
        problem.isOfConnection = true
        return problem
    }

    /// The file is not given out.
    public static func refused(_ name: String, _ why: String) -> Problem {
        Problem(403, "database refused", "\(name): \(why)")
    }

    /// The file isn't there.
    public static func missing(_ path: String, rule: String) -> Problem {
        Problem(502, "database missing", "\(rule): \(path) does not exist")
    }
}

/// A field of an answer.
public struct AnswerField: Sendable, Hashable {
    /// Its name, as it is written.
    public var name: String
    /// Its value.
    public var value: String

    public init(name: String, value: String) { self.init(name, value) }

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
