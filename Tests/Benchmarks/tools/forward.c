// The limit of forwarding through libcurl: what its multi interface and epoll cost when nothing else is done. One thread
// reads requests with an absolute http URL and without a body, has each sent on, and writes what comes back.
//
//     forward PORT
//
// Fields go on as they came, in both directions; nothing is looked at but what framing needs. Responses are sent when
// they are complete, or 64 KiB of them are here.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { connections = 1 << 16, events = 512, input = 64 * 1024, batch = 64 * 1024 };

struct client {
    int fd, is_busy;        // a transfer is under way
    char *in;               // what was read and not answered
    size_t read;
    char *out;              // what is to be written
    size_t written, filled, room;
    CURL *easy;
    struct curl_slist *fields;
    int is_watched_for_writing, has_body;
};

// By descriptor; libcurl's own are null.
static struct client *table[connections];
static CURLM *multi;
static int queue;
static long timeout = -1;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void watch(int fd, int operation, uint32_t what) {
    struct epoll_event event = {.events = what, .data.fd = fd};
    if (epoll_ctl(queue, operation, fd, &event) < 0) fail("epoll_ctl");
}

static void drop(struct client *client) {
    if (client->is_busy) curl_multi_remove_handle(multi, client->easy);
    curl_easy_cleanup(client->easy);
    curl_slist_free_all(client->fields);
    table[client->fd] = NULL;
    close(client->fd);
    free(client->in);
    free(client->out);
    free(client);
}

static void append(struct client *client, const char *bytes, size_t count) {
    if (client->filled + count > client->room) {
        client->room = (client->filled + count) * 2;
        client->out = realloc(client->out, client->room);
        if (!client->out) fail("realloc");
    }
    memcpy(client->out + client->filled, bytes, count);
    client->filled += count;
}

// Writes what there is; 0 where the client is gone.
static int flush(struct client *client) {
    while (client->written < client->filled) {
        ssize_t count = send(client->fd, client->out + client->written, client->filled - client->written, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) {
            if (!client->is_watched_for_writing) watch(client->fd, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            client->is_watched_for_writing = 1;
            return 1;
        }
        if (count <= 0) return 0;
        client->written += (size_t)count;
    }
    client->written = client->filled = 0;
    if (client->is_watched_for_writing) watch(client->fd, EPOLL_CTL_MOD, EPOLLIN);
    client->is_watched_for_writing = 0;
    return 1;
}

static size_t take_line(char *line, size_t size, size_t count, void *data) {
    (void)size;
    append(data, line, count);
    return count;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *data) {
    (void)size;
    struct client *client = data;
    append(client, bytes, count);
    // A client that is gone is found when it is read from.
    if (client->filled - client->written >= batch) flush(client);
    return count;
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *data, void *known) {
    (void)easy, (void)data;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(queue, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    uint32_t wanted = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    watch(fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, wanted);
    if (!known) curl_multi_assign(multi, fd, &queue);
    return 0;
}

static int set_timer(CURLM *of, long milliseconds, void *data) {
    (void)of, (void)data;
    timeout = milliseconds;
    return 0;
}

// Has the first request of what was read sent on; 0 where it can't be.
static int begin(struct client *client) {
    char *end = memmem(client->in, client->read, "\r\n\r\n", 4);
    if (!end) return client->read < input;
    *end = 0;
    char *line = strstr(client->in, "\r\n"), *target = strchr(client->in, ' ');
    if (!target || strncmp(client->in, "GET http://", 11)) return 0;
    char *stop = strchr(target + 1, ' ');
    if (!stop) return 0;
    *stop = 0;
    curl_slist_free_all(client->fields);
    client->fields = NULL;
    while (line) {
        char *field = line + 2;
        line = strstr(field, "\r\n");
        if (line) *line = 0;
        if (strncasecmp(field, "Host:", 5) && strncasecmp(field, "Proxy-", 6) && strncasecmp(field, "Connection:", 11))
            client->fields = curl_slist_append(client->fields, field);
    }
    curl_easy_setopt(client->easy, CURLOPT_URL, target + 1);
    curl_easy_setopt(client->easy, CURLOPT_HTTPHEADER, client->fields);
    size_t used = (size_t)(end + 4 - client->in);
    memmove(client->in, client->in + used, client->read - used);
    client->read -= used;
    client->is_busy = 1;
    return curl_multi_add_handle(multi, client->easy) == CURLM_OK;
}

static void accept_all(int listener) {
    int fd, on = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        if (fd >= connections) {
            close(fd);
            continue;
        }
        struct client *client = calloc(1, sizeof *client);
        if (!client || !(client->in = malloc(input + 1)) || !(client->easy = curl_easy_init())) fail("malloc");
        client->fd = fd;
        table[fd] = client;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        CURL *easy = client->easy;
        curl_easy_setopt(easy, CURLOPT_PRIVATE, client);
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(easy, CURLOPT_HTTP_TRANSFER_DECODING, 0L);
        curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_line);
        curl_easy_setopt(easy, CURLOPT_HEADERDATA, client);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, client);
        watch(fd, EPOLL_CTL_ADD, EPOLLIN);
    }
}

// What a client has sent, or that it can be written to; 0 where it is gone.
static int serve(struct client *client, uint32_t what) {
    if ((what & EPOLLOUT) && !flush(client)) return 0;
    if (!(what & (EPOLLIN | EPOLLHUP | EPOLLERR))) return 1;
    ssize_t count = read(client->fd, client->in + client->read, input - client->read);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return 0;
    client->read += (size_t)count;
    return client->is_busy || begin(client);
}

static void finish_transfers(void) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        struct client *client = NULL;
        int is_whole = message->data.result == CURLE_OK;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&client);
        curl_multi_remove_handle(multi, message->easy_handle);
        client->is_busy = 0;
        if (!is_whole || !flush(client) || (client->read > 0 && !begin(client))) drop(client);
    }
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: %s PORT\n", arguments[0]);
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    queue = epoll_create1(EPOLL_CLOEXEC);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1])),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (!multi || queue < 0 || listener < 0) fail("setting up");
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 4096) < 0) fail("listening");
    watch(listener, EPOLL_CTL_ADD, EPOLLIN);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 1024L);
    struct epoll_event ready[events];
    int running;
    for (;;) {
        int found = epoll_wait(queue, ready, events, timeout < 0 ? -1 : (int)timeout);
        if (found < 0 && errno != EINTR) fail("epoll_wait");
        if (timeout >= 0 && found <= 0) {
            timeout = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        for (int i = 0; i < found; i++) {
            int fd = ready[i].data.fd;
            uint32_t what = ready[i].events;
            if (fd == listener) {
                accept_all(listener);
            } else if (fd < connections && table[fd]) {
                if (!serve(table[fd], what)) drop(table[fd]);
            } else {
                int flags = (what & EPOLLIN ? CURL_CSELECT_IN : 0) | (what & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                            (what & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
                curl_multi_socket_action(multi, fd, flags, &running);
            }
        }
        // libcurl begins a transfer when its timer, of no time, is due.
        if (timeout == 0) {
            timeout = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        finish_transfers();
    }
}
