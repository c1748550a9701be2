import ProxyTestKit
import Testing

@testable import HTTPCaching

@Suite("The queues of a shard")
struct EntryQueuesTests {
    @Test("They are what two arrays would be, and their slots are used again", arguments: 1...8 as ClosedRange<UInt64>)
    func model(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queues = EntryQueues<Label>()
        var model: [StoreQueue: [LabelledEntry]] = [.small: [], .main: []]
        var turn: UInt64 = 0
        var most = 0
        for _ in 0..<3000 {
            turn += 1
            let queue = Bool.random(using: &random) ? StoreQueue.small : .main
            let other = Bool.random(using: &random) ? StoreQueue.small : .main
            let member = model[queue]?.randomElement(using: &random)
            switch (Int.random(in: 0..<5, using: &random), member) {
            case (0, let member?), (4, let member?):
                let left = queues.remove(member)
                let leftAgain = queues.remove(member)
                #expect(left == queue)
                #expect(leftAgain == nil)
                model[queue]?.removeAll { $0 === member }
            case (1, let member?):
                queues.move(member, to: other, turn: turn)
                model[queue]?.removeAll { $0 === member }
                model[other]?.append(member)
            case (2, let member?):
                let successor = LabelledEntry("k", number: Int(turn))
                let isReplaced = queues.replace(member, by: successor)
                #expect(isReplaced)
                if let position = model[queue]?.firstIndex(where: { $0 === member }) {
                    model[queue]?[position] = successor
                }
                #expect(queues.queue(of: member) == nil)
                #expect(queues.queue(of: successor) == queue)
            default:
                let entry = LabelledEntry("k", number: Int(turn))
                queues.append(entry, to: queue, turn: turn)
                model[queue]?.append(entry)
            }
            for queue in StoreQueue.allCases {
                #expect(queues.first(of: queue) === model[queue]?.first)
                #expect((queues.turn(ofFirstIn: queue) == .max) == (model[queue]?.isEmpty == true))
            }
            let count = model.values.reduce(0) { $0 + $1.count }
            most = max(most, count)
            #expect(queues.count == count)
        }
        #expect(queues.capacity == most)
        for queue in StoreQueue.allCases {
            var previous: UInt64 = 0
            while let first = queues.first(of: queue) {
                #expect(first === model[queue]?.first)
                #expect(queues.turn(ofFirstIn: queue) > previous)
                previous = queues.turn(ofFirstIn: queue)
                model[queue]?.removeFirst()
                let left = queues.remove(first)
                #expect(left == queue)
            }
        }
        #expect(queues.count == 0)
    }

    @Test("An entry of other queues is not taken for one of these, though its slot has the same number")
    func strangers() {
        var one = EntryQueues<Label>()
        var other = EntryQueues<Label>()
        let mine = LabelledEntry("a")
        let stranger = LabelledEntry("b")
        one.append(mine, to: .small, turn: 1)
        other.append(stranger, to: .main, turn: 1)
        let left = one.remove(stranger)
        let isReplaced = one.replace(stranger, by: LabelledEntry("c"))
        one.move(stranger, to: .main, turn: 2)
        #expect(left == nil)
        #expect(!isReplaced)
        #expect(one.first(of: .main) == nil)
        #expect(one.first(of: .small) === mine)
    }
}
