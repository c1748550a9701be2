/// Makes responses: statuses, directives, dates and validators, present, missing and broken.
struct ResponseGenerator {
    static let size = 100
    static let tags = ["\"a\"", "\"b\"", "\"c\"", "W/\"a\"", "W/\"b\""]
    static let targetedName = "CDN-Cache-Control"

    var spelling: FieldSpelling

    private var random: ModelRandom {
        get { spelling.random }
        set { spelling.random = newValue }
    }

    /// A response to a request for `target`.
    mutating func response(
        to request: ModelRequest, target: String, requestedAt: ModelInstant, receivedAt: ModelInstant
    ) -> ModelResponse {
        var status = random.pick(weighted: [
            (60, 200), (2, 203), (1, 204), (4, 301), (3, 302), (5, 404), (2, 410), (2, 403), (4, 500), (3, 503),
            (2, 299), (1, 103), (1, 304), (1, 412), (1, 416), (1, 401), (1, 429), (1, 511), (1, 501), (4, 299),
        ])
        if request.fields.has("range") ? random.chance(80) : random.chance(1) { status = 206 }
        var fields = cacheControl(cleanly: random.chance(45))
        if status == 299 && random.chance(50) { fields += spelling.list("Cache-Control", ["must-understand"]) }
        fields += dates(receivedAt)
        // Parts of the same representation, so that they can be combined.
        if status == 206 && random.chance(80) {
            fields.append(ModelField("ETag", ResponseGenerator.tags[0]))
        } else {
            fields += validators(receivedAt)
        }
        if random.chance(20) { fields += vary() }
        if random.chance(10) { fields.append(ModelField("Set-Cookie", "id=\(random.below(9))")) }
        if status == 206 { fields += contentRange(request.fields.first("range")) }
        if request.method == "POST" || random.chance(3) { fields += contentLocation(target) }
        if request.method != "GET", random.chance(60) { fields.append(ModelField("Location", location())) }
        fields += others(isPart: status == 206)
        return ModelResponse(
            status: status, fields: random.chance(30) ? fields.shuffled(using: &random) : fields,
            requestedAt: requestedAt, receivedAt: receivedAt)
    }

    /// Cache-Control and the targeted field; `cleanly` means a plain lifetime, so that reuse happens often.
    mutating func cacheControl(cleanly: Bool) -> [ModelField] {
        var members: [String] = []
        if cleanly {
            members.append(spelling.directive("max-age", spelling.seconds()))
            if random.chance(40) { members.append(usefulDirective()) }
        } else {
            for _ in 0..<random.below(4) { members.append(anyDirective()) }
        }
        // A quote that is never closed takes in all that stands behind it, so it comes last.
        let unclosed = members.filter { $0.hasSuffix("\"x-a") }
        members = members.filter { !$0.hasSuffix("\"x-a") } + unclosed.prefix(1)
        var fields = spelling.list("Cache-Control", members)
        if random.chance(8) {
            let value = random.pick([
                "max-age=600", "max-age=60, must-revalidate", "no-store", "private", "no-cache", "none", "public",
                "max-age=10, stale-while-revalidate=30", "max-age=300,   public", "no-cache=\"x-a\", max-age=5",
                "", "Max-Age=600", "max-age=60,", "max-age=", "=60", "max-age=60 no-store", "s-maxage=30",
            ])
            fields.append(ModelField(spelling.name(ResponseGenerator.targetedName), value))
        }
        return fields
    }

    private mutating func usefulDirective() -> String {
        switch random.below(9) {
        case 0, 1: spelling.directive("stale-while-revalidate", spelling.seconds())
        case 2, 3: spelling.directive("stale-if-error", spelling.seconds())
        case 4: spelling.directive("s-maxage", spelling.seconds())
        case 5: spelling.directive("must-revalidate")
        case 6: spelling.directive("proxy-revalidate")
        case 7: spelling.directive("no-cache")
        default: spelling.directive("public")
        }
    }

    private mutating func anyDirective() -> String {
        switch random.below(24) {
        case 0, 1, 2: spelling.directive("max-age", spelling.seconds())
        case 3: spelling.directive("max-age", spelling.badSeconds())
        case 4: spelling.directive("max-age")
        case 5: spelling.directive("s-maxage", spelling.seconds())
        case 6: spelling.directive("s-maxage", spelling.badSeconds())
        case 7: spelling.directive("no-store")
        case 8: spelling.directive("no-store", "1")
        case 9: spelling.directive("private")
        case 10, 11: spelling.name("private") + random.pick(limits)
        case 12: spelling.directive("no-cache")
        case 13, 14: spelling.name("no-cache") + random.pick(limits)
        case 15, 16: spelling.directive("public")
        case 17: spelling.directive("must-understand")
        case 18: spelling.directive("immutable")
        case 19: spelling.directive("no-transform")
        case 20:
            random.pick([
                "community=\"UCI\"", "x=\"max-age=5, no-store\"", "foo", "b@d", "\"no-store\"", "max-age =60",
                "private; max-age=60", "max-age= 5",
            ])
        default: usefulDirective()
        }
    }

    private let limits = [
        "=\"set-cookie\"", "=\"X-A, set-cookie\"", "=\" x-b ,, X-A\"", "=Set-Cookie", "=\"\"", "=\" , \"", "=\"x-a",
    ]

    /// Date, Expires and Age.
    private mutating func dates(_ receivedAt: ModelInstant) -> [ModelField] {
        var fields: [ModelField] = []
        var date = receivedAt.wall
        switch random.below(20) {
        case 0: break
        case 1: fields.append(ModelField("Date", spelling.badDate()))
        default:
            date += random.pick(weighted: [(12, 0), (3, -1), (2, -5), (2, -100), (1, -90_000), (1, 30), (1, 100_000)])
            fields.append(ModelField(spelling.name("Date"), spelling.date(date)))
        }
        if random.chance(20) {
            for _ in 0..<(random.chance(15) ? 2 : 1) {
                let ahead = random.pick([-100, 0, 1, 10, 60, 3600, 1_000_000, 9_000_000_000] as [Int64])
                let value = random.chance(80) ? spelling.date(date + ahead) : spelling.badDate()
                fields.append(ModelField(spelling.name("Expires"), value))
            }
        }
        if random.chance(12) {
            let value = random.pick([
                "0", "5", "20", "100", "2147483648", "18446744073709551616", "-1", "abc", "7, 50", "1.5", "",
            ])
            fields.append(ModelField(spelling.name("Age"), value))
            if random.chance(10) { fields.append(ModelField("age", "3")) }
        }
        return fields
    }

    private mutating func validators(_ receivedAt: ModelInstant) -> [ModelField] {
        var fields: [ModelField] = []
        if random.chance(50) { fields.append(ModelField(spelling.name("ETag"), random.pick(ResponseGenerator.tags))) }
        if random.chance(45) {
            let before = random.pick([0, 100, 1000, 1000, 50_000, 10_000_000, -50] as [Int64])
            let value = random.chance(92) ? spelling.date(receivedAt.wall - before) : spelling.badDate()
            fields.append(ModelField(spelling.name("Last-Modified"), value))
        }
        return fields
    }

    private mutating func vary() -> [ModelField] {
        var names: [String] = []
        for _ in 0...random.below(3) {
            names.append(spelling.name(random.pick(["Accept-Encoding", "Accept-Language", "X-Variant", "User-Agent"])))
        }
        if random.chance(8) { names.append("*") }
        if random.chance(4) { names += (1...20).map { "X-\($0)" } }
        return spelling.list("Vary", names)
    }

    private mutating func contentRange(_ range: String?) -> [ModelField] {
        let fitting = [
            "bytes=0-49": "0-49", "bytes=0-9": "0-9", "bytes=50-99": "50-99", "bytes=60-": "60-99",
            "bytes=-10": "90-99",
            "bytes=0-": "0-99", "bytes=40-200": "40-99",
        ]
        var value = random.pick([
            "bytes 0-49/100", "bytes 20-79/100", "bytes 50-40/100", "bytes 0-100/100", "items 0-4/9", "bytes */100",
        ])
        if let range, let fit = fitting[range], random.chance(85) {
            value = "bytes \(fit)/\(random.pick(weighted: [(12, "100"), (1, "*"), (1, "120")]))"
        }
        return random.chance(94) ? [ModelField(spelling.name("Content-Range"), value)] : []
    }

    private mutating func contentLocation(_ target: String) -> [ModelField] {
        let value = random.chance(60) ? target : location()
        return [ModelField(spelling.name("Content-Location"), value)]
    }

    private mutating func location() -> String {
        random.pick([
            "/one", "two", "../one", "?q=1", "//a.example/one", "http://a.example/two", "HTTP://A.example:80/one",
            "https://a.example/one", "http://a.example:81/one", "http://b.example/one", "/x/../two#part", "./dir/./two",
        ])
    }

    private mutating func others(isPart: Bool) -> [ModelField] {
        var fields = [ModelField("Content-Type", "text/plain")]
        if !isPart && random.chance(50) { fields.append(ModelField("Content-Length", String(ResponseGenerator.size))) }
        if random.chance(15) { fields.append(ModelField(spelling.name("X-A"), "a\(random.below(5))")) }
        if random.chance(15) { fields.append(ModelField(spelling.name("X-B"), "b\(random.below(5))")) }
        if random.chance(5) { fields.append(ModelField("X-B", "second")) }
        if random.chance(8) { fields += spelling.list("Connection", ["close", "X-B"]) }
        if random.chance(3) { fields += spelling.list("Connection", ["Content-Type", "X-A"]) }
        if random.chance(4) { fields.append(ModelField("Keep-Alive", "timeout=5")) }
        if random.chance(3) { fields.append(ModelField("Proxy-Authenticate", "Basic")) }
        if random.chance(3) { fields.append(ModelField("Transfer-Encoding", "chunked")) }
        if random.chance(4) { fields.append(ModelField("Content-Encoding", "gzip")) }
        return fields
    }

    /// A 304 to a validation of `stored`: its validators, others, weaker ones or none; perhaps new metadata.
    mutating func notModified(
        _ stored: ModelStored, _ request: ModelRequest, requestedAt: ModelInstant, receivedAt: ModelInstant
    ) -> ModelResponse {
        var fields = random.chance(50) ? cacheControl(cleanly: random.chance(70)) : []
        fields += dates(receivedAt)
        let tags = ModelValidation.clientTags(request)
        switch random.below(10) {
        case 0...3: if let etag = stored.etag { fields.append(ModelField("ETag", etag)) }
        case 4: if let etag = stored.etag.flatMap(ModelText.opaque) { fields.append(ModelField("ETag", "W/\(etag)")) }
        case 5: fields.append(ModelField("ETag", random.pick(ResponseGenerator.tags)))
        case 6: if let tag = tags.first { fields.append(ModelField("ETag", tag)) }
        default: break
        }
        if let modified = stored.lastModified, random.chance(40) {
            fields.append(ModelField("Last-Modified", spelling.date(random.chance(85) ? modified : modified + 5)))
        }
        if random.chance(15) { fields.append(ModelField("Set-Cookie", "id=new")) }
        if random.chance(5) { fields += vary() }
        fields += others(isPart: false)
        return ModelResponse(status: 304, fields: fields, requestedAt: requestedAt, receivedAt: receivedAt)
    }

    /// A 200 to HEAD about `stored`, which it fits or not.
    mutating func headResponse(
        _ stored: ModelStored, requestedAt: ModelInstant, receivedAt: ModelInstant
    ) -> ModelResponse {
        var fields = cacheControl(cleanly: true) + dates(receivedAt)
        if random.chance(60) {
            fields.append(ModelField("ETag", random.chance(80) ? stored.etag ?? "\"a\"" : random.pick(Self.tags)))
        }
        if random.chance(40), let modified = stored.lastModified {
            fields.append(ModelField("Last-Modified", spelling.date(random.chance(85) ? modified : modified + 5)))
        }
        if random.chance(50) {
            fields.append(ModelField("Content-Length", random.chance(85) ? String(ResponseGenerator.size) : "99"))
        }
        if random.chance(20) { fields.append(ModelField("X-A", "head")) }
        return ModelResponse(status: 200, fields: fields, requestedAt: requestedAt, receivedAt: receivedAt)
    }
}
