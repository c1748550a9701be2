import Basics
import JSON

extension BrowserPage {
    /// How long each step waits at least: 60 ms.
    private static let stepTime = 60
    /// How long it waits until the page has seen that it was scrolled; one that shows nothing never does.
    private static let frameTime = 2000
    /// How long it waits at the end for a page that is never quiet.
    static let restlessPause = 1000
    /// How long it waits for pictures in view.
    private static let pictureTime = 5000

    /// Scrolls to the page's end by its viewport's height, as long as it grows, and back to the top.
    ///
    /// Each step waits until 60 ms have passed and images in view are complete. What scrolls is the document, or else
    /// its largest element that does.
    ///
    /// - Parameters:
    ///   - steps: how many there are at most.
    ///   - deadline: when it ends, wherever it is.
    ///   - limit: until when the page may keep it waiting for an answer.
    /// - Returns: the number of steps.
    /// - Throws: ``BrowserFailure``: `timedOut` where the browser does not answer, `ended`, and `interrupted`.
    public func scroll(
        atMost steps: Int, until deadline: Deadline, within limit: Deadline
    ) throws(BrowserFailure) -> Int {
        var done = 0
        // A page that goes elsewhere takes the script with it.
        for _ in 0..<3 {
            do throws(BrowserFailure) {
                let script = try mainScript(ScrollScript.source, until: limit)
                try scroll(script, &done, atMost: steps, until: deadline, within: limit)
                _ = try script.call("top", until: limit)
                try wait(milliseconds: BrowserPage.stepTime, until: deadline)
                var isShowing = true
                try waitUntilShown(script, &isShowing, until: deadline, within: limit)
                return done
            } catch {
                guard error.kind == .misunderstood else { throw error }
                _ = try waitUntilQuiet(until: deadline)
            }
        }
        return done
    }

    private func scroll(
        _ script: IsolatedScript, _ done: inout Int, atMost steps: Int, until deadline: Deadline,
        within limit: Deadline
    ) throws(BrowserFailure) {
        // A call that began in time may end a little later; the whole has a time of its own.
        func call(_ name: String) throws(BrowserFailure) -> JSONValue {
            try script.call(name, until: limit)
        }
        var height = -1
        var isShowing = true
        while done < steps, !deadline.isOver {
            var state = try call("step")
            done += 1
            try wait(milliseconds: BrowserPage.stepTime, until: deadline)
            try waitUntilShown(script, &isShowing, until: deadline, within: limit)
            let pictures = Deadline(milliseconds: BrowserPage.pictureTime).orEarlier(deadline)
            while try call("imagesAreComplete").boolValue == false, !pictures.isOver {
                try wait(milliseconds: 20, until: pictures)
            }
            state = try call("state")
            guard state["isAtEnd"]?.boolValue == true else { continue }
            let patience = isRestless ? BrowserPage.restlessPause : deadline.milliseconds
            _ = try waitUntilQuiet(until: Deadline(milliseconds: patience).orEarlier(deadline))
            state = try call("state")
            let new = state["height"]?.integerValue ?? 0
            if state["isAtEnd"]?.boolValue == true, new == height || new == 0 { return }
            height = new
        }
    }

    /// Waits until the page has seen that it was scrolled, however slowly it is drawn.
    ///
    /// - Parameter isShowing: false once it has not seen it in time: then it isn't waited for, until it has seen one.
    private func waitUntilShown(
        _ script: IsolatedScript, _ isShowing: inout Bool, until deadline: Deadline, within limit: Deadline
    ) throws(BrowserFailure) {
        guard isShowing else {
            isShowing = try script.call("isShown", until: limit).boolValue == true
            return
        }
        let frames = Deadline(milliseconds: BrowserPage.frameTime).orEarlier(deadline)
        while try script.call("isShown", until: limit).boolValue == false {
            guard !frames.isOver else {
                isShowing = false
                return
            }
            try wait(milliseconds: 10, until: frames)
        }
    }

    /// Waits until an element is there.
    ///
    /// - Parameter selector: of CSS.
    /// - Throws: ``BrowserFailure``: `timedOut`, and `misunderstood` where it is no selector.
    public func wait(for selector: String, until deadline: Deadline) throws(BrowserFailure) {
        do throws(BrowserFailure) {
            while !deadline.isOver {
                let script = try mainScript(ScrollScript.source, until: deadline)
                let found = try script.call("has", [["value": JSONValue(selector)]], until: deadline)
                if found.boolValue == true { return }
                try wait(milliseconds: 50, until: deadline)
            }
        } catch {
            guard error.kind == .timedOut else { throw error }
        }
        throw BrowserFailure(.timedOut, "no element came that is '\(selector)'")
    }

    /// Looks whether a text is a selector of CSS.
    ///
    /// - Throws: ``BrowserFailure``: `unusable` where it is none.
    func check(selector: String, until deadline: Deadline) throws(BrowserFailure) {
        let script = try mainScript(ScrollScript.source, until: deadline)
        do throws(BrowserFailure) {
            _ = try script.call("has", [["value": JSONValue(selector)]], until: deadline)
        } catch {
            guard error.kind == .misunderstood else { throw error }
            throw BrowserFailure(.unusable, "'\(selector)' is no selector of CSS")
        }
    }

    func mainScript(_ source: String, until deadline: Deadline) throws(BrowserFailure) -> IsolatedScript {
        try IsolatedScript(source, in: target, session: session, connection: connection, until: deadline)
    }
}
