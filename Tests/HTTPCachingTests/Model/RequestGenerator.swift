/// Makes requests: methods, directives, conditions and values that responses vary by.
struct RequestGenerator {
    var spelling: FieldSpelling
    /// How many of a hundred requests have a Range.
    var rangePercent = 8

    private var random: ModelRandom {
        get { spelling.random }
        set { spelling.random = newValue }
    }

    mutating func request(now: ModelInstant) -> ModelRequest {
        let method = random.pick(weighted: [
            (80, "GET"), (8, "HEAD"), (4, "POST"), (2, "PUT"), (1, "DELETE"), (1, "PURGE"), (1, "OPTIONS"),
        ])
        let hasContent = ["POST", "PUT"].contains(method) || random.chance(2)
        var fields = [ModelField("Host", "a.example")]
        if random.chance(35) { fields += directives() }
        if random.chance(3) {
            fields.append(ModelField(spelling.name("Pragma"), random.pick(["no-cache", "x"])))
        }
        if random.chance(8) { fields.append(ModelField(spelling.name("Authorization"), "Basic eDp5")) }
        if random.chance(rangePercent) {
            let range = random.pick([
                "bytes=0-49", "bytes=50-99", "bytes=0-49", "bytes=50-99", "bytes=0-9", "bytes=60-", "bytes=-10",
                "bytes=0-", "bytes=0-9,20-29",
                "bytes=40-200", "bytes=9-5", "items=0-1",
            ])
            fields.append(ModelField(spelling.name("Range"), range))
            if random.chance(25) {
                let value =
                    random.chance(70) ? random.pick(ResponseGenerator.tags) : spelling.usualDate(now.wall - 1000)
                fields.append(ModelField("If-Range", value))
            }
        }
        if random.chance(20) { fields += conditions(now) }
        fields += variants()
        return ModelRequest(method: method, fields: fields, hasContent: hasContent)
    }

    private mutating func directives() -> [ModelField] {
        var members: [String] = []
        for _ in 0...random.below(2) {
            let member =
                switch random.below(22) {
                case 0...3: spelling.directive("max-age", spelling.seconds())
                case 4: spelling.directive("max-age", "0")
                case 5: spelling.directive("max-age", spelling.badSeconds())
                case 6...8: spelling.directive("max-stale", spelling.seconds())
                case 9...11: spelling.directive("max-stale")
                case 12...14: spelling.directive("min-fresh", spelling.seconds())
                case 15: spelling.directive("no-cache")
                case 16: spelling.directive("no-store")
                case 17...18: spelling.directive("stale-if-error", spelling.seconds())
                case 19: spelling.directive("only-if-cached")
                case 20: spelling.directive("no-transform")
                default: spelling.directive("min-fresh", "x")
                }
            members.append(member)
        }
        return spelling.list("Cache-Control", members)
    }

    private mutating func conditions(_ now: ModelInstant) -> [ModelField] {
        switch random.below(10) {
        case 0: return [ModelField(spelling.name("If-Match"), random.pick(ResponseGenerator.tags))]
        case 1: return [ModelField("If-Unmodified-Since", spelling.date(now.wall))]
        case 2: return [ModelField("If-None-Match", "*")]
        case 3, 4: return [ModelField(spelling.name("If-Modified-Since"), spelling.date(now.wall - 500))]
        default:
            var tags: [String] = []
            for _ in 0...random.below(3) { tags.append(random.pick(ResponseGenerator.tags)) }
            return spelling.list("If-None-Match", tags)
        }
    }

    private mutating func variants() -> [ModelField] {
        var fields: [ModelField] = []
        if random.chance(40) {
            fields += spelling.list("Accept-Encoding", random.pick([["gzip"], ["gzip", "br"], ["GZIP"]]))
        }
        if random.chance(20) { fields += spelling.list("Accept-Language", random.pick([["de"], ["de", "en;q=0.5"]])) }
        if random.chance(20) {
            fields.append(ModelField(spelling.name("X-Variant"), random.pick(["1", "2", "1,2", "1, 2", ""])))
            if random.chance(10) { fields.append(ModelField("X-Variant", "2")) }
        }
        if random.chance(30) { fields.append(ModelField("User-Agent", random.pick(["x/1", "x/1 (a, b)"]))) }
        if random.chance(10) {
            let names = ["close", "X-Variant", "Accept-Language", "Authorization", "keep-alive"]
            fields += spelling.list("Connection", [random.pick(names), random.pick(names)])
        }
        return fields
    }
}
