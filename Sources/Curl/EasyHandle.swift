import CCurl
import Glibc

/// One libcurl easy handle with the options that every transfer needs; reused from transfer to transfer.
///
/// Belongs to the transfer thread. Freed with its lists and its error buffer in `deinit`.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    private let url: OpaquePointer
    private let errorBuffer: UnsafeMutablePointer<CChar>
    private var fields: UnsafeMutablePointer<curl_slist>?
    private let resolve: UnsafeMutablePointer<curl_slist>?
    private var host = ""
    private var port: UInt16 = 0
    private var isHTTPS = false

    init?(_ configuration: TransferLoopConfiguration) {
        guard let pointer = curl_easy_init() else { return nil }
        guard let url = curl_url() else {
            curl_easy_cleanup(pointer)
            return nil
        }
        self.pointer = pointer
        self.url = url
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        var list: UnsafeMutablePointer<curl_slist>?
        for entry in configuration.resolve { list = curl_slist_append(list, entry) ?? list }
        resolve = list
        setConstants(configuration)
    }

    deinit {
        curl_easy_cleanup(pointer)
        curl_url_cleanup(url)
        curl_slist_free_all(fields)
        curl_slist_free_all(resolve)
        errorBuffer.deallocate()
    }

    private func set(_ option: CURLoption, _ value: Int) {
        subproxy_easy_setopt_long(pointer, option, value)
    }

    private func set(_ option: CURLoption, _ value: String?) {
        subproxy_easy_setopt_string(pointer, option, value)
    }

    /// The options that are the same for every transfer. An untouched handle obeys `http_proxy`, adds fields of its own,
    /// follows nothing by default but decodes, and speaks many protocols: hence the list.
    private func setConstants(_ configuration: TransferLoopConfiguration) {
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_TCP_NODELAY, 1)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_BUFFERSIZE, 64 << 10)
        set(CURLOPT_UPLOAD_BUFFERSIZE, 64 << 10)
        set(CURLOPT_MAXAGE_CONN, 60)
        set(CURLOPT_DNS_CACHE_TIMEOUT, 60)
        set(CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeoutMilliseconds)
        set(CURLOPT_EXPECT_100_TIMEOUT_MS, 1000)
        if let file = configuration.caFile { set(CURLOPT_CAINFO, file) }
        subproxy_easy_setopt_pointer(pointer, CURLOPT_ERRORBUFFER, errorBuffer)
        if let resolve { subproxy_easy_setopt_list(pointer, CURLOPT_RESOLVE, resolve) }
        subproxy_easy_setopt_data(pointer, CURLOPT_HEADERFUNCTION, headerCallback)
        subproxy_easy_setopt_data(pointer, CURLOPT_WRITEFUNCTION, writeCallback)
        subproxy_easy_setopt_data(pointer, CURLOPT_READFUNCTION, readCallback)
        subproxy_easy_setopt_opensocket(pointer, openSocketCallback)
        subproxy_easy_setopt_pointer(pointer, CURLOPT_CURLU, UnsafeMutableRawPointer(url))
    }

    /// Sets what differs from transfer to transfer.
    ///
    /// - Returns: whether libcurl takes the request; else its parts can't be sent.
    func prepare(_ transfer: Transfer, _ configuration: TransferLoopConfiguration) -> Bool {
        let request = transfer.request
        errorBuffer[0] = 0
        guard setURL(request) else { return false }
        let proxy = transfer.usesProxy ? configuration.upstreamProxy : nil
        let isHTTPProxy = proxy?.utf8.starts(with: "http".utf8) ?? false
        set(CURLOPT_PROXY, proxy ?? "")
        set(CURLOPT_NOPROXY, "")
        set(CURLOPT_HTTPPROXYTUNNEL, request.isConnectOnly && isHTTPProxy ? 1 : 0)
        set(CURLOPT_CONNECT_ONLY, request.isConnectOnly ? 1 : 0)
        set(CURLOPT_FRESH_CONNECT, request.needsFreshConnection ? 1 : 0)

        var target = request.pathAndQuery
        if isHTTPProxy, !request.isHTTPS {
            target = Array("http://\(request.host):\(request.port)".utf8) + target
        }
        guard setBytes(CURLOPT_REQUEST_TARGET, target), setBytes(CURLOPT_CUSTOMREQUEST, request.method) else {
            return false
        }
        set(CURLOPT_HTTPGET, 1)
        switch request.body {
        case .none: if request.isHead { set(CURLOPT_NOBODY, 1) }
        case .length(let length):
            set(CURLOPT_UPLOAD, 1)
            subproxy_easy_setopt_offset(pointer, CURLOPT_INFILESIZE_LARGE, curl_off_t(length))
        case .chunked:
            set(CURLOPT_UPLOAD, 1)
            subproxy_easy_setopt_offset(pointer, CURLOPT_INFILESIZE_LARGE, -1)
        }
        if request.body == .chunked {
            subproxy_easy_setopt_trailer(pointer, trailerCallback)
        } else {
            subproxy_easy_setopt_trailer(pointer, nil)
        }
        guard setFields(request) else { return false }
        let context = Unmanaged.passUnretained(transfer).toOpaque()
        for option in [
            CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_TRAILERDATA,
            CURLOPT_PRIVATE,
        ] {
            subproxy_easy_setopt_pointer(pointer, option, context)
        }
        return true
    }

    /// What libcurl said of a failure.
    func message(_ code: CURLcode) -> String {
        if errorBuffer[0] != 0 { return String(cString: errorBuffer) }
        return String(cString: curl_easy_strerror(code))
    }

    /// The socket of a connect-only transfer.
    var activeSocket: CInt? {
        var socket = subproxy_bad_socket
        let code = subproxy_easy_getinfo_socket(pointer, CURLINFO_ACTIVESOCKET, &socket)
        return code == CURLE_OK && socket != subproxy_bad_socket ? socket : nil
    }

    /// Parts go into the URL one by one, so that no text is parsed that could be read in two ways (curl_url_set).
    private func setURL(_ request: TransferRequest) -> Bool {
        guard request.host != host || request.port != port || request.isHTTPS != isHTTPS else { return true }
        host = ""
        let parts = [
            (CURLUPART_SCHEME, request.isHTTPS ? "https" : "http"), (CURLUPART_HOST, request.host),
            (CURLUPART_PORT, String(request.port)), (CURLUPART_PATH, "/"),
        ]
        for (part, value) in parts where curl_url_set(url, part, value, 0) != CURLUE_OK { return false }
        host = request.host
        port = request.port
        isHTTPS = request.isHTTPS
        return true
    }

    private func setBytes(_ option: CURLoption, _ bytes: [UInt8]) -> Bool {
        guard !bytes.contains(0) else { return false }
        return withCString(bytes) { subproxy_easy_setopt_string(pointer, option, $0) } == CURLE_OK
    }

    private func setFields(_ request: TransferRequest) -> Bool {
        curl_slist_free_all(fields)
        fields = nil
        for line in request.lines {
            guard !line.contains(where: { $0 == 0 || $0 == 0x0d || $0 == 0x0a }) else { return false }
            guard append(line) else { return false }
        }
        // The names of fields that libcurl would add by itself, without a value, keep it from doing so.
        for name in ["Accept", "User-Agent", "Content-Type"] where !has(name, request.lines) {
            guard append(Array("\(name):".utf8)) else { return false }
        }
        if !request.expectsContinue, !append(Array("Expect:".utf8)) { return false }
        subproxy_easy_setopt_list(pointer, CURLOPT_HTTPHEADER, fields)
        return true
    }

    private func append(_ line: [UInt8]) -> Bool {
        var line = line
        // libcurl leaves out "Name:" and sends "Name;" as a field with an empty value.
        if let colon = line.firstIndex(of: 0x3a), line[(colon + 1)...].allSatisfy({ $0 == 0x20 || $0 == 0x09 }),
            colon + 1 < line.count
        {
            line = line[..<colon] + [0x3b]
        }
        guard let list = withCString(line, { curl_slist_append(fields, $0) }) else { return false }
        fields = list
        return true
    }

    private func has(_ name: String, _ lines: [[UInt8]]) -> Bool {
        let length = name.utf8.count
        return lines.contains { line in
            line.count > length && line[length] == 0x3a
                && zip(line, name.utf8).allSatisfy { $0 | 0x20 == $1 | 0x20 }
        }
    }
}

/// Calls `body` with the bytes and a NUL behind them.
private func withCString<Result>(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { space in
        for index in 0..<bytes.count { space[index] = CChar(bitPattern: bytes[index]) }
        space[bytes.count] = 0
        return body(space.baseAddress)
    }
}
