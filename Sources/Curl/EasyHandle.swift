import CCurl

/// One libcurl easy handle, used again from transfer to transfer: its options are set once, and for each transfer only
/// those that differ.
///
/// Belongs to the transfer thread, which lives longer.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    unowned let thread: TransferThread
    private let url: OpaquePointer
    private let errorBuffer: UnsafeMutablePointer<CChar>
    private let resolve: UnsafeMutablePointer<curl_slist>?
    private let text = RequestText()

    // What the options were set to last.
    private var host = ""
    private var port: UInt16 = 0
    private var isHTTPS = false
    private var method: [UInt8] = []
    private var proxy: String?
    private var shape = Shape.get
    private var needsFreshConnection = false
    private var isConnectOnly = false
    private var isLastOnConnection = false
    /// The number of the multi handle that `resolve` was last loaded into.
    private var resolvedFor: UInt64 = 0
    private var isListening = false
    /// What a parent proxy gets with CONNECT (CURLOPT_PROXYHEADER).
    private var connectLines: UnsafeMutablePointer<curl_slist>?

    /// The connections that the running transfer may use.
    var multi: MultiHandle?
    /// The running transfer.
    private(set) var transfer: Transfer?
    private(set) var delegate: (any TransferDelegate)?
    private(set) var usesProxy = false
    var progress = TransferProgress()
    /// The place in the thread's list of running transfers.
    var index = 0
    /// The sockets that were opened for the transfer and have carried no request yet.
    private(set) var openedSockets: [CInt] = []
    /// The socket of the connection that carries the transfer; nil before it has one.
    private(set) var socket: CInt?

    /// Whether TLS is spoken with the origin, or with a parent proxy.
    var speaksTLS: Bool { isHTTPS || proxy != nil }
    /// Whether the request has a body.
    var sendsBody: Bool { shape == .upload }

    /// Which options make the request's method and body.
    private enum Shape { case get, head, upload }

    init?(_ thread: TransferThread) {
        guard let pointer = curl_easy_init() else { return nil }
        guard let url = curl_url() else {
            curl_easy_cleanup(pointer)
            return nil
        }
        self.pointer = pointer
        self.url = url
        self.thread = thread
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        var list: UnsafeMutablePointer<curl_slist>?
        for entry in thread.configuration.resolve { list = curl_slist_append(list, entry) ?? list }
        resolve = list
        setConstants(thread.configuration)
        setCallbacks()
    }

    deinit {
        curl_easy_cleanup(pointer)
        curl_url_cleanup(url)
        curl_slist_free_all(resolve)
        curl_slist_free_all(connectLines)
        errorBuffer.deallocate()
    }

    func set(_ option: CURLoption, _ value: Int) { subproxy_setopt_long(pointer, option, value) }

    func set(_ option: CURLoption, _ value: String?) { subproxy_setopt_string(pointer, option, value) }

    /// The options that are the same for every transfer. An untouched handle obeys `http_proxy`, adds fields of its
    /// own, decodes, and speaks many protocols: hence the list.
    private func setConstants(_ configuration: TransferLoopConfiguration) {
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NOPROXY, "")
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        set(CURLOPT_HTTP_VERSION, subproxy_http_1_1)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        set(CURLOPT_NETRC, subproxy_netrc_ignored)
        set(CURLOPT_HTTPAUTH, subproxy_auth_none)
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SSLVERSION, subproxy_tls_1_2)
        // The rest of a certificate is verified also where libcurl's TLS can't do this.
        _ = subproxy_setopt_refuse_revoked(pointer)
        // Where a session is resumed, the origin shows no certificate, and none is verified.
        set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        set(CURLOPT_TCP_NODELAY, 1)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_BUFFERSIZE, configuration.receiveBytes)
        set(CURLOPT_UPLOAD_BUFFERSIZE, 64 << 10)
        set(CURLOPT_MAXAGE_CONN, configuration.keptConnectionSeconds)
        set(CURLOPT_DNS_CACHE_TIMEOUT, 60)
        set(CURLOPT_CONNECTTIMEOUT_MS, max(1, configuration.connectTimeoutMilliseconds))
        // Without it, ending a transfer whose name is being looked up waits, and with it all others, for the resolver.
        set(CURLOPT_QUICK_EXIT, 1)
        if let file = configuration.caFile { set(CURLOPT_CAINFO, file) }
        subproxy_setopt_pointer(pointer, CURLOPT_ERRORBUFFER, errorBuffer)
        set(CURLOPT_HTTPGET, 1)
    }

    // MARK: A transfer's options

    /// Sets what differs from transfer to transfer, and takes the transfer on.
    ///
    /// - Returns: what is wrong with the request, or CURLE_OK.
    func prepare(_ transfer: Transfer, _ delegate: any TransferDelegate, in multi: MultiHandle) -> CURLcode {
        let request = transfer.request
        let configuration = thread.configuration
        usesProxy = configuration.usesProxy(for: request.host)
        let proxy = usesProxy ? configuration.upstreamProxy : nil
        let isHTTPProxy = proxy.map { !$0.utf8.starts(with: "socks".utf8) } ?? false

        guard setURL(request) else { return CURLE_URL_MALFORMAT }
        guard text.lay(request, isAbsolute: isHTTPProxy && !request.isHTTPS) else {
            return CURLE_BAD_FUNCTION_ARGUMENT
        }
        subproxy_setopt_string(pointer, CURLOPT_REQUEST_TARGET, text.target)
        subproxy_setopt_list(pointer, CURLOPT_HTTPHEADER, text.lines)
        setConnectLines(isHTTPProxy && (request.isHTTPS || request.isConnectOnly) ? request.lines : RequestLines())
        if method != request.method {
            method = request.method
            subproxy_setopt_string(pointer, CURLOPT_CUSTOMREQUEST, text.method)
        }
        if proxy != self.proxy {
            self.proxy = proxy
            set(CURLOPT_PROXY, proxy ?? "")
        }
        let needsFreshConnection = request.needsFreshConnection || request.isConnectOnly
        if needsFreshConnection != self.needsFreshConnection {
            self.needsFreshConnection = needsFreshConnection
            set(CURLOPT_FRESH_CONNECT, needsFreshConnection ? 1 : 0)
        }
        if request.isLastOnConnection != isLastOnConnection {
            isLastOnConnection = request.isLastOnConnection
            set(CURLOPT_FORBID_REUSE, isLastOnConnection ? 1 : 0)
        }
        if request.isConnectOnly {
            // Such a handle is not used again, so that these need not be taken back.
            isConnectOnly = true
            set(CURLOPT_CONNECT_ONLY, 1)
            set(CURLOPT_HTTPPROXYTUNNEL, isHTTPProxy ? 1 : 0)
        }
        setBody(request)
        self.multi = multi
        if multi.number != resolvedFor {
            // libcurl puts the list into the names that a multi handle knows, and forgets it.
            resolvedFor = multi.number
            if let resolve { subproxy_setopt_list(pointer, CURLOPT_RESOLVE, resolve) }
        }
        take(transfer, delegate)
        return CURLE_OK
    }

    private func take(_ transfer: Transfer, _ delegate: any TransferDelegate) {
        let request = transfer.request
        errorBuffer[0] = 0
        progress = TransferProgress()
        progress.lastActivity = thread.now
        progress.awaitsContinue = request.expectsContinue && shape == .upload
        progress.isHead = request.isHead
        progress.endsWithHead = request.isHead && shape == .upload
        if case .length(let length) = request.body { progress.bodyLeft = length }
        openedSockets.removeAll(keepingCapacity: true)
        socket = nil
        self.transfer = transfer
        self.delegate = delegate
        transfer.handle = self
    }

    // MARK: The connection

    /// Notes a socket that was opened for the transfer.
    func opened(_ socket: CInt) { openedSockets.append(socket) }

    /// Notes that such a socket was closed before it carried a request.
    func closed(_ socket: CInt) { openedSockets.removeAll { $0 == socket } }

    /// Notes the connection that carries the request.
    func use(_ socket: CInt) {
        self.socket = socket
        openedSockets.removeAll(keepingCapacity: true)
    }

    /// Switches libcurl's messages about what it does on or off (CURLOPT_VERBOSE).
    ///
    /// When bytes come behind a response that has no body, or a chunked one, libcurl 7.88.1 drops them and keeps the
    /// connection. Only its message tells of them.
    func listen(_ isListening: Bool) {
        guard isListening != self.isListening else { return }
        self.isListening = isListening
        set(CURLOPT_VERBOSE, isListening ? 1 : 0)
    }

    /// Makes the transfer open a new connection instead of the kept one that was refused.
    func connectAnew() {
        progress.mustConnectAnew = false
        socket = nil
        needsFreshConnection = true
        set(CURLOPT_FRESH_CONNECT, 1)
    }

    /// Parts go into the URL one by one, so that no text is parsed that could be read in two ways (curl_url_set). Path
    /// and query are not among them: CURLOPT_REQUEST_TARGET sends them as they are, and a URL would change them.
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
        // libcurl keeps the text that it made of the URL of the handle's first transfer, and makes a new one only where
        // there is none.
        set(CURLOPT_URL, nil)
        subproxy_setopt_url(pointer, url)
        return true
    }

    /// Has a parent proxy get the Via lines with CONNECT, by which it finds that a request goes round in a circle
    /// (RFC 9110 §7.6.3). To a request that isn't CONNECT libcurl would add them once more.
    private func setConnectLines(_ lines: RequestLines) {
        var list: UnsafeMutablePointer<curl_slist>?
        lines.forEach { line in
            // Each line has a NUL behind it.
            guard line.count > 4, line[3] == 0x3a, line.prefix(3).elementsEqual("via".utf8, by: { $0 | 0x20 == $1 }),
                let start = line.baseAddress
            else { return }
            list = curl_slist_append(list, start.assumingMemoryBound(to: CChar.self)) ?? list
        }
        guard list != nil || connectLines != nil else { return }
        subproxy_setopt_list(pointer, CURLOPT_PROXYHEADER, list)
        curl_slist_free_all(connectLines)
        connectLines = list
    }

    private func setBody(_ request: TransferRequest) {
        var shape = request.isHead ? Shape.head : .get
        var length = 0
        switch request.body {
        case .none, .length(0): break
        case .length(let known):
            length = known
            shape = .upload
        case .chunked:
            length = -1
            shape = .upload
            subproxy_setopt_trailer_callback(pointer, trailerCallback)
        }
        if shape != self.shape {
            self.shape = shape
            // It takes the other two back.
            set(CURLOPT_HTTPGET, 1)
            if shape == .upload { set(CURLOPT_UPLOAD, 1) }
            if shape == .head { set(CURLOPT_NOBODY, 1) }
        }
        if shape == .upload { subproxy_setopt_offset(pointer, CURLOPT_INFILESIZE_LARGE, curl_off_t(length)) }
    }

    // MARK: The end of a transfer

    /// Gives the transfer back, so that the handle has none.
    func release() -> Transfer? {
        defer {
            transfer = nil
            delegate = nil
        }
        listen(false)
        return transfer
    }

    /// Whether another transfer may use the handle after one with this result.
    ///
    /// libcurl 7.88.1 keeps three things of a transfer for the handle's life: how often requests were repeated, of
    /// which it allows five; that trailers were sent, after which the next chunked body is written before the start of
    /// its buffer; and the errno and rewind marks of a failure.
    func isReusable(after result: TransferResult) -> Bool {
        result.isSuccess && !isConnectOnly && !progress.endsWithHead && progress.attempts <= 1
            && transfer?.request.body != .chunked
    }

    /// OpenSSL's text of SSL_R_INVALID_STATUS_RESPONSE: the handshake was ended by `check_status` of CCurl.
    private static let staplingRefusal = "invalid status response"

    /// What libcurl and OpenSSL say where the other side ends the connection in the middle of a handshake, and gives no
    /// reason with an alert. libcurl's code is the same in both cases.
    private static let handshakeEndings = [
        "SSL_ERROR_SYSCALL", "SSL_ERROR_ZERO_RETURN", "unexpected eof while reading", "Connection reset by peer",
        "Broken pipe",
    ]

    /// Why a transfer has failed, in words: what libcurl has said, else what the code stands for.
    ///
    /// libcurl keeps the first thing that went wrong. When it leaves a kept connection that has broken for a new one,
    /// that is the old one's last write, which says nothing of what failed then.
    static func reason(of code: CURLcode, said: String) -> String {
        let isOfWriting = [CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SSL_CONNECT_ERROR].contains(code)
        let isAnothers = said.hasPrefix("Send failure: ") && !isOfWriting
        return said.isEmpty || isAnothers ? String(cString: curl_easy_strerror(code)) : said
    }

    /// The result of the transfer; call this before the handle leaves the multi handle.
    func result(_ code: CURLcode) -> TransferResult {
        var message = ""
        if progress.endedEarly {
            message = "the request's body ended before its announced length"
        } else if progress.isRepeatRefused {
            message = "the connection ended before a response came"
        } else if code != CURLE_OK {
            message = EasyHandle.reason(of: code, said: String(cString: errorBuffer))
        }
        var code = code
        if code == CURLE_SSL_CONNECT_ERROR, message.contains(EasyHandle.staplingRefusal) {
            code = CURLE_SSL_INVALIDCERTSTATUS
            message = "certificate was revoked, as the OCSP answer says that comes with it"
        }
        if code == CURLE_SSL_CONNECT_ERROR, EasyHandle.handshakeEndings.contains(where: { message.contains($0) }) {
            code = CURLE_RECV_ERROR
            message = "the connection ended during the TLS handshake"
        }
        var result = TransferResult(code: code, message: message)
        result.isAborted = progress.isAborted
        result.refusedAddress = progress.refusedAddress
        result.hasReceivedBytes = progress.hasReceivedBytes
        if code != CURLE_OK {
            result.osErrno = CInt(truncatingIfNeeded: long(CURLINFO_OS_ERRNO))
            if result.osErrno == 0 { result.osErrno = progress.socketErrno }
            if progress.attempts == 0 { result.noteShortage() }
            if usesProxy { result.tunnelStatus = long(CURLINFO_HTTP_CONNECTCODE) }
        }
        result.reusedConnection = progress.attempts > 0 && long(CURLINFO_NUM_CONNECTS) == 0
        var address: UnsafeMutablePointer<CChar>?
        subproxy_getinfo_string(pointer, CURLINFO_PRIMARY_IP, &address)
        if let address { result.primaryAddress = String(cString: address) }
        result.primaryPort = UInt16(truncatingIfNeeded: long(CURLINFO_PRIMARY_PORT))
        result.timings.nameLookup = offset(CURLINFO_NAMELOOKUP_TIME_T)
        result.timings.connect = offset(CURLINFO_CONNECT_TIME_T)
        result.timings.startTransfer = offset(CURLINFO_STARTTRANSFER_TIME_T)
        result.timings.total = offset(CURLINFO_TOTAL_TIME_T)
        if isHTTPS { result.sslVerifyResult = long(CURLINFO_SSL_VERIFYRESULT) }
        return result
    }

    /// The socket of a connect-only transfer that has connected.
    var activeSocket: CInt? {
        var socket = subproxy_bad_socket
        guard subproxy_getinfo_socket(pointer, &socket) == CURLE_OK else { return nil }
        return socket == subproxy_bad_socket ? nil : socket
    }

    private func long(_ info: CURLINFO) -> Int {
        var value = 0
        subproxy_getinfo_long(pointer, info, &value)
        return value
    }

    private func offset(_ info: CURLINFO) -> Int {
        var value: curl_off_t = 0
        subproxy_getinfo_offset(pointer, info, &value)
        return Int(value)
    }
}
