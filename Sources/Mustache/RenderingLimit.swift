/// A limit that a rendering has come to.
enum RenderingLimit: Error {
    case answerBytes(Int)
    case tags(Int)
    case partialDepth(Int)
    case valueDepth(Int)

    var message: String {
        switch self {
        case .answerBytes(let limit): "the answer would have more than \(limit) bytes here"
        case .tags(let limit): "more than \(limit) tags are carried out here"
        case .partialDepth(let limit): "partials call each other at most \(limit) deep"
        case .valueDepth(let limit): "this value has more than \(limit) levels"
        }
    }
}
