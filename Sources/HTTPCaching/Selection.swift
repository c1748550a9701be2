import HTTPSemantics

/// Which of the stored responses of one key a request selects (RFC 9111 §4.1).
///
/// Of those whose selecting fields match: one that has the bytes asked for before a part that has not; one with a Vary
/// before one without, whose origin may have forgotten it; then the one with the latest Date, and of equals the one
/// that was received last.
public enum Selection {
    /// The index of the selected response; nil where none matches.
    public static func select(_ request: CacheRequest, among candidates: [StoredResponse]) -> Int? {
        var best: Int?
        for index in candidates.indices where candidates[index].selection.matches(request) {
            guard let other = best else {
                best = index
                continue
            }
            if isPreferred(candidates[index], to: candidates[other], request) { best = index }
        }
        return best
    }

    private static func isPreferred(
        _ one: StoredResponse, to other: StoredResponse, _ request: CacheRequest
    ) -> Bool {
        let suffices = suffices(one, request)
        if suffices != Selection.suffices(other, request) { return suffices }
        let hasVary = !one.selection.names.isEmpty
        if hasVary == other.selection.names.isEmpty { return hasVary }
        if one.date != other.date { return one.date > other.date }
        return one.receivedAt.steady > other.receivedAt.steady
    }

    private static func suffices(_ stored: StoredResponse, _ request: CacheRequest) -> Bool {
        guard let part = stored.part else { return true }
        return Combination.range(of: request, within: part) != nil
    }
}
