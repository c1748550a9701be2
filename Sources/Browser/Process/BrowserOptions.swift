/// How a browser is started.
public struct BrowserOptions: Sendable, Hashable {
    /// The proxy that all requests go through, those to loopback too.
    public struct Proxy: Sendable, Hashable {
        /// Host and port of a plain HTTP proxy, such as `127.0.0.1:8888`.
        public var address: String
        /// SHA-256 hashes of public keys (SubjectPublicKeyInfo in DER, RFC 5280 §4.1.2.7): a chain of certificates in
        /// which one holds such a key is trusted by this browser. None by default.
        public var trustedKeys: [[UInt8]]

        public init(address: String, trustedKeys: [[UInt8]] = []) {
            self.address = address
            self.trustedKeys = trustedKeys
        }
    }

    /// The program, as ``BrowserExecutable/find(_:path:isExecutable:)`` gives it.
    public var executable: String
    /// Whether it shows no window, and is driven by this process. The default is true.
    public var isHeadless = true
    /// Nil, the default, for no proxy at all, whatever the environment says.
    public var proxy: Proxy?
    /// The profile's folder; nil, the default, for a fresh one that is removed at the end.
    public var userDataFolder: String?
    /// Whether pages run outside a sandbox, which root has to allow. The default is false.
    public var hasNoSandbox = false
    /// The size of a page in CSS pixels. The default is 1280 × 800.
    public var viewport = Viewport(width: 1280, height: 800)
    /// What stands in User-Agent; nil, the default, for the browser's own.
    public var userAgent: String?
    /// The page that a window opens with; the default is an empty one.
    public var startPage = "about:blank"
    /// The folder in which the profile's is made; nil, the default, for what TMPDIR names, or else /tmp.
    public var temporaryFolder: String?
    /// How long the browser has to start, and to answer a command that needs no network, in milliseconds. The default
    /// is 30,000; a test that waits for another limit has a longer one.
    var commandTime = 30_000

    public init(executable: String) { self.executable = executable }
}

/// The size of a page in CSS pixels.
public struct Viewport: Sendable, Hashable {
    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}
