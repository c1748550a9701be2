import Browser
import Dispatch
import ForwardProxy
import Glibc
import Synchronization
import TLSTermination

/// The browser of `replay --open`: a window with a profile of its own, whose requests all go to the proxy.
///
/// It runs on a thread of its own. When its last window is closed, the program is asked to end, as by SIGTERM.
final class ReplayWindow: Sendable {
    private let interruption = BrowserInterruption()
    /// Whether the program ends already.
    private let isClosing = Atomic(false)
    /// Signalled when the browser has ended and its folder is gone.
    private let end = DispatchSemaphore(value: 0)
    private let failure = Mutex<String?>(nil)

    /// Looks whether a window can be opened, before anything is served.
    ///
    /// - Throws: ``CommandFailure`` with status 69 where there is no browser, or no display.
    static func check(hasNoSandbox: Bool) throws(CommandFailure) {
        do throws(BrowserFailure) {
            var options = BrowserOptions(executable: try BrowserExecutable.find())
            options.hasNoSandbox = hasNoSandbox
            try BrowserWindow.check(options)
        } catch {
            throw CommandFailure(status: .unavailable, message: error.message)
        }
    }

    /// Opens the window.
    ///
    /// - Parameters:
    ///   - address: host and port of the proxy.
    ///   - authorityFolder: where the certificate authority is, which the browser trusts by its key alone.
    /// - Throws: ``CommandFailure`` where there is no browser, no display, or no authority.
    init(page: String, proxy address: String, authorityFolder: String?, hasNoSandbox: Bool) throws {
        var options: BrowserOptions
        do throws(BrowserFailure) {
            options = BrowserOptions(executable: try BrowserExecutable.find())
        } catch {
            throw CommandFailure(status: .unavailable, message: error.message)
        }
        do {
            let folder = try AuthorityFolder.path(given: authorityFolder)
            let key = try CertificateAuthority.open(in: folder).keyHash
            options.proxy = BrowserOptions.Proxy(address: address, trustedKeys: [key])
        } catch {
            throw CommandFailure(status: .unavailable, message: "the certificate authority can't be used: \(error)")
        }
        options.startPage = page
        options.hasNoSandbox = hasNoSandbox
        let ready = DispatchSemaphore(value: 0)
        let given = options
        DispatchQueue.global(qos: .userInitiated).async { [self] in
            show(given, ready)
            end.signal()
        }
        ready.wait()
        if let message = failure.withLock({ $0 }) { throw CommandFailure(status: .unavailable, message: message) }
    }

    /// Shows the window until it is closed.
    private func show(_ options: BrowserOptions, _ ready: DispatchSemaphore) {
        let window: BrowserWindow
        do throws(BrowserFailure) {
            window = try BrowserWindow(options, interruption: interruption)
        } catch {
            failure.withLock { $0 = error.message }
            ready.signal()
            return
        }
        ready.signal()
        do throws(BrowserFailure) {
            try window.wait()
        } catch {
            note(error)
        }
        window.close()
        // A program that ends already would take it for the second signal, which waits for nothing.
        if !isClosing.load(ordering: .relaxed) { kill(getpid(), SIGTERM) }
    }

    private func note(_ error: BrowserFailure) {
        guard error.kind != .interrupted else { return }
        StandardStream.error.writeLine("subproxy: error: \(error.message)")
    }

    /// Closes the window, and waits until the browser's folder is gone.
    func close() {
        isClosing.store(true, ordering: .relaxed)
        interruption.interrupt()
        end.wait()
    }
}

/// The window of a replay, which is opened when the proxy serves, and closed when it ends.
final class WindowHolder: Sendable {
    private let window = Mutex<ReplayWindow?>(nil)

    func open(_ page: String, _ proxy: RunningProxy, authorityFolder: String?, hasNoSandbox: Bool) throws {
        let address = proxy.localURL.split(separator: "/").last.map(String.init) ?? ""
        let opened = try ReplayWindow(
            page: page, proxy: address, authorityFolder: authorityFolder, hasNoSandbox: hasNoSandbox)
        window.withLock { $0 = opened }
    }

    func close() { window.withLock { $0.take() }?.close() }
}
