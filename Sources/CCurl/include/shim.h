// Typed wrappers of libcurl's variadic functions, which Swift can't call: each fixes the one C type that its options
// take, so that a wrong type is a compiler's error and not a wrong argument. Also the parts of epoll(7) and eventfd(2)
// that the transfer thread needs, and constants whose C type differs between versions of libcurl. The functions of
// libcurl are those of library.c, which hand on to the library.
#ifndef SUBPROXY_CCURL_SHIM_H
#define SUBPROXY_CCURL_SHIM_H

#include <curl/curl.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

// Opens libcurl unless it is open; what keeps it from being opened, or NULL.
const char *subproxy_library_problem(void);

// A function of libcurl or of a library that it uses, once it is open; NULL where there is none of that name.
void *subproxy_library_symbol(const char *name);

// Has every new connection of the handle ask for the state of the certificate, and refuse one that is revoked
// (CURLOPT_SSL_CTX_FUNCTION; RFC 6066 §8). Where libcurl's TLS is not OpenSSL, nothing is asked.
CURLcode subproxy_setopt_refuse_revoked(CURL *handle);

// Whether the TLS of the transfer's connection holds bytes that nobody has read (SSL_has_pending(3)); false without
// TLS.
bool subproxy_has_unread_tls(CURL *handle);

// CURLOPTTYPE_LONG and CURLOPTTYPE_VALUES: a C int in their place is read with garbage in its upper half.
static inline CURLcode subproxy_setopt_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

// CURLOPTTYPE_OFF_T: 64 bits on every platform.
static inline CURLcode subproxy_setopt_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

// CURLOPTTYPE_STRINGPOINT: libcurl copies the text; NULL takes the option back.
static inline CURLcode subproxy_setopt_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

// CURLOPTTYPE_OBJECTPOINT and CURLOPTTYPE_CBPOINT: libcurl keeps the pointer, the caller what it points to.
static inline CURLcode subproxy_setopt_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

// CURLOPTTYPE_SLISTPOINT: libcurl keeps the pointer and changes nothing of the list.
static inline CURLcode subproxy_setopt_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

// CURLOPT_CURLU: libcurl keeps the pointer and copies the URL when the transfer starts.
static inline CURLcode subproxy_setopt_url(CURL *handle, CURLU *value) {
    return curl_easy_setopt(handle, CURLOPT_CURLU, value);
}

// CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION, CURLOPT_READFUNCTION: one signature for the three.
typedef size_t (*subproxy_data_callback)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode subproxy_setopt_data_callback(CURL *handle, CURLoption option, subproxy_data_callback callback) {
    return curl_easy_setopt(handle, option, callback);
}

// CURLOPT_TRAILERFUNCTION.
static inline CURLcode subproxy_setopt_trailer_callback(CURL *handle, curl_trailer_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_TRAILERFUNCTION, callback);
}

// CURLOPT_PREREQFUNCTION.
static inline CURLcode subproxy_setopt_request_callback(CURL *handle, curl_prereq_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}

// CURLOPT_DEBUGFUNCTION.
static inline CURLcode subproxy_setopt_debug_callback(CURL *handle, curl_debug_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, callback);
}

// CURLOPT_OPENSOCKETFUNCTION.
static inline CURLcode subproxy_setopt_open_callback(CURL *handle, curl_opensocket_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, callback);
}

// CURLOPT_CLOSESOCKETFUNCTION.
static inline CURLcode subproxy_setopt_close_callback(CURL *handle, curl_closesocket_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

// The address that CURLOPT_OPENSOCKETFUNCTION is asked about: it may be longer than the `struct sockaddr` that is
// declared, so it must not be copied by Swift.
static inline const void *subproxy_socket_address(const struct curl_sockaddr *address) { return &address->addr; }

// CURLINFO_LONG.
static inline CURLcode subproxy_getinfo_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

// CURLINFO_OFF_T.
static inline CURLcode subproxy_getinfo_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

// CURLINFO_STRING: the text is libcurl's, until the handle is used again.
static inline CURLcode subproxy_getinfo_string(CURL *handle, CURLINFO info, char **value) {
    return curl_easy_getinfo(handle, info, value);
}

// CURLINFO_PRIVATE: declared as a string, used as a pointer.
static inline void *subproxy_getinfo_private(CURL *handle) {
    char *value = NULL;
    return curl_easy_getinfo(handle, CURLINFO_PRIVATE, &value) == CURLE_OK ? (void *)value : NULL;
}

// CURLINFO_ACTIVESOCKET.
static inline CURLcode subproxy_getinfo_socket(CURL *handle, curl_socket_t *value) {
    return curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, value);
}

static inline CURLMcode subproxy_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode subproxy_multi_setopt_pointer(CURLM *multi, CURLMoption option, void *value) {
    return curl_multi_setopt(multi, option, value);
}

// CURLMOPT_SOCKETFUNCTION.
static inline CURLMcode subproxy_multi_setopt_socket_callback(CURLM *multi, curl_socket_callback callback) {
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
}

// CURLMOPT_TIMERFUNCTION.
static inline CURLMcode subproxy_multi_setopt_timer_callback(CURLM *multi, curl_multi_timer_callback callback) {
    return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
}

// The result inside a CURLMSG_DONE message, which is a member of a union.
static inline CURLcode subproxy_message_result(const CURLMsg *message) { return message->data.result; }

// Swift's module of the C library leaves <sys/epoll.h> and <sys/eventfd.h> out.
static inline int subproxy_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline int subproxy_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

// `data` comes back with each event; it is a member of a union.
static inline int subproxy_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data = {.u64 = data}};
    return epoll_ctl(epoll, operation, descriptor, &event);
}

static inline uint64_t subproxy_epoll_data(const struct epoll_event *event) { return event->data.u64; }

// A copy of a descriptor that is not inherited by programs that are started; fcntl(2) is variadic.
static inline int subproxy_duplicate(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 0); }

// Makes `number` another name of what `descriptor` is, and closes what it was before (dup3(2), which Linux alone has).
int subproxy_replace(int descriptor, int number);

// The name that ps(1) and debuggers show for the calling thread, at most 15 bytes; prctl(2) is variadic.
static inline void subproxy_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// Enumerators, macros with casts, and macros that have been int in some versions of libcurl and long in others.
static const uint32_t subproxy_epoll_in = EPOLLIN;
static const uint32_t subproxy_epoll_out = EPOLLOUT;
static const uint32_t subproxy_epoll_broken = EPOLLERR | EPOLLHUP;
static const int subproxy_epoll_add = EPOLL_CTL_ADD;
static const int subproxy_epoll_modify = EPOLL_CTL_MOD;
static const int subproxy_epoll_delete = EPOLL_CTL_DEL;
static const int subproxy_socket_flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
static const curl_socket_t subproxy_bad_socket = CURL_SOCKET_BAD;
static const curl_socket_t subproxy_timeout_socket = CURL_SOCKET_TIMEOUT;
static const size_t subproxy_write_pause = CURL_WRITEFUNC_PAUSE;
static const size_t subproxy_read_pause = CURL_READFUNC_PAUSE;
static const size_t subproxy_read_abort = CURL_READFUNC_ABORT;
static const int subproxy_pause_receiving = CURLPAUSE_RECV;
static const int subproxy_pause_sending = CURLPAUSE_SEND;
static const long subproxy_global_all = CURL_GLOBAL_ALL;
static const long subproxy_http_1_1 = CURL_HTTP_VERSION_1_1;
static const long subproxy_netrc_ignored = CURL_NETRC_IGNORED;
static const long subproxy_tls_1_2 = CURL_SSLVERSION_TLSv1_2;
static const long subproxy_auth_none = CURLAUTH_NONE;

#endif
