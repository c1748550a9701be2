import CCurl
import Glibc
import Synchronization

/// libcurl as a whole.
enum Library {
    private static let keyLogVariable = "SSLKEYLOGFILE"

    /// Whether libcurl has to be initialised before the process has threads that may look into the environment, which
    /// is changed meanwhile.
    static var mustBeInitialisedEarly: Bool { getenv(keyLogVariable) != nil }

    /// Why libcurl can't be used; nil if it can.
    ///
    /// It is opened and initialised at the first call, which takes some 10 ms (curl_global_init). What fails is tried
    /// anew at the next one: descriptors or memory may have been short.
    static var problem: String? {
        isReady.withLock { isReady in
            guard !isReady else { return nil }
            let problem = prepare()
            isReady = problem == nil
            return problem
        }
    }

    private static let isReady = Mutex(false)

    private static func prepare() -> String? {
        if let problem = subproxy_library_problem() { return "libcurl can't be used: \(String(cString: problem))" }
        // libcurl looks into this variable here, and would write the keys of all TLS connections to the file it names.
        let file = getenv(keyLogVariable).map { strdup($0) }
        if file != nil { unsetenv(keyLogVariable) }
        defer {
            if let file, let file {
                setenv(keyLogVariable, file, 1)
                free(file)
            }
        }
        return curl_global_init(subproxy_global_all) == CURLE_OK ? nil : "libcurl could not be initialised"
    }
}
