/// Well-formed requests, with bodies of each framing, for tests that cut and mutate them.
enum RequestCorpus {
    static let texts: [String] = [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://images.apple.com/global/nav/images/globalnavbg.png HTTP/1.1\r\nHost: images.apple.com\r\n"
            + "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\n"
            + "Proxy-Connection: keep-alive\r\nCookie: a=b; c=d\r\n\r\n",
        "GET http://a/b?c=d HTTP/1.0\r\n\r\n",
        "HEAD /x HTTP/1.1\r\nHost: a:8080\r\nConnection: close\r\n\r\n",
        "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "PUT /p HTTP/1.1\r\nhost:a\r\ncontent-length:\t0010 \r\n\r\n0123456789",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\nTrailer: X-T\r\n\r\n"
            + "5;a=b;c=\"d e\"\r\nhello\r\n00A\r\n0123456789\r\n0;x\r\nX-T: v\r\nX-U:  w \r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: \r\n\r\n",
        "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: [::1]:80\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /next HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\nGET /after-an-empty-line HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nX-Latin: caf\u{e9}\r\n\r\n",
        "PURGE /a HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nX-A: 2\r\n\r\n",
        "DELETE /a HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YTpi\r\n\r\n",
    ]

    static let all: [[UInt8]] = texts.map { Array($0.utf8) }
}
