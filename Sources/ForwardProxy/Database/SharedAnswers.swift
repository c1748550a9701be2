import Basics
import Database
import HTTPSemantics
import NIOCore
import Substitution
import Synchronization

/// An answer of a database as all event loops can send it.
final class SharedAnswer: Sendable {
    /// Its rule's map: held, so that no other map has its identity meanwhile.
    fileprivate let map: SubstitutionMap
    /// Without its body, and without what the log says where a database was asked.
    let answer: DatabaseAnswer
    let body: AnswerContent.Body
    private let state: DataState
    private let room: KeptBytes.Reservation

    /// - Parameters:
    ///   - body: the answer's, as it is sent.
    ///   - state: the data that it is made from.
    init(
        _ answer: DatabaseAnswer, _ body: AnswerContent.Body, _ use: RuleUse, _ state: DataState,
        _ room: KeptBytes.Reservation
    ) {
        var answer = answer
        answer.body = []
        answer.note = ""
        self.answer = answer
        self.body = body
        self.state = state
        self.room = room
        map = use.map
    }

    /// What an answer made of it holds as long as; it keeps this one for the other loops.
    var data: AnswerData { AnswerData([state], room: room, shared: self) }

    var isCurrent: Bool { state.isCurrent }
}

/// Answers of databases that an event loop keeps, for the others: a GET that is repeated asks no database, whichever
/// loop its connection is on.
///
/// None is held here: the last loop that drops an answer frees it.
final class SharedAnswers: Sendable {
    private struct Key: Hashable {
        let map: ObjectIdentifier
        let rule: RuleID
        let url: [UInt8]

        init(_ use: RuleUse) {
            map = ObjectIdentifier(use.map)
            rule = use.rule.id
            url = use.uri.withBytes { Array($0) }
        }
    }

    private struct Place: Sendable {
        weak var answer: SharedAnswer?
    }

    private struct State {
        var places: [Key: Place] = [:]
        /// With so many, those are dropped whose answers are gone.
        var swept = 64
    }

    private let state = Mutex(State())

    /// The answer to the same GET that another loop has, and whose data are the same still, as far as is known.
    func find(_ use: RuleUse) -> SharedAnswer? {
        let key = Key(use)
        let found = state.withLock { $0.places[key]?.answer }
        return found.flatMap { $0.map === use.map && $0.isCurrent ? $0 : nil }
    }

    func insert(_ answer: SharedAnswer, _ use: RuleUse) {
        let key = Key(use)
        state.withLock { state in
            state.places[key] = Place(answer: answer)
            guard state.places.count >= state.swept else { return }
            state.places = state.places.filter { $0.value.answer != nil }
            state.swept = max(64, 2 * state.places.count)
        }
    }
}
