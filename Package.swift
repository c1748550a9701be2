// swift-tools-version: 6.2
import PackageDescription

let isFuzzing = Context.environment["SUBPROXY_FUZZING"] != nil

let fuzzing: [SwiftSetting] = [.define("FUZZING"), .unsafeFlags(["-sanitize=fuzzer", "-enable-testing"])]

let strict: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .treatAllWarnings(as: .error),
        // Run-time checks of exclusive access cost a mapped hit some 5 %; tests run in debug builds, which have them.
        .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
    ] + (isFuzzing ? fuzzing : [])

let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioLocks = Target.Dependency.product(name: "NIOConcurrencyHelpers", package: "swift-nio")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioHPACK = Target.Dependency.product(name: "NIOHPACK", package: "swift-nio-http2")
let certificates = Target.Dependency.product(name: "X509", package: "swift-certificates")
let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "subproxy",
    products: [.executable(name: "subproxy", targets: ["subproxy"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CCrypt", pkgConfig: "libxcrypt", providers: [.apt(["libcrypt-dev"])]),
        .systemLibrary(name: "CLinux"),

        // Their headers are the system's; the libraries themselves are opened at first need.
        .target(name: "CLibrary"),
        .target(name: "CCompression", dependencies: ["CLibrary"]),
        .target(name: "CCurl", dependencies: ["CLibrary"]),
        .target(name: "CSQLite", dependencies: ["CLibrary"]),
        .target(name: "CConsole", exclude: ["web"]),
        .target(name: "Basics", swiftSettings: strict),
        .target(name: "Curl", dependencies: ["Basics", "CCurl"], swiftSettings: strict),
        .target(name: "Diagnostics", dependencies: ["Basics"], swiftSettings: strict),
        .target(name: "YAML", dependencies: ["Basics", "CYAML", "Diagnostics"], swiftSettings: strict),
        .target(name: "JSON", dependencies: ["Basics", "Diagnostics"], swiftSettings: strict),
        .target(name: "Patterns", dependencies: ["Basics"], swiftSettings: strict),
        .target(name: "SQLite", dependencies: ["CSQLite"], swiftSettings: strict),
        .target(
            name: "Database",
            dependencies: ["Basics", "CLinux", "CSQLite", "Diagnostics", "Patterns", "JSON", "SQLite"],
            swiftSettings: strict),
        .target(name: "Mustache", dependencies: ["Basics", "Diagnostics"], swiftSettings: strict),
        .target(name: "HTTPSemantics", dependencies: ["Basics", nioCore], swiftSettings: strict),
        .target(name: "HTTP1", dependencies: ["Basics", "HTTPSemantics", nioCore], swiftSettings: strict),
        .target(name: "HTTP2", dependencies: ["HTTP1", "HTTPSemantics", nioCore], swiftSettings: strict),
        .target(name: "HTTPCaching", dependencies: ["HTTPSemantics", nioCore], swiftSettings: strict),
        .target(
            name: "Files", dependencies: ["Basics", "HTTPSemantics", "CLinux", nioCore, crypto], swiftSettings: strict),
        .target(
            name: "Archives",
            dependencies: ["Basics", "CCompression", "Diagnostics", "HTTPSemantics", "YAML", nioCore, crypto],
            swiftSettings: strict),
        .target(
            name: "Browser", dependencies: ["Basics", "CLinux", "JSON"], swiftSettings: strict),
        .target(
            name: "Substitution",
            dependencies: [
                "Archives", "Basics", "Database", "Diagnostics", "Files", "HTTPSemantics", "Mustache", "Patterns",
                "JSON", "YAML", nioCore,
            ],
            swiftSettings: strict),
        .target(
            name: "Sessions", dependencies: ["Basics", "Diagnostics", "HTTPSemantics", "JSON", "YAML"],
            swiftSettings: strict),
        .target(
            name: "TLSTermination", dependencies: ["Basics", nioCore, nioPosix, nioSSL, certificates, asn1, crypto],
            swiftSettings: strict),
        .target(name: "TrustStores", dependencies: ["Basics", "TLSTermination", asn1, crypto], swiftSettings: strict),
        .target(
            name: "Authentication", dependencies: ["Basics", "CCrypt", "Diagnostics", "HTTPSemantics"],
            swiftSettings: strict),
        .target(
            name: "ForwardProxy",
            dependencies: [
                "Archives", "Authentication", "Basics", "CLinux", "Curl", "Database", "Diagnostics", "Files", "HTTP1",
                "HTTP2",
                "HTTPCaching", "HTTPSemantics", "Mustache", "Substitution", "JSON", "CConsole", "Sessions",
                "TLSTermination", nioCore, nioPosix,
                nioLocks, nioTLS, nioSSL, crypto, logging,
            ],
            swiftSettings: strict),
        .target(
            name: "Recorder", dependencies: ["Archives", "Basics", "CLinux", "ForwardProxy", nioCore],
            swiftSettings: strict),
        .executableTarget(
            name: "subproxy",
            dependencies: [
                "Archives", "Authentication", "Basics", "Browser", "CLinux", "Curl", "Diagnostics", "Files",
                "ForwardProxy", "HTTPSemantics", "JSON", "Recorder",
                "Sessions", "Substitution",
                "TLSTermination", "TrustStores", "YAML", nioCore, logging, argumentParser,
            ],
            swiftSettings: strict,
            // Of the linkers only lld packs relative relocations, and it is quicker than gold by far.
            linkerSettings: [.unsafeFlags(["-use-ld=lld"], .when(configuration: .release))]),

        .target(name: "ProxyTestKit", dependencies: ["Basics"], swiftSettings: strict),
        .testTarget(name: "BasicsTests", dependencies: ["Basics", "ProxyTestKit"], swiftSettings: strict),
        .testTarget(name: "CurlTests", dependencies: ["Curl", "ProxyTestKit"], swiftSettings: strict),
        .testTarget(name: "DiagnosticsTests", dependencies: ["Diagnostics"], swiftSettings: strict),
        .testTarget(name: "JSONTests", dependencies: ["JSON"], swiftSettings: strict),
        .testTarget(name: "YAMLTests", dependencies: ["Diagnostics", "YAML"], swiftSettings: strict),
        .testTarget(
            name: "DatabaseTests",
            dependencies: ["Basics", "CLinux", "CSQLite", "Database", "Diagnostics", "JSON", "SQLite"],
            swiftSettings: strict),
        .testTarget(
            name: "BrowserTests", dependencies: ["Basics", "Browser", "JSON", "ProxyTestKit", "subproxy"],
            swiftSettings: strict),
        .testTarget(
            name: "MustacheTests", dependencies: ["Diagnostics", "Mustache"], exclude: ["Specification"],
            swiftSettings: strict),
        .testTarget(name: "PatternsTests", dependencies: ["Patterns", "ProxyTestKit"], swiftSettings: strict),
        .testTarget(
            name: "HTTPSemanticsTests", dependencies: ["HTTPSemantics", "ProxyTestKit", nioCore], swiftSettings: strict),
        .testTarget(
            name: "HTTPCachingTests", dependencies: ["HTTPCaching", "HTTPSemantics", "ProxyTestKit", nioCore],
            swiftSettings: strict),
        .target(
            name: "HTTP1Invariants", dependencies: ["HTTP1", "HTTPSemantics", nioCore], path: "Tests/Fuzzing/HTTP1",
            swiftSettings: strict),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "Archives", "CSQLite", "Database", "Diagnostics", "Files", "ForwardProxy", "HTTP1", "HTTP1Invariants",
                "HTTP2",
                "HTTPCaching", "HTTPSemantics", "Mustache", "SQLite", "Substitution", "JSON", "Sessions", "YAML",
                nioCore,
                nioEmbedded,
                nioPosix, nioHPACK, logging,
            ],
            path: "Tests/Fuzzing/Targets", swiftSettings: strict),
        .testTarget(
            name: "FuzzingTests", dependencies: ["FuzzTargets"], path: "Tests/Fuzzing/Replay", swiftSettings: strict),
        .testTarget(
            name: "HTTP1Tests",
            dependencies: [
                "HTTP1", "HTTP1Invariants", "HTTPSemantics", "ProxyTestKit", nioCore, nioHTTP1, nioEmbedded,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HTTP2Tests", dependencies: ["Basics", "HTTP1", "HTTP2", "HTTPSemantics", nioCore, nioHPACK],
            swiftSettings: strict),
        .testTarget(
            name: "ArchivesTests", dependencies: ["Archives", "HTTPSemantics", "ProxyTestKit", nioCore],
            swiftSettings: strict),
        .testTarget(
            name: "RecorderTests",
            dependencies: ["Archives", "Basics", "ForwardProxy", "Recorder", "ProxyTestKit", nioCore],
            swiftSettings: strict),
        .testTarget(
            name: "SessionsTests", dependencies: ["Basics", "Diagnostics", "Sessions", "ProxyTestKit"],
            swiftSettings: strict),
        .testTarget(name: "FilesTests", dependencies: ["Files", "HTTPSemantics", nioCore], swiftSettings: strict),
        .testTarget(
            name: "SubstitutionTests",
            dependencies: [
                "Archives", "Basics", "Database", "Diagnostics", "Substitution", "HTTPSemantics", "Patterns",
                "ProxyTestKit",
                "YAML", nioCore,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "TLSTerminationTests",
            dependencies: [
                "Basics", "TLSTermination", "ProxyTestKit", nioCore, nioEmbedded, nioPosix, nioSSL, certificates, asn1,
                crypto,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "TrustStoresTests", dependencies: ["Basics", "TrustStores", "TLSTermination", "ProxyTestKit"],
            swiftSettings: strict),
        .testTarget(
            name: "AuthenticationTests", dependencies: ["Authentication", "Diagnostics", "ProxyTestKit"],
            swiftSettings: strict),
        .testTarget(
            name: "ForwardProxyTests",
            dependencies: [
                "Authentication", "Basics", "Files", "ForwardProxy", "HTTP1", "HTTP2", "HTTPSemantics", "Substitution",
                "ProxyTestKit", nioCore, nioEmbedded, nioPosix, nioSSL, nioHPACK, logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "subproxyTests",
            dependencies: [
                "subproxy", "HTTPSemantics", "ProxyTestKit", "Substitution", "TLSTermination", nioCore, argumentParser,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests", dependencies: ["subproxy", "ProxyTestKit"], exclude: ["Cases", "Scripts"],
            swiftSettings: strict),
    ]
)

// `make fuzz` sets it: libFuzzer needs code that is instrumented, and has a main function of its own.
if isFuzzing {
    package.targets.append(
        .executableTarget(
            name: "Fuzzer", dependencies: ["FuzzTargets"], path: "Tests/Fuzzing/Fuzzer",
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]))
}
