import Database
import Files
import Substitution

/// A database's file below the folder of a map.
struct FolderDatabaseFile: DatabaseFile {
    let folder: FolderRoot
    let relativePath: [UInt8]

    var name: String { String(decoding: relativePath.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self) }

    func look() throws(DatabaseFileProblem) -> DatabaseFileLook {
        do throws(FileRefusal) {
            let identity = try folder.identity(of: relativePath)
            return DatabaseFileLook(
                DatabaseFileIdentity(device: identity.device, inode: identity.inode),
                DatabaseFileStamp(
                    size: Int64(identity.size), modified: FolderDatabaseFile.nanoseconds(identity.modified),
                    changed: FolderDatabaseFile.nanoseconds(identity.changed)))
        } catch {
            throw FolderDatabaseFile.problem(error)
        }
    }

    private static func nanoseconds(_ time: FileTime) -> Int64 {
        time.seconds &* 1_000_000_000 &+ time.nanoseconds
    }

    func path() throws(DatabaseFileProblem) -> String {
        do throws(FileRefusal) { return try folder.location(of: relativePath) } catch {
            throw FolderDatabaseFile.problem(error)
        }
    }

    private static func problem(_ refusal: FileRefusal) -> DatabaseFileProblem {
        refusal == .notFound ? .missing : .refused("\(refusal)")
    }
}

/// Seeds below the folder of a map.
struct FolderSeeds: SeedFiles {
    let folder: FolderRoot
    let paths: [String]

    func read() throws(SeedProblem) -> [SeedFile] {
        var files: [SeedFile] = []
        for path in paths {
            do throws(FileRefusal) {
                files.append(SeedFile(name: path, bytes: try folder.contents(of: Array(path.utf8), upTo: 1 << 30)))
            } catch {
                throw SeedProblem("\(path): \(error)")
            }
        }
        return files
    }

    var state: [UInt64] {
        paths.flatMap { path -> [UInt64] in
            guard let identity = try? folder.identity(of: Array(path.utf8)) else { return [0] }
            return [
                identity.device, identity.inode, UInt64(truncatingIfNeeded: identity.size),
                UInt64(bitPattern: identity.modified.seconds), UInt64(bitPattern: identity.modified.nanoseconds),
            ]
        }
    }
}
