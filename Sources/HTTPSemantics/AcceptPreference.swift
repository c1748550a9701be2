/// What kind of page a client likes best for a message that a person reads (RFC 9110 §12.5.1).
public enum AcceptPreference {
    /// Whether HTML suits the client at least as well as plain text.
    ///
    /// Only where `text/html` is named, as browsers do: curl's `*/*` and a missing field get plain text.
    public static func prefersHTML(_ fields: FieldSection) -> Bool {
        guard fields.contains(.accept) else { return false }
        var html = -1
        // From the least to the most specific: `*/*`, `text/*`, `text/plain`.
        var plain = (any: -1, text: -1, exact: -1)
        fields.forEachElement(of: .accept) { element in
            let item = ParameterisedItem(element)
            guard let weight = item.weight else { return }
            if item.item.equalsIgnoringCase("text/html") {
                html = max(html, weight)
            } else if item.item.equalsIgnoringCase("text/plain") {
                plain.exact = max(plain.exact, weight)
            } else if item.item.equalsIgnoringCase("text/*") {
                plain.text = max(plain.text, weight)
            } else if item.item.equals("*/*") {
                plain.any = max(plain.any, weight)
            }
        }
        let plainWeight = plain.exact >= 0 ? plain.exact : plain.text >= 0 ? plain.text : plain.any
        return html > 0 && html >= plainWeight
    }
}
