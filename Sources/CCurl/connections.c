// What libcurl has no function for: looking at a connection that it keeps, and cutting it off.
#define _GNU_SOURCE
#include "shim.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int (*has_pending)(const void *ssl);

static void find(void) {
    const char *version = curl_version();
    if (version == NULL || strstr(version, "OpenSSL/") == NULL) return;
    has_pending = (int (*)(const void *))subproxy_library_symbol("SSL_has_pending");
}

bool subproxy_has_unread_tls(CURL *handle) {
    struct curl_tlssessioninfo *session = NULL;
    if (curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || session == NULL) return false;
    if (session->backend != CURLSSLBACKEND_OPENSSL || session->internals == NULL) return false;
    pthread_once(&once, find);
    return has_pending != NULL && has_pending(session->internals) != 0;
}

int subproxy_replace(int descriptor, int number) { return dup3(descriptor, number, O_CLOEXEC); }
