// Pulls large responses through a proxy as fast as it gives them, at little cost of its own: the bytes of bodies are
// dropped by the kernel (MSG_TRUNC), never copied.
//
//     pull PORT HEAD CONNECTIONS SECONDS [AUTHORITY]
//
// HEAD is a file with a request's head, sent again after each response. With AUTHORITY each connection first asks for a
// tunnel there. Prints bytes of bodies, whole responses, errors and seconds, in one line.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { most = 64, head_limit = 16 * 1024, piece = 1 << 20 };

static char head[head_limit];
static size_t head_size;
static uint64_t bytes, responses, errors;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

// Takes a response's head, looking before it takes so that nothing of the body is taken. Returns the body's length.
static int64_t response(int fd, int has_body) {
    char buffer[head_limit + 1];
    for (;;) {
        ssize_t count = recv(fd, buffer, head_limit, MSG_PEEK);
        if (count <= 0) return -1;
        buffer[count] = 0;
        char *stop = memmem(buffer, (size_t)count, "\r\n\r\n", 4);
        if (!stop) continue;
        size_t length = (size_t)(stop - buffer) + 4;
        if (recv(fd, buffer, length, MSG_WAITALL) != (ssize_t)length) return -1;
        buffer[length] = 0;
        if (strncmp(buffer, "HTTP/1.1 200", 12) && strncmp(buffer, "HTTP/1.0 200", 12)) return -1;
        char *field = strcasestr(buffer, "\r\ncontent-length:");
        if (!has_body) return 0;
        return field ? strtoll(field + 17, NULL, 10) : -1;
    }
}

static int open_connection(int port, const char *authority) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
    if (authority) {
        dprintf(fd, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority);
        if (response(fd, 0) < 0) fail("no tunnel");
    }
    return fd;
}

int main(int argc, char **argv) {
    if (argc < 5) return fprintf(stderr, "usage: pull PORT HEAD CONNECTIONS SECONDS [AUTHORITY]\n"), 64;
    int count = atoi(argv[3]), file = open(argv[2], O_RDONLY);
    ssize_t size = read(file, head, sizeof head);
    if (size <= 0 || count < 1 || count > most) fail(argv[2]);
    head_size = (size_t)size;
    struct pollfd sockets[most];
    uint64_t left[most] = {0};
    for (int i = 0; i < count; i++) {
        sockets[i] = (struct pollfd){.fd = open_connection(atoi(argv[1]), argc > 5 ? argv[5] : NULL), .events = POLLIN};
        if (write(sockets[i].fd, head, head_size) != (ssize_t)head_size) fail("write");
    }
    double begin = now(), stop = begin + atof(argv[4]);
    while (now() < stop && errors == 0) {
        if (poll(sockets, (nfds_t)count, 1000) < 0) fail("poll");
        for (int i = 0; i < count; i++) {
            if (!sockets[i].revents) continue;
            int fd = sockets[i].fd;
            if (left[i] == 0) {
                int64_t length = response(fd, 1);
                if (length <= 0) {
                    errors++;
                    continue;
                }
                left[i] = (uint64_t)length;
            }
            ssize_t got = recv(fd, NULL, left[i] < piece ? left[i] : piece, MSG_TRUNC | MSG_DONTWAIT);
            if (got == 0) errors++;
            if (got <= 0) continue;
            bytes += (uint64_t)got;
            left[i] -= (uint64_t)got;
            if (left[i] > 0) continue;
            responses++;
            if (write(fd, head, head_size) != (ssize_t)head_size) errors++;
        }
    }
    printf("%llu %llu %llu %.6f\n", (unsigned long long)bytes, (unsigned long long)responses,
           (unsigned long long)errors, now() - begin);
    return 0;
}
