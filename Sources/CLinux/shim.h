#ifndef SUBPROXY_CLINUX_SHIM_H
#define SUBPROXY_CLINUX_SHIM_H

// What Swift's Glibc module does not show: it is built without _GNU_SOURCE, and variadic functions can't be imported.
// Functions return the negated errno where the call fails, so that no caller reads errno late.

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/stat.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
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

// The first 48 bytes of struct sched_attr (sched_setattr(2)).
struct linux_scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

// How the thread that calls is scheduled; false where it has no slices, which SCHED_OTHER and SCHED_BATCH have.
static inline int linux_scheduling(struct linux_scheduling *attributes) {
    if (syscall(SYS_sched_getattr, 0, attributes, 48u, 0u) != 0) return 0;
    return attributes->policy == 0 || attributes->policy == 3;
}

// The slices of the processor that the thread that calls gets, in nanoseconds; 0 before Linux 6.12, or where it has none.
static inline uint64_t linux_slice(void) {
    struct linux_scheduling attributes = {0};
    return linux_scheduling(&attributes) ? attributes.runtime : 0;
}

// Gives the thread that calls slices of so many nanoseconds; 0 for the system's own. Its nice value is set too. Before
// Linux 6.12 the slices stay as they are.
static inline int linux_set_slice(int nice, uint64_t slice) {
    struct linux_scheduling attributes = {0};
    if (!linux_scheduling(&attributes)) return -EINVAL;
    struct linux_scheduling wanted = {.size = 48, .policy = attributes.policy, .nice = nice, .runtime = slice};
    return syscall(SYS_sched_setattr, 0, &wanted, 0u) == 0 ? 0 : -errno;
}

// The RESOLVE_ flags of a look-up that stays below its folder and follows no link.
static inline uint64_t linux_resolve_strictly_beneath(void) {
    return RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
}

// What stands at a path: the parts of statx(2)'s answer that tell one state of a file from another.
struct linux_file_state {
    uint64_t device, inode, size;
    int64_t modified_seconds, changed_seconds;
    uint32_t modified_nanoseconds, changed_nanoseconds;
};

// The state of what a path leads to, below a directory, as stat(2) has it. A link at its end is not followed.
//
// AT_STATX_DONT_SYNC makes no difference to a local file system; of others the state may be an old one.
static inline int linux_state(int directory, const char *path, int flags, struct linux_file_state *state) {
    const unsigned int no_follow = 0x100, no_automount = 0x800, not_synchronised = 0x4000;
    struct statx found;
    long result = syscall(
        SYS_statx, directory, path, (unsigned int)flags | no_follow | no_automount | not_synchronised,
        STATX_BASIC_STATS, &found);
    if (result != 0) return -errno;
    // As the kernel gives it to stat(2).
    state->device = (found.stx_dev_minor & 0xff) | ((uint64_t)found.stx_dev_major << 8)
                    | ((uint64_t)(found.stx_dev_minor & ~0xffu) << 12);
    state->inode = found.stx_ino;
    state->size = found.stx_size;
    state->modified_seconds = found.stx_mtime.tv_sec;
    state->modified_nanoseconds = found.stx_mtime.tv_nsec;
    state->changed_seconds = found.stx_ctime.tv_sec;
    state->changed_nanoseconds = found.stx_ctime.tv_nsec;
    return 0;
}

// Opens what a path leads to, as far as the kernel has it in memory, so that its state can be asked for: it is neither read
// from a disk nor asked for over a network. -EAGAIN where that would be needed, -EINVAL before Linux 5.12, which knows
// nothing of RESOLVE_CACHED. The flags are those of open(2) beside O_PATH.
static inline int linux_open_cached(int directory, const char *path, int flags, uint64_t resolve) {
    const uint64_t resolve_cached = 0x20;
    struct open_how how = {
        .flags = (uint64_t)(unsigned int)(linux_o_path | flags), .mode = 0, .resolve = resolve | resolve_cached};
    long descriptor = syscall(SYS_openat2, directory, path, &how, sizeof how);
    // A rename anywhere in the file system makes the kernel give a look up that it had begun: asked again, it answers.
    if (descriptor < 0 && errno == EAGAIN) descriptor = syscall(SYS_openat2, directory, path, &how, sizeof how);
    return descriptor < 0 ? -errno : (int)descriptor;
}

// When what stands at a path was made (statx(2), STATX_BTIME), in nanoseconds since 1970; 0 where the file system does not
// keep it, or nothing stands there. A link at the end of the path is not followed.
static inline int64_t linux_birth_time(const char *path) {
    const int from_working_folder = -100, no_follow = 0x100;
    struct statx found;
    if (syscall(SYS_statx, from_working_folder, path, no_follow, STATX_BTIME, &found) != 0) return 0;
    if ((found.stx_mask & STATX_BTIME) == 0) return 0;
    return (int64_t)((uint64_t)found.stx_btime.tv_sec * 1000000000u + found.stx_btime.tv_nsec);
}

// copy_file_range(2): from one file's position, which moves on, to another's, without the bytes coming to this process.
static inline int64_t linux_copy(int from, int64_t *from_position, int to, int64_t to_position, size_t count) {
    long copied = syscall(SYS_copy_file_range, from, from_position, to, &to_position, count, 0);
    return copied < 0 ? -errno : copied;
}

// getrandom(2), whose header is in no module of Swift's: up to 256 bytes come whole.
static inline int64_t linux_random(void *bytes, size_t count) { return syscall(SYS_getrandom, bytes, count, 0); }

// renameat2(2), RENAME_EXCHANGE: two paths change what they name, at once.
static inline int linux_exchange(const char *path, const char *other) {
    const int from_working_folder = -100;
    const unsigned int exchange = 2;
    long result = syscall(SYS_renameat2, from_working_folder, path, from_working_folder, other, exchange);
    return result < 0 ? -errno : 0;
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

// fstatfs(2): whether a descriptor's file system keeps the states of its files in memory and on a disk of this machine,
// so that to ask for a state in memory never waits, and it is what every process sees. One that isn't in this list may
// be as good; nothing is known of it.
static inline int linux_is_local_filesystem(int descriptor) {
    struct statfs status;
    if (fstatfs(descriptor, &status) != 0) return 0;
    switch ((uint32_t)status.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case F2FS_SUPER_MAGIC:
        return 1;
    default:
        return 0;
    }
}

// rtnetlink(7), RTM_GETROUTE: whether what is sent to an address now comes to this machine itself, whichever of its
// interfaces or routes makes it so: 1 or 0. The kernel answers at once; an answer that is not there is an error.
//
// The address is one of 4 bytes (IPv4) or of 16 (IPv6). The header of sockets would give this module types that are
// Glibc's in Swift, so its functions are called by their numbers.
static inline int linux_is_delivered_here(const void *address, size_t length) {
    const int ipv4 = 2, ipv6 = 10, netlink = 16, raw_closed_by_exec = 3 | 02000000, not_blocking = 0x40;
    struct {
        struct nlmsghdr header;
        struct rtmsg route;
        struct rtattr attribute;
        unsigned char address[16];
    } request;
    if (length != 4 && length != 16) return -EAFNOSUPPORT;
    memset(&request, 0, sizeof request);
    request.header.nlmsg_len = (uint32_t)(offsetof(__typeof__(request), address) + length);
    request.header.nlmsg_type = RTM_GETROUTE;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.route.rtm_family = (unsigned char)(length == 4 ? ipv4 : ipv6);
    request.route.rtm_dst_len = (unsigned char)(length * 8);
    request.attribute.rta_type = RTA_DST;
    request.attribute.rta_len = (unsigned short)RTA_LENGTH(length);
    memcpy(request.address, address, length);

    int descriptor = (int)syscall(SYS_socket, netlink, raw_closed_by_exec, NETLINK_ROUTE);
    if (descriptor < 0) return -errno;
    union {
        struct nlmsghdr header;
        unsigned char bytes[4096];
    } answer;
    long count = syscall(SYS_sendto, descriptor, &request, (size_t)request.header.nlmsg_len, 0, NULL, 0);
    if (count >= 0) count = syscall(SYS_recvfrom, descriptor, &answer, sizeof answer, not_blocking, NULL, NULL);
    int error = count < 0 ? errno : 0;
    close(descriptor);
    if (error != 0) return -error;

    if (answer.header.nlmsg_type == RTM_NEWROUTE && count >= (long)NLMSG_LENGTH(sizeof(struct rtmsg)))
        return ((struct rtmsg *)NLMSG_DATA(&answer.header))->rtm_type == RTN_LOCAL;
    if (answer.header.nlmsg_type != NLMSG_ERROR || count < (long)NLMSG_LENGTH(sizeof(struct nlmsgerr))) return -EPROTO;
    error = ((struct nlmsgerr *)NLMSG_DATA(&answer.header))->error;
    switch (-error) {
    // No route, a route that refuses (blackhole, prohibit, unreachable), or no such family: nothing is sent at all.
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EACCES:
    case EINVAL:
    case EOPNOTSUPP:
    case EAFNOSUPPORT:
        return 0;
    default:
        return error < 0 ? error : -EPROTO;
    }
}

// sock_diag(7), SOCK_DIAG_BY_FAMILY: whose the socket of a TCP connection is, as seen from its own end: its address and
// port come first. 0, with the user's number in this process's namespace; -ENOENT where the kernel has no such socket
// that somebody holds open, or knows nothing of the question.
//
// Addresses are of 4 bytes (IPv4) or of 16 (IPv6), in network order; ports are numbers.
static inline int linux_socket_user(
    const void *source, uint16_t source_port, const void *destination, uint16_t destination_port, size_t length,
    uint32_t *user) {
    const int ipv4 = 2, ipv6 = 10, netlink = 16, raw_closed_by_exec = 3 | 02000000, not_blocking = 0x40, tcp = 6;
    // TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2 and TCP_CLOSE_WAIT: somebody may still read from it.
    const unsigned int readable = 1u << 1 | 1u << 4 | 1u << 5 | 1u << 8;
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 question;
    } request;
    if (length != 4 && length != 16) return -EAFNOSUPPORT;
    memset(&request, 0, sizeof request);
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.question.sdiag_family = (unsigned char)(length == 4 ? ipv4 : ipv6);
    request.question.sdiag_protocol = (unsigned char)tcp;
    request.question.idiag_states = readable;
    request.question.id.idiag_sport = (uint16_t)(source_port << 8 | source_port >> 8);
    request.question.id.idiag_dport = (uint16_t)(destination_port << 8 | destination_port >> 8);
    memcpy(request.question.id.idiag_src, source, length);
    memcpy(request.question.id.idiag_dst, destination, length);
    request.question.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    request.question.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;

    int descriptor = (int)syscall(SYS_socket, netlink, raw_closed_by_exec, NETLINK_SOCK_DIAG);
    if (descriptor < 0) return -errno;
    union {
        struct nlmsghdr header;
        unsigned char bytes[4096];
    } answer;
    long count = syscall(SYS_sendto, descriptor, &request, sizeof request, 0, NULL, 0);
    if (count >= 0) count = syscall(SYS_recvfrom, descriptor, &answer, sizeof answer, not_blocking, NULL, NULL);
    int error = count < 0 ? errno : 0;
    close(descriptor);
    if (error != 0) return -error;

    if (answer.header.nlmsg_type == NLMSG_ERROR && count >= (long)NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
        error = ((struct nlmsgerr *)NLMSG_DATA(&answer.header))->error;
        return error < 0 ? error : -EPROTO;
    }
    if (answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY
        || count < (long)NLMSG_LENGTH(sizeof(struct inet_diag_msg))) return -EPROTO;
    const struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
    // A listener of that port stands in for a connection that is gone, and a socket that nobody holds open any more
    // (inode 0) is nobody's, which the kernel calls root's.
    if (found->idiag_state > 15 || (readable >> found->idiag_state & 1) == 0 || found->idiag_inode == 0) return -ENOENT;
    if (found->id.idiag_sport != request.question.id.idiag_sport
        || found->id.idiag_dport != request.question.id.idiag_dport) return -ENOENT;
    *user = found->idiag_uid;
    return 0;
}

// Bytes of a TCP socket that were written and that the other side's system has not acknowledged (SIOCOUTQ of tcp(7)).
static inline int linux_untaken_bytes(int descriptor) {
    int count = 0;
    return syscall(SYS_ioctl, descriptor, (unsigned long)SIOCOUTQ, &count) < 0 ? -errno : count;
}

#endif
