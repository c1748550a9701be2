// The bare limit: what answering costs when nothing is decided. Reads, counts heads, writes the same ready bytes for
// each. Also the origin of the other cases, since it is the cheapest there is.
//
//     limit PORT RESPONSE COUNTER [close | COPIES]
//
// RESPONSE is a file with a whole response, head and body. COUNTER is a file of 8 bytes that holds the number of heads
// seen, little-endian, at any time. With "close" a request that says "Connection: close" gets its connection closed. With
// a number there are so many copies of the response in memory, and a request gets the one whose number is the digits
// behind the last slash of its target: as far from the processor as those of a server that has so many responses. Then
// each read has to be one whole request.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { connections = 1 << 16, events = 512, vectors = 64, input = 64 * 1024 };

struct connection {
    uint64_t owed;     // bytes of responses that are still to be written
    const char *of;    // the copy that they are bytes of
    uint32_t line;     // bytes of the line that has begun
    uint8_t closing;   // close once nothing is owed
    uint8_t waiting;   // the socket is watched for being writable
};

static struct connection table[connections];
static char buffer[input];
static const char *response;
static size_t size;
static volatile uint64_t *counter;
static size_t copies = 1;
static int queue, obey_close;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void *map(const char *path, int writable, size_t *length) {
    int fd = open(path, writable ? O_RDWR : O_RDONLY);
    struct stat state;
    if (fd < 0 || fstat(fd, &state) < 0 || state.st_size == 0) fail(path);
    *length = (size_t)state.st_size;
    void *bytes = mmap(NULL, *length, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (bytes == MAP_FAILED) fail(path);
    close(fd);
    return bytes;
}

static void watch(int fd, int operation, uint32_t what) {
    struct epoll_event event = {.events = what, .data.fd = fd};
    if (epoll_ctl(queue, operation, fd, &event) < 0) fail("epoll_ctl");
}

static void end(int fd) {
    table[fd] = (struct connection){0};
    close(fd);
}

// The number of heads that end in the bytes, that is, of lines with nothing in front of their CRLF.
static uint64_t heads(struct connection *c, const char *bytes, size_t count) {
    const char *at = bytes, *stop = bytes + count;
    uint64_t found = 0;
    for (const char *newline; at < stop && (newline = memchr(at, '\n', (size_t)(stop - at))); at = newline + 1) {
        found += c->line + (uint32_t)(newline - at) == 1;
        c->line = 0;
    }
    c->line += (uint32_t)(stop - at);
    return found;
}

static void flush(int fd) {
    struct connection *c = &table[fd];
    while (c->owed > 0) {
        struct iovec parts[vectors];
        int count = 0;
        uint64_t left = c->owed;
        size_t offset = (size - left % size) % size;
        while (left > 0 && count < vectors) {
            size_t length = size - offset;
            parts[count++] = (struct iovec){(void *)(c->of + offset), length};
            left -= length;
            offset = 0;
        }
        ssize_t written = count == 1 ? write(fd, parts[0].iov_base, parts[0].iov_len) : writev(fd, parts, count);
        if (written < 0) {
            if (errno != EAGAIN) return end(fd);
            if (!c->waiting) watch(fd, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            c->waiting = 1;
            return;
        }
        c->owed -= (uint64_t)written;
    }
    if (c->closing) return end(fd);
    if (c->waiting) watch(fd, EPOLL_CTL_MOD, EPOLLIN);
    c->waiting = 0;
}

// The digits behind the last slash of the target in the buffer's first line.
static size_t number(size_t count) {
    const char *stop = memchr(buffer, '\n', count), *version, *slash;
    if (!stop || !(version = memrchr(buffer, ' ', (size_t)(stop - buffer)))) return 0;
    if (!(slash = memrchr(buffer, '/', (size_t)(version - buffer)))) return 0;
    size_t value = 0;
    for (const char *at = slash + 1; *at >= '0' && *at <= '9' && value < 1000000000; at++) value = value * 10 + (size_t)(*at - '0');
    return value;
}

static void receive(int fd) {
    ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return end(fd);
    struct connection *c = &table[fd];
    if (obey_close && memmem(buffer, (size_t)count, "onnection: close", 16)) c->closing = 1;
    uint64_t found = heads(c, buffer, (size_t)count);
    if (found == 0) return;
    *counter += found;
    if (copies > 1 && c->owed > 0) return end(fd);
    c->of = copies > 1 ? response + number((size_t)count) % copies * size : response;
    c->owed += found * size;
    flush(fd);
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    if (argc < 4) return fprintf(stderr, "usage: limit PORT RESPONSE COUNTER [close]\n"), 64;
    size_t length;
    response = map(argv[2], 0, &size);
    counter = map(argv[3], 1, &length);
    obey_close = argc > 4 && strcmp(argv[4], "close") == 0;
    if (argc > 4 && !obey_close) {
        copies = strtoul(argv[4], NULL, 10);
        if (copies == 0 || copies > 1000000) return fprintf(stderr, "COPIES is 1 to 1,000,000\n"), 64;
        char *all = malloc(copies * size);
        if (!all) fail("malloc");
        for (size_t i = 0; i < copies; i++) memcpy(all + i * size, response, size);
        response = all;
    }
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), yes = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0) fail("bind");
    if (listen(listener, 4096) < 0) fail("listen");
    queue = epoll_create1(0);
    watch(listener, EPOLL_CTL_ADD, EPOLLIN);
    for (;;) {
        struct epoll_event ready[events];
        int count = epoll_wait(queue, ready, events, -1);
        for (int i = 0; i < count; i++) {
            int fd = ready[i].data.fd;
            if (fd == listener) {
                for (int next; (next = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
                    if (next >= connections) return fprintf(stderr, "too many connections\n"), 1;
                    setsockopt(next, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
                    watch(next, EPOLL_CTL_ADD, EPOLLIN);
                }
            } else if (ready[i].events & EPOLLOUT) {
                flush(fd);
            } else {
                receive(fd);
            }
        }
    }
}
