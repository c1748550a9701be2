import Glibc
import Testing

@testable import subproxy

@Suite("Who else can change a map")
struct MapOwnershipTests {
    private func status(_ mode: mode_t, user: uid_t = 0, group: gid_t = 0) -> stat {
        var status = stat()
        status.st_mode = mode
        status.st_uid = user
        status.st_gid = group
        return status
    }

    @Test(
        "Whoever can write a map but root and who runs the program is named",
        arguments: [
            (0o644, 0, 0, nil), (0o644, 1000, 1000, nil), (0o664, 0, 0, nil), (0o664, 1000, 1000, nil),
            (0o644, 1000, 50, nil), (0o664, 1000, 50, "every user of the group 50 can write /d/m"),
            (0o660, 0, 50, "every user of the group 50 can write /d/m"),
            (0o646, 0, 0, "every user of this machine can write /d/m"),
            (0o644, 1001, 0, "/d/m belongs to another user (1001)"),
        ] as [(mode_t, uid_t, gid_t, String?)])
    func file(mode: mode_t, user: uid_t, group: gid_t, text: String?) {
        let file = status(S_IFREG | mode, user: user, group: group)
        let warning = MapOwnership.warning(of: "/d/m", file, in: "/d", status(S_IFDIR | 0o755), user: 1000)
        #expect(warning?.hasPrefix(text ?? "?") == text.map { _ in true })
    }

    @Test(
        "So is who can replace it in its folder",
        arguments: [
            (0o755, 0, 0, nil), (0o775, 0, 0, nil), (0o775, 1000, 1000, nil), (0o1777, 0, 0, nil),
            (0o2775, 0, 50, "every user of the group 50 can replace /d/m"),
            (0o777, 0, 0, "every user of this machine can replace /d/m"),
        ] as [(mode_t, uid_t, gid_t, String?)])
    func folder(mode: mode_t, user: uid_t, group: gid_t, text: String?) {
        let folder = status(S_IFDIR | mode, user: user, group: group)
        let warning = MapOwnership.warning(of: "/d/m", status(S_IFREG | 0o644), in: "/d", folder, user: 1000)
        #expect(warning?.hasPrefix(text ?? "?") == text.map { _ in true })
    }
}
