import Glibc
public import Testing

/// What tests need of the machine. `.ci/run` tells by the first word of the reason whether a test may be skipped: where
/// the kernel or the user's rights are not enough it may, and where a package is missing it may not.
extension Trait where Self == ConditionTrait {
    /// Skips a test where the kernel does not let this user do what it takes.
    public static func kernel(_ isAllowed: @autoclosure @escaping @Sendable () -> Bool, _ what: Comment) -> Self {
        .enabled(if: isAllowed(), "kernel: \(what.rawValue)")
    }

    /// Skips a test where a program is missing, which a package of Debian has.
    ///
    /// - Parameter name: found in PATH where it has no slash.
    public static func program(_ name: String, of package: String) -> Self {
        .enabled(if: InstalledProgram.path(name) != nil, "package: \(package)")
    }
}

/// Programs that tests use.
public enum InstalledProgram {
    /// The program's path; nil where there is none in PATH, or at that path.
    public static func path(_ name: String) -> String? {
        let folders = getenv("PATH").map { String(cString: $0).split(separator: ":") } ?? []
        let candidates = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
        return candidates.first { access($0, X_OK) == 0 }
    }

    /// The browser that tests drive: what CHROMIUM names, or Debian's; a path at which there is none where it is
    /// missing.
    public static let chromium = getenv("CHROMIUM").map { String(cString: $0) } ?? "/usr/bin/chromium"
    /// The other one: what FIREFOX names, or Debian's.
    public static let firefox = getenv("FIREFOX").map { String(cString: $0) } ?? "/usr/bin/firefox-esr"
    /// A Python that has the modules of `Tests/EndToEndTests/Scripts/requirements.txt`, as `make setup-test` makes it.
    public static let toolsPython: String = {
        let place = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return "/\(place)/.build/test-tools/bin/python3"
    }()
}
