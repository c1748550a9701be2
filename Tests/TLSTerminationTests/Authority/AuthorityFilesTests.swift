import Glibc
import ProxyTestKit
import Synchronization
import Testing

@testable import TLSTermination

@Suite("The authority's files")
struct AuthorityFilesTests {
    @Test("A file is published once: whoever comes second gets what is there")
    func publishing() throws {
        let sandbox = AuthoritySandbox()
        let files = try sandbox.files()
        #expect(try files.contents(.key) == nil)
        #expect(try files.publish([1, 2], as: .key, random: .system) == [1, 2])
        #expect(try files.publish([3], as: .key, random: .system) == [1, 2])
        #expect(try files.contents(.key) == [1, 2])
        #expect(try sandbox.names() == ["ca-key.pem"])
        #expect(sandbox.mode(of: "ca-key.pem") == 0o600)
    }

    @Test("A new folder, those above it and the files have their modes whatever the umask is", arguments: [0, 0o777])
    func umasks(mask: mode_t) throws {
        let sandbox = AuthoritySandbox()
        let path = sandbox.at("above/folder")
        let failure = Mutex<String?>(nil)
        let isDone = Mutex(false)
        Threads.start {
            // unshare(CLONE_FS): the mask would be the whole process's otherwise.
            typealias Unshare = @convention(c) (CInt) -> CInt
            if let unshare = dlsym(nil, "unshare") { _ = unsafeBitCast(unshare, to: Unshare.self)(0x200) }
            umask(mask)
            do { _ = try CertificateAuthority.open(in: path) } catch { failure.withLock { $0 = "\(error)" } }
            isDone.withLock { $0 = true }
        }
        try Wait.until { isDone.withLock { $0 } }
        #expect(failure.withLock { $0 } == nil)
        #expect(sandbox.mode(of: "above") == 0o700)
        #expect(sandbox.mode(of: "above/folder") == 0o700)
        #expect(sandbox.mode(of: "above/folder/ca-key.pem") == 0o600)
        #expect(sandbox.mode(of: "above/folder/ca.pem") == 0o644)
    }

    @Test("What a crash left is swept away, but not while another process has the lock")
    func sweeping() throws {
        let sandbox = AuthoritySandbox()
        sandbox.write("half", to: ".draft-ca-key.pem.0011")
        sandbox.write("kept", to: "notes")
        let other = try sandbox.files()
        #expect(other.folder.tryLock())
        try sandbox.files().sweepDrafts()
        #expect(try sandbox.names() == [".draft-ca-key.pem.0011", "notes"])
        try other.sweepDrafts()
        #expect(try sandbox.names() == ["notes"])
    }

    @Test("A key that others may read is refused", arguments: [0o640, 0o604, 0o610, 0o660, 0o644, 0o700 | 0o001])
    func exposedKey(mode: mode_t) throws {
        let sandbox = AuthoritySandbox()
        sandbox.write("key", to: "ca-key.pem", mode: mode)
        let failure = #expect(throws: AuthorityFailure.self) { try sandbox.files().contents(.key) }
        #expect(failure?.code == .exposed)
        #expect(failure?.description.contains("chmod 600 \(sandbox.at("ca-key.pem"))") == true)
    }

    @Test("A link, a folder, a FIFO and a huge file are no key")
    func otherKinds() throws {
        let code = { (make: (String) throws -> Void) throws -> AuthorityFailure.Code? in
            let sandbox = AuthoritySandbox()
            try make(sandbox.at("ca-key.pem"))
            return #expect(throws: AuthorityFailure.self) { try sandbox.files().contents(.key) }?.code
        }
        #expect(try code { symlink("/etc/passwd", $0) } == .exposed)
        #expect(try code { mkdir($0, 0o700) } == .malformed)
        #expect(try code { mkfifo($0, 0o600) } == .malformed)
        #expect(
            try code { path in
                let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
                ftruncate(descriptor, 1 << 20)
                close(descriptor)
            } == .malformed)
    }

    @Test("Another user's key and folder are refused", .kernel(geteuid() == 0, "root"), arguments: ["ca-key.pem", ""])
    func foreignOwner(name: String) throws {
        let sandbox = AuthoritySandbox()
        sandbox.write("key", to: "ca-key.pem")
        chown(sandbox.at(name), 65_534, 65_534)
        let failure = #expect(throws: AuthorityFailure.self) { try sandbox.files().contents(.key) }
        #expect(failure?.code == .foreignOwner)
    }

    @Test("A folder in which others can replace files is refused", arguments: [0o770, 0o707, 0o720, 0o1777])
    func openFolder(mode: mode_t) throws {
        let sandbox = AuthoritySandbox()
        chmod(sandbox.path, mode)
        let failure = #expect(throws: AuthorityFailure.self) { try sandbox.files() }
        #expect(failure?.code == .exposed)
        #expect(failure?.description.contains("chmod 700 \(sandbox.path)") == true)
    }

    @Test("A folder that can't be made names itself and the reason")
    func impossibleFolder() throws {
        let sandbox = AuthoritySandbox()
        sandbox.write("", to: "file")
        let failure = #expect(throws: AuthorityFailure.self) {
            try AuthorityFolderDescriptor.making(sandbox.at("file/folder"))
        }
        #expect(failure?.code == .system)
        #expect(failure?.message.contains("file/folder") == true)
        #expect(try AuthorityFolderDescriptor(sandbox.at("missing")) == nil)
    }

    @Test("Removing removes both files, and is no error where there are none")
    func removal() throws {
        let sandbox = AuthoritySandbox()
        _ = try sandbox.authority()
        sandbox.write("kept", to: "notes")
        try CertificateAuthority.remove(from: sandbox.path)
        #expect(try sandbox.names() == ["notes"])
        try CertificateAuthority.remove(from: sandbox.path)
        try CertificateAuthority.remove(from: sandbox.at("missing"))
    }
}
