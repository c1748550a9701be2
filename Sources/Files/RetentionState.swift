/// One reading of a file, and those who wait for it.
typealias LoadFlight = Completion<Result<LoadedFile, FileRefusal>>

extension RetainedFiles {
    /// What is behind the lock: decisions only, no I/O.
    struct State {
        let memory: Int
        var pinned: [FileKey: LoadedFile] = [:]
        private(set) var pinnedCost = 0
        var ring = RetentionRing()
        private(set) var evictions = 0
        private(set) var loads = 0
        private var flights: [FlightKey: LoadFlight] = [:]

        private struct FlightKey: Hashable {
            let key: FileKey
            let mode: RetentionMode
        }

        /// What a caller that wants a file has to do next.
        enum Step {
            /// Take it.
            case answer(LoadedFile)
            /// See whether it is current.
            case check(LoadedFile)
            case wait(LoadFlight)
            /// Read the file, and finish the flight.
            case read(LoadFlight)
        }

        init(memory: Int) { self.memory = memory }

        mutating func nextStep(
            _ key: FileKey, _ mode: RetentionMode, known: LoadedFile?, rejected: [LoadedFile]
        ) -> Step {
            if mode == .pinned, let file = pinned[key] { return .answer(file) }
            // A pinned file is read for itself: what the ring holds goes when the file changes.
            let held = mode == .retain ? ring.file(key) : nil
            for case let file? in [held, known] where !rejected.contains(where: { $0 === file }) {
                if file === held { ring.markUsed(key) }
                return .check(file)
            }
            let flightKey = FlightKey(key: key, mode: mode)
            if let flight = flights[flightKey] { return .wait(flight) }
            let flight = LoadFlight()
            flights[flightKey] = flight
            return .read(flight)
        }

        /// Ends a flight: takes what was read in, and makes room for it.
        ///
        /// - Returns: what the flight's callers get, and the files that were dropped or replaced.
        mutating func finish(
            _ key: FileKey, _ mode: RetentionMode, _ result: Result<LoadedFile, FileRefusal>
        ) -> (Result<LoadedFile, FileRefusal>, evicted: [FileKey]) {
            flights[FlightKey(key: key, mode: mode)] = nil
            loads &+= 1
            switch result {
            case .success(let file) where file.isPinned:
                pinned[key] = file
                pinnedCost &+= State.cost(file)
                return (result, makeRoom(for: 0))
            case .success(let file) where mode == .retain:
                return retain(file, key)
            case .success:
                return (result, [])
            case .failure(let refusal):
                let isGone = refusal != .tooManyOpenFiles && mode == .retain && ring.remove(key) != nil
                return (result, isGone ? [key] : [])
            }
        }

        /// Takes content in that was made, unless another has made it meanwhile.
        mutating func insert(_ made: LoadedFile, _ key: FileKey) -> (LoadedFile, evicted: [FileKey]) {
            if let held = pinned[key] ?? ring.file(key) { return (held, []) }
            loads &+= 1
            // Whoever pins an archive has not seen how long its bodies are: beyond the memory they may be dropped.
            if made.isPinned, State.cost(made) <= memory &- pinnedCost {
                pinned[key] = made
                pinnedCost &+= State.cost(made)
                return (made, makeRoom(for: 0))
            }
            let (_, evicted) = retain(made, key)
            return (made, evicted)
        }

        private mutating func retain(
            _ file: LoadedFile, _ key: FileKey
        ) -> (Result<LoadedFile, FileRefusal>, evicted: [FileKey]) {
            let old = ring.file(key)
            let file = old.map { file.sharingBodies(with: $0) } ?? file
            // The place in the ring is a new one: an edit says as little about use as a first reading.
            ring.remove(key)
            let isReplaced = old.map { !$0.answersLike(file) } ?? false
            var evicted: [FileKey] = isReplaced ? [key] : []
            let cost = State.cost(file)
            if file.bodyBytes > 0 || file.isInMemory, cost <= memory &- pinnedCost {
                evicted += makeRoom(for: cost)
                ring.insert(file, key, cost: cost)
            } else if old != nil, !isReplaced {
                evicted.append(key)
            }
            return (.success(file), evicted)
        }

        /// Drops files until `cost` fits beside the rest.
        private mutating func makeRoom(for cost: Int) -> [FileKey] {
            var evicted: [FileKey] = []
            while ring.cost &+ cost > memory &- pinnedCost, let key = ring.evict() {
                evictions &+= 1
                evicted.append(key)
            }
            return evicted
        }

        /// Drops a file unless another state of it has taken its place.
        mutating func remove(_ file: LoadedFile, _ key: FileKey) -> Bool {
            guard ring.file(key) === file else { return false }
            return ring.remove(key) != nil
        }

        /// - Returns: what was there.
        mutating func drop(_ key: FileKey) -> [LoadedFile] {
            let file = pinned.removeValue(forKey: key)
            if let file { pinnedCost &-= State.cost(file) }
            return [file, ring.remove(key)].compactMap(\.self)
        }

        private static func cost(_ file: LoadedFile) -> Int { file.bodyCost &+ RetainedFiles.entryCost }
    }
}
