import Glibc
import Testing

@testable import Files

struct FileRefusalTests {
    @Test(
        "An errno becomes the refusal that says what to do",
        arguments: [
            (ENOENT, FileRefusal.notFound), (ENOTDIR, .notFound), (ELOOP, .symbolicLink), (EXDEV, .outsideRoot),
            (EACCES, .permissionDenied), (EPERM, .permissionDenied), (ENAMETOOLONG, .invalidName),
            (EMFILE, .tooManyOpenFiles), (ENFILE, .tooManyOpenFiles), (EISDIR, .notRegularFile(.directory)),
            (ENXIO, .notRegularFile(.socket)), (EIO, .io(errno: EIO)), (ESTALE, .io(errno: ESTALE)),
        ])
    func errnoMapping(code: CInt, refusal: FileRefusal) {
        #expect(FileRefusal(errno: code) == refusal)
    }

    @Test("Descriptions are fit for a log")
    func descriptions() {
        #expect("\(FileRefusal.notRegularFile(.fifo))" == "not a regular file but a named pipe")
        #expect("\(FileRefusal.io(errno: EIO))" == "Input/output error (errno 5)")
        #expect("\(FileRefusal.outsideRoot)" == "the path leads out of the root folder")
    }
}
