import Testing

@testable import subproxy

@Suite("The variables of a command")
struct CommandEnvironmentTests {
    private func variables(_ javaOptions: String?) -> [String: String] {
        let environment = CommandEnvironment(
            url: "http://127.0.0.1:8888", host: "127.0.0.1", port: 8888, trust: nil, javaOptions: javaOptions)
        return Dictionary(environment.variables.map { ($0.name, $0.value) }) { $1 }
    }

    @Test("name the proxy in either case, for everything")
    func proxy() {
        let found = variables(nil)
        for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"] {
            #expect(found[name] == "http://127.0.0.1:8888")
        }
        #expect(found["no_proxy"] == "" && found["NO_PROXY"] == "")
    }

    @Test("keep what was set for Java in front of their own")
    func java() {
        let own =
            "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=8888 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=8888"
            + " -Dhttp.nonProxyHosts="
        #expect(variables(nil)["JAVA_TOOL_OPTIONS"] == own)
        #expect(variables("-Xmx1g")["JAVA_TOOL_OPTIONS"] == "-Xmx1g \(own)")
    }
}
