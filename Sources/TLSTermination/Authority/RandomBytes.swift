/// Where random bytes come from; another source makes certificates repeatable in tests.
public struct RandomBytes: Sendable {
    /// The system's generator (`getrandom`).
    public static let system = RandomBytes { count in
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    private let make: @Sendable (Int) -> [UInt8]

    /// - Parameter make: returns as many bytes as it is asked for.
    public init(_ make: @escaping @Sendable (Int) -> [UInt8]) { self.make = make }

    func bytes(_ count: Int) -> [UInt8] { make(count) }
}
