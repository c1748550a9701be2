// Typed wrappers of libcurl's variadic functions: Swift imports no variadic C function, and each wrapper fixes the one
// type that an option takes.
#ifndef SUBPROXY_CCURL_SHIM_H
#define SUBPROXY_CCURL_SHIM_H

#include <curl/curl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// Options of type CURLOPTTYPE_LONG.
static inline CURLcode subproxy_easy_setopt_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

// Options of type CURLOPTTYPE_OFF_T.
static inline CURLcode subproxy_easy_setopt_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

// Options of type CURLOPTTYPE_STRINGPOINT, which libcurl copies.
static inline CURLcode subproxy_easy_setopt_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

// Options of type CURLOPTTYPE_OBJECTPOINT and CBPOINT, which libcurl keeps as they are.
static inline CURLcode subproxy_easy_setopt_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

// Lists, which libcurl keeps and the caller frees.
static inline CURLcode subproxy_easy_setopt_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

// CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION, CURLOPT_READFUNCTION.
static inline CURLcode subproxy_easy_setopt_data(
    CURL *handle, CURLoption option, size_t (*callback)(char *, size_t, size_t, void *)) {
    return curl_easy_setopt(handle, option, callback);
}

// CURLOPT_OPENSOCKETFUNCTION.
static inline CURLcode subproxy_easy_setopt_opensocket(
    CURL *handle, curl_socket_t (*callback)(void *, curlsocktype, struct curl_sockaddr *)) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, callback);
}

// CURLOPT_TRAILERFUNCTION.
static inline CURLcode subproxy_easy_setopt_trailer(
    CURL *handle, int (*callback)(struct curl_slist **, void *)) {
    return curl_easy_setopt(handle, CURLOPT_TRAILERFUNCTION, callback);
}

static inline CURLcode subproxy_easy_getinfo_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode subproxy_easy_getinfo_socket(CURL *handle, CURLINFO info, curl_socket_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode subproxy_easy_getinfo_pointer(CURL *handle, CURLINFO info, char **value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLMcode subproxy_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode subproxy_multi_setopt_pointer(CURLM *multi, CURLMoption option, void *value) {
    return curl_multi_setopt(multi, option, value);
}

// CURLMOPT_SOCKETFUNCTION.
static inline CURLMcode subproxy_multi_setopt_socket(
    CURLM *multi, int (*callback)(CURL *, curl_socket_t, int, void *, void *)) {
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
}

// CURLMOPT_TIMERFUNCTION.
static inline CURLMcode subproxy_multi_setopt_timer(CURLM *multi, int (*callback)(CURLM *, long, void *)) {
    return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
}

// eventfd(2) and epoll(7): no module of Swift's has their headers, and their flags are enumerations with casts.
static inline int subproxy_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline int subproxy_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

// Adds, changes (events not 0) or removes (events 0) a descriptor; a number that was used anew is set right.
static inline void subproxy_epoll_watch(int epoll, int descriptor, int is_known, uint32_t events) {
    struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
    if (epoll_ctl(epoll, is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event) != 0)
        epoll_ctl(epoll, is_known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event);
}

static inline void subproxy_epoll_forget(int epoll, int descriptor) {
    struct epoll_event event = {0};
    epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event);
}

static const uint32_t subproxy_epoll_in = EPOLLIN;
static const uint32_t subproxy_epoll_out = EPOLLOUT;
static const uint32_t subproxy_epoll_broken = EPOLLERR | EPOLLHUP;

// Constants that are macros of casts, which Swift does not import.
static const curl_socket_t subproxy_bad_socket = CURL_SOCKET_BAD;
static const curl_socket_t subproxy_timeout_socket = CURL_SOCKET_TIMEOUT;
static const size_t subproxy_write_pause = CURL_WRITEFUNC_PAUSE;
static const size_t subproxy_read_pause = CURL_READFUNC_PAUSE;
static const size_t subproxy_read_abort = CURL_READFUNC_ABORT;
static const long subproxy_global_all = CURL_GLOBAL_ALL;

#endif
