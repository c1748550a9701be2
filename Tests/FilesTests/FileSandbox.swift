import Glibc
import NIOCore
import Synchronization

@testable import Files

/// A folder of a test's own, removed with all that is in it when the last reference goes.
final class FileSandbox: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/substitution-files-XXXXXX".utf8CString)
        path =
            mkdtemp(&template) == nil
            ? "/nonexistent" : String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit { FileSandbox.removeTree(path) }

    var root: FolderRoot { FolderRoot(path: path) }

    func at(_ name: String) -> String { path + "/" + name }

    /// Writes in place, as an editor that truncates does; makes the folders above.
    func write(_ content: String, to name: String) { write(Array(content.utf8), to: name) }

    func write(_ content: [UInt8], to name: String) {
        makeFoldersAbove(name)
        let descriptor = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        _ = content.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }

    func append(_ content: String, to name: String) {
        let descriptor = open(at(name), O_WRONLY | O_APPEND | O_CLOEXEC)
        _ = Array(content.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }

    /// Sets the length; a longer one leaves a hole.
    func truncate(_ name: String, to size: Int) {
        if access(at(name), F_OK) != 0 { write("", to: name) }
        _ = Glibc.truncate(at(name), size)
    }

    func makeFolder(_ name: String) {
        makeFoldersAbove(name)
        mkdir(at(name), 0o755)
    }

    func link(_ name: String, to target: String) {
        makeFoldersAbove(name)
        symlink(target, at(name))
    }

    /// Waits until a change bears another time than those before it: before Linux 6.13 they come in steps of some
    /// milliseconds, and a file that is written anew within one looks as it did.
    func passTick() {
        let before = identity(".").changed
        repeat {
            usleep(1000)
            write("", to: "tick")
            remove("tick")
        } while identity(".").changed == before
    }

    func rename(_ old: String, to new: String) { _ = Glibc.rename(at(old), at(new)) }

    /// Swaps two entries in one step (renameat2(2), whose flag Swift's Glibc does not show).
    func exchange(_ one: String, _ other: String) {
        typealias Rename = @convention(c) (CInt, UnsafePointer<CChar>, CInt, UnsafePointer<CChar>, CUnsignedInt) -> CInt
        guard let function = dlsym(nil, "renameat2") else { return }
        _ = unsafeBitCast(function, to: Rename.self)(AT_FDCWD, at(one), AT_FDCWD, at(other), 2)
    }

    func remove(_ name: String) { unlink(at(name)) }

    /// Sets the time of modification, which touch(1) can; the time of change becomes now.
    func setModified(_ name: String, seconds: Int, nanoseconds: Int = 0) {
        let time = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
        _ = [time, time].withUnsafeBufferPointer { utimensat(AT_FDCWD, at(name), $0.baseAddress, 0) }
    }

    func identity(_ name: String) -> FileIdentity {
        var status = stat()
        lstat(at(name), &status)
        return FileIdentity(status)
    }

    /// How many of the process's descriptors are of files in the sandbox.
    var openDescriptors: Int {
        FileSandbox.names(in: "/proc/self/fd").count { name in
            var target = [CChar](repeating: 0, count: 4096)
            let length = readlink("/proc/self/fd/" + name, &target, target.count)
            let bytes = target.prefix(max(0, length)).map(UInt8.init(bitPattern:))
            return bytes.starts(with: path.utf8)
        }
    }

    private func makeFoldersAbove(_ name: String) {
        var folder = path
        for component in name.split(separator: "/").dropLast() {
            folder += "/" + component
            mkdir(folder, 0o755)
        }
    }

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    private static func removeTree(_ path: String) {
        if unlink(path) == 0 { return }
        for name in names(in: path) { removeTree(path + "/" + name) }
        rmdir(path)
    }
}

/// A clock that a test sets; starts a minute ahead, so that all files are settled.
final class SettableClock: Sendable {
    private let value: Atomic<UInt64>

    init() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        value = Atomic(UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec) &+ 60_000_000_000)
    }

    func set(_ time: FileTime) { value.store(UInt64(time.nanosecondsSinceEpoch), ordering: .relaxed) }

    func read() -> UInt64 { value.load(ordering: .relaxed) }
}

/// A list that threads add to.
final class Collected<Element: Sendable>: Sendable {
    private let list = Mutex<[Element]>([])

    func add(_ element: Element) { list.withLock { $0.append(element) } }

    var all: [Element] { list.withLock { $0 } }
}

/// Runs a function on threads of their own and waits for all of them.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let threads = (0..<count).map { startThread($0, body) }
    for thread in threads { pthread_join(thread, nil) }
}

func startThread(_ index: Int, _ body: @escaping @Sendable (Int) -> Void) -> pthread_t {
    final class Work {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }
    var thread = pthread_t()
    let work = Unmanaged.passRetained(Work { body(index) })
    pthread_create(
        &thread, nil,
        { context in
            if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run() }
            return nil
        }, work.toOpaque())
    return thread
}

extension LoadedFile {
    /// The content of the file itself as text; nil where it is not in memory.
    var text: String? { variants.first?.body.map { String(buffer: $0) } }

    var tags: [String] { variants.map { String(decoding: $0.etag, as: UTF8.self) } }
}

extension FileCheck {
    var name: String {
        switch self {
        case .current: "current"
        case .changed(let file): "changed: \(file.text ?? "streamed")"
        case .gone(let refusal): "gone: \(refusal)"
        }
    }
}

extension String {
    var bytes: [UInt8] { Array(utf8) }
}
