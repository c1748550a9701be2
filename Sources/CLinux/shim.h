#ifndef SUBPROXY_CLINUX_SHIM_H
#define SUBPROXY_CLINUX_SHIM_H

// What Swift's Glibc module does not show: it is built without _GNU_SOURCE, and variadic functions can't be imported.
// Functions return the negated errno where the call fails, so that no caller reads errno late.

#include <errno.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

// fcntl.h shows O_PATH under _GNU_SOURCE alone; the value is that of asm-generic/fcntl.h.
static const int linux_o_path = 010000000;

// openat2(2): the C library has no function for it, and syscall(2) is variadic.
static inline int linux_openat2(int directory, const char *path, int flags, uint64_t resolve) {
    struct open_how how = {.flags = (uint64_t)(unsigned int)flags, .mode = 0, .resolve = resolve};
    long descriptor = syscall(SYS_openat2, directory, path, &how, sizeof how);
    return descriptor < 0 ? -errno : (int)descriptor;
}

// The RESOLVE_ flags of a look-up that stays below its folder and follows no link.
static inline uint64_t linux_resolve_strictly_beneath(void) {
    return RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
}

// eventfd(2): its header is in no module of Swift's. Does not block, and is closed by exec.
static inline int linux_eventfd(void) {
    int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

// memfd_create(2): its flags are shown under _GNU_SOURCE alone; the values are those of linux/memfd.h. Kernels before
// 6.3 know nothing of MFD_NOEXEC_SEAL, later ones ask for it.
static inline int linux_memfd(void) {
    const unsigned int closed_by_exec = 1, sealable = 2, never_executable = 8;
    long descriptor = syscall(SYS_memfd_create, "retained", closed_by_exec | sealable | never_executable);
    if (descriptor < 0 && errno == EINVAL)
        descriptor = syscall(SYS_memfd_create, "retained", closed_by_exec | sealable);
    return descriptor < 0 ? -errno : (int)descriptor;
}

// fcntl(2), F_ADD_SEALS: neither length nor content changes any more, nor do the seals. Its header would give this
// module types that are Glibc's in Swift.
static inline int linux_seal(int descriptor) {
    const int add_seals = 1033, seal = 1, shrink = 2, grow = 4, write = 8;
    return syscall(SYS_fcntl, descriptor, add_seals, seal | shrink | grow | write) < 0 ? -errno : 0;
}

// madvise(2), MADV_COLLAPSE: the pages that are mapped become as few as can be. Kernels before 6.1 know nothing of it.
static inline int linux_collapse(void *start, size_t length) {
    const int collapse = 25;
    return syscall(SYS_madvise, start, length, collapse) < 0 ? -errno : 0;
}

// statfs(2): whether a path is on a file system whose files others change without inotify(7) telling.
static inline int linux_is_shared_filesystem(const char *path) {
    struct statfs status;
    if (statfs(path, &status) != 0) return 0;
    switch ((uint32_t)status.f_type) {
    case NFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case CIFS_SUPER_MAGIC:
    case SMB2_SUPER_MAGIC:
    case FUSE_SUPER_MAGIC:
    case V9FS_MAGIC:
        return 1;
    default:
        return 0;
    }
}

#endif
