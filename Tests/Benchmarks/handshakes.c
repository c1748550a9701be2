// Shakes hands in TLS 1.3 with a server on 127.0.0.1, one connection after the other on each thread, in full each time.
//
// usage: handshakes PORT NAME SECONDS THREADS [--connect | --connect-only]
//
// --connect sends CONNECT NAME:443 first; --connect-only ends there. A connection ends with close_notify and the
// server's end, so that the server has seen the whole handshake. It prints how many were done, the seconds that all
// took, and the seconds that threads spent in handshakes alone.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int port, threads, connects, shakes = 1;
static const char *name;
static double ends;
static SSL_CTX *context;

struct count {
    long done;
    double shaking;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail(const char *what) {
    perror(what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static int dial(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct timeval limit = {.tv_sec = 20};
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address)) fail("connect");
    return descriptor;
}

static void open_tunnel(int descriptor) {
    char text[1024];
    size_t got = 0;
    int length = snprintf(text, sizeof text, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n", name, name);
    if (write(descriptor, text, (size_t)length) != length) fail("write");
    do {
        ssize_t count = read(descriptor, text + got, sizeof text - 1 - got);
        if (count <= 0) fail("CONNECT");
        got += (size_t)count;
        text[got] = 0;
    } while (!strstr(text, "\r\n\r\n"));
    if (strncmp(text, "HTTP/1.1 200 ", 13)) fail(text);
}

static void shake(int descriptor, struct count *count) {
    char byte;
    SSL *session = SSL_new(context);
    SSL_set_fd(session, descriptor);
    SSL_set_tlsext_host_name(session, name);
    double start = now();
    if (SSL_connect(session) != 1) fail("handshake");
    count->shaking += now() - start;
    SSL_shutdown(session);
    while (SSL_read(session, &byte, 1) > 0) {}
    SSL_free(session);
}

static void *work(void *argument) {
    struct count *count = argument;
    while (now() < ends) {
        int descriptor = dial();
        if (connects) open_tunnel(descriptor);
        if (shakes) shake(descriptor, count);
        // Without TIME_WAIT, or ports run out.
        struct linger none = {.l_onoff = 1};
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        close(descriptor);
        count->done++;
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 5) return 64;
    port = atoi(argv[1]);
    name = argv[2];
    threads = atoi(argv[4]);
    if (argc > 5) {
        connects = 1;
        shakes = strcmp(argv[5], "--connect-only") != 0;
    }
    signal(SIGPIPE, SIG_IGN);
    context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set1_groups_list(context, "X25519");
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    struct count counts[64] = {0};
    pthread_t workers[64];
    if (threads < 1 || threads > 64) return 64;
    double start = now();
    ends = start + atof(argv[3]);
    for (int at = 0; at < threads; at++) pthread_create(&workers[at], NULL, work, &counts[at]);
    struct count all = {0};
    for (int at = 0; at < threads; at++) {
        pthread_join(workers[at], NULL);
        all.done += counts[at].done;
        all.shaking += counts[at].shaking;
    }
    printf("%ld %.6f %.6f\n", all.done, now() - start, all.shaking);
    return 0;
}
