import Testing

@testable import ForwardProxy

@Suite("Routes of the proxy's own site")
struct OwnRouteTests {
    private func route(_ path: OwnRoute.Path, methods: [String] = ["GET", "HEAD"]) -> OwnRoute {
        OwnRoute(path, methods: methods, for: .anybody) { _, _ in .page(.serving) }
    }

    @Test(
        "an exact path is itself alone, and a folder is all that is below it",
        arguments: [
            ("/a", true, false), ("/a/", false, true), ("/a/b", false, true), ("/", false, false), ("/A", false, false),
            ("/ab", false, false), ("", false, false), ("/a%2f", false, false),
        ])
    func paths(path: String, isExact: Bool, isBelow: Bool) {
        #expect(route(.exact("/a")).matches(path: Array(path.utf8)) == isExact)
        #expect(route(.below("/a/")).matches(path: Array(path.utf8)) == isBelow)
    }

    @Test("methods are compared by case")
    func methods() {
        let route = route(.exact("/"), methods: ["GET", "M-SEARCH"])
        #expect(route.answers(Array("GET".utf8)) && route.answers(Array("M-SEARCH".utf8)))
        #expect(!route.answers(Array("get".utf8)) && !route.answers(Array("HEAD".utf8)) && !route.answers([]))
    }

    @Test("no path has two routes, so their order says nothing")
    func disjoint() {
        for route in OwnRoute.all {
            let path = route.path.text.withUTF8Buffer { Array($0) }
            #expect(OwnRoute.all.count { $0.matches(path: path) } == 1)
        }
    }

    @Test(
        "a client of this machine is admitted to every page but its user's own",
        arguments: OwnAudience.allCases.filter { $0 != .owners })
    func local(audience: OwnAudience) {
        for hasAccessControl in [false, true] {
            for isProxied in [false, true] {
                #expect(
                    audience.judge(isLocal: true, hasAccessControl: hasAccessControl, isProxied: isProxied)
                        == .admitted)
            }
        }
    }

    @Test("a page for owners asks the kernel on this machine, and for credentials where there are some")
    func owners() {
        let audience = OwnAudience.owners
        #expect(audience.judge(isLocal: true, hasAccessControl: false, isProxied: false) == .ownerNeeded)
        #expect(audience.judge(isLocal: true, hasAccessControl: false, isProxied: true) == .ownerNeeded)
        #expect(audience.judge(isLocal: true, hasAccessControl: true, isProxied: false) == .ownerNeeded)
        // It has given credentials already, as everybody has who sends in absolute-form.
        #expect(audience.judge(isLocal: true, hasAccessControl: true, isProxied: true) == .admitted)
        #expect(audience.judge(isLocal: false, hasAccessControl: true, isProxied: true) == .admitted)
        #expect(audience.judge(isLocal: false, hasAccessControl: true, isProxied: false) == .credentialsNeeded)
        #expect(audience.judge(isLocal: false, hasAccessControl: false, isProxied: false) == .refused)
    }

    @Test(
        "another client is admitted, refused, or asked for credentials that it has not given yet",
        arguments: [
            (.anybody, .admitted, .admitted, .admitted), (.users, .admitted, .credentialsNeeded, .admitted),
            (.thisMachineAndUsers, .refused, .credentialsNeeded, .admitted),
            (.thisMachine, .refused, .refused, .refused),
        ] as [(OwnAudience, OwnAudience.Verdict, OwnAudience.Verdict, OwnAudience.Verdict)])
    func remote(
        audience: OwnAudience, open: OwnAudience.Verdict, asked: OwnAudience.Verdict, proxied: OwnAudience.Verdict
    ) {
        func judge(_ hasAccessControl: Bool, _ isProxied: Bool) -> OwnAudience.Verdict {
            audience.judge(isLocal: false, hasAccessControl: hasAccessControl, isProxied: isProxied)
        }
        #expect(judge(false, false) == open && judge(false, true) == open)
        #expect(judge(true, false) == asked)
        #expect(judge(true, true) == proxied)
    }
}
