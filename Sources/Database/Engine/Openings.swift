import Synchronization

/// The connections to a database's file, and whether they are to what stands at its place now.
///
/// All connections of a process use one index of the log, in the -shm, from the first one's opening to the last one's
/// end. It says which pages the log has, and how many there are in all. What takes the place of a file would be read by
/// the index of the one before, so it is opened only when no connection to that is left.
final class Openings: Sendable {
    /// A connection, or those that a thread opens one after the other. It is open as long as this lives.
    final class Opening: Sendable {
        private let openings: Openings
        /// Which file it is to, counted from the first one.
        let number: UInt64

        fileprivate init(_ openings: Openings, _ number: UInt64) {
            self.openings = openings
            self.number = number
        }

        deinit { openings.closed(number) }
    }

    private let number = Atomic<UInt64>(0)
    /// How many there are to the file that stands there now, and how many to others.
    private let counts = Mutex((current: 0, former: 0))

    /// The number of the file that stands there now.
    var current: UInt64 { number.load(ordering: .acquiring) }

    /// - Returns: nil while connections to a file before are open.
    func begin() -> Opening? {
        counts.withLock { counts in
            guard counts.former == 0 else { return nil }
            counts.current += 1
            return Opening(self, current)
        }
    }

    /// Notes that another file stands there.
    ///
    /// - Returns: whether that was not noted before.
    func end(_ number: UInt64) -> Bool {
        counts.withLock { counts in
            guard current == number else { return false }
            counts = (0, counts.former + counts.current)
            self.number.store(number &+ 1, ordering: .releasing)
            return true
        }
    }

    private func closed(_ number: UInt64) {
        counts.withLock { counts in
            if number == current { counts.current -= 1 } else { counts.former -= 1 }
        }
    }
}
