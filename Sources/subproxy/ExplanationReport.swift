import ForwardProxy
import HTTPSemantics
import Substitution

/// What `explain` prints: the map's explanation, the proxy's decision, and the file's state on disk.
struct ExplanationReport {
    let url: TargetURI
    let method: String
    let explanation: Explanation
    let preview: DecisionPreview

    /// For people.
    var text: String {
        var lines = ["\(method) \(url.description)"] + explanation.lines
        if let answer = explanation.answer { lines += fileLines(answer) }
        lines.append("outcome: \(preview.outcome): \(preview.sentence)")
        if let status = preview.status { lines.append("  status: \(status)") }
        if let cacheStatus = preview.cacheStatus { lines.append("  Cache-Status: \(cacheStatus)") }
        return lines.joined(separator: "\n")
    }

    private func fileLines(_ answer: Explanation.Answer) -> [String] {
        guard let file = FileState(answer) else { return [] }
        switch file.size {
        case .success(let size): return ["  file: \(counted(size, "byte")), \(file.mediaType)"]
        case .failure(let refusal):
            return ["  file: can't be served: \(refusal); 'missing: \(answer.rule.options.missing.rawValue)' decides"]
        }
    }

    /// For programs; members are only ever added.
    var json: String {
        var object = JSONObject()
        object.add("url", url.description)
        object.add("method", method)
        object.add("answered", explanation.answer != nil)
        object.add("outcome", preview.outcome)
        object.add("reason", preview.sentence)
        object.add("status", preview.status)
        object.add("cache_status", preview.cacheStatus)
        object.add("rule", explanation.answer.map(json))
        object.add("passed_over", explanation.passedOver.map(json))
        object.add("nearest_miss", explanation.nearestMiss.map(json))
        return object.text
    }

    private func json(_ answer: Explanation.Answer) -> JSONObject {
        var object = json(answer.rule)
        object.add("reasons", answer.reasons)
        object.add("answers_with", answer.sourceDescription)
        object.add("file", FileState(answer).map { file in
            var object = JSONObject()
            object.add("path", file.path)
            object.add("media_type", file.mediaType)
            switch file.size {
            case .success(let size):
                object.add("size", size)
                object.add("error", nil as String?)
            case .failure(let refusal):
                object.add("size", nil as Int?)
                object.add("error", "\(refusal)")
            }
            return object
        })
        return object
    }

    private func json(_ miss: Explanation.Miss) -> JSONObject {
        var object = json(miss.rule)
        object.add("reason", miss.reason)
        return object
    }

    private func json(_ rule: Rule) -> JSONObject {
        var object = JSONObject()
        object.add("position", rule.position)
        object.add("map", rule.mapFile)
        object.add("line", rule.location.line)
        object.add("key", rule.key)
        object.add("source", rule.sourceName)
        return object
    }
}

/// The file that a rule answers with, as it is on disk now.
private struct FileState {
    let path: String
    let mediaType: String
    let size: Result<Int, FileRefusal>

    /// Looks at the file; nil where the rule answers with something else.
    init?(_ answer: Explanation.Answer) {
        guard case .file(let root, let path) = answer.source else { return nil }
        self.path = "\(root)/\(String(decoding: path, as: UTF8.self))"
        mediaType = DecisionPreview.mediaType(ofFile: path, by: answer.rule)
        do throws(FileRefusal) {
            size = .success(try FolderRoot(path: root).identity(of: path).size)
        } catch {
            size = .failure(error)
        }
    }
}
