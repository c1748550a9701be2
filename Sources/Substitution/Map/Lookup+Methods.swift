public import HTTPSemantics

extension SubstitutionMap {
    /// The methods with which a request for a URL would be answered by a rule, as in an Allow field.
    ///
    /// Takes a look-up for each method, so it is for a request that no rule answers.
    public func methods(answeredFor uri: TargetURI, fields: FieldSection) -> [String] {
        var named = MethodSet()
        for method in [Method.get, .head, .post, .put, .delete, .patch, .options, .trace] {
            if let token = method.token { named.insert(Array("\(token)".utf8)) }
        }
        for options in storage.options { options.methods.others.forEach { named.insert($0) } }

        var scratch = LookupScratch()
        return named.names.filter { name in
            let method = Array(name.utf8).withUnsafeBytes { RequestMethod($0) }
            return lookup(uri, method: method, fields: fields, scratch: &scratch) != nil
        }
    }
}
