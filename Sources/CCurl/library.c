// libcurl's functions that are used here, each handed on to the library, which is opened at the first call of any.
//
// libcurl brings some thirty libraries along, and with them 8 MiB of memory and 6 ms of a start, which a proxy that has
// forwarded nothing yet need not have. A linker can't put that off, dlopen(3) can.
#include "shim.h"

#include <dlfcn.h>
#include <lazy_library.h>
#include <stdarg.h>
#include <stdbool.h>

#define HIDDEN SUBPROXY_HIDDEN

#define FUNCTIONS(EACH) \
    EACH(curl_easy_cleanup) EACH(curl_easy_getinfo) EACH(curl_easy_init) EACH(curl_easy_pause) \
    EACH(curl_easy_setopt) EACH(curl_easy_strerror) EACH(curl_global_init) EACH(curl_multi_add_handle) \
    EACH(curl_multi_cleanup) EACH(curl_multi_info_read) EACH(curl_multi_init) EACH(curl_multi_remove_handle) \
    EACH(curl_multi_setopt) EACH(curl_multi_socket_action) EACH(curl_slist_append) EACH(curl_slist_free_all) \
    EACH(curl_url) EACH(curl_url_cleanup) EACH(curl_url_set) EACH(curl_version)

// Before the macros of <curl/typecheck-gcc.h> hide three of the functions.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

static struct {
#define MEMBER(name) __typeof__(&name) name;
    FUNCTIONS(MEMBER)
} library;

static void find_functions(struct subproxy_lazy_library *lazy) {
#define FIND(name) library.name = (__typeof__(library.name))subproxy_lazy_find(lazy, #name);
    FUNCTIONS(FIND)
}

static struct subproxy_lazy_library lazy = SUBPROXY_LAZY_LIBRARY("libcurl.so.4", find_functions);

static inline bool is_open(void) { return subproxy_lazy_is_open(&lazy); }

HIDDEN const char *subproxy_library_problem(void) { return subproxy_lazy_problem(&lazy); }

HIDDEN void *subproxy_library_symbol(const char *name) { return is_open() ? dlsym(lazy.handle, name) : NULL; }

#define HAND_ON(type, name, parameters, arguments, otherwise) \
    HIDDEN type name parameters { return is_open() ? library.name arguments : otherwise; }
#define HAND_ON_VOID(name, parameters, arguments) \
    HIDDEN void name parameters { if (is_open()) library.name arguments; }

HAND_ON(CURL *, curl_easy_init, (void), (), NULL)
HAND_ON_VOID(curl_easy_cleanup, (CURL * handle), (handle))
HAND_ON(CURLcode, curl_easy_pause, (CURL * handle, int pauses), (handle, pauses), CURLE_FAILED_INIT)
HAND_ON(const char *, curl_easy_strerror, (CURLcode code), (code), lazy.problem)
HAND_ON(CURLcode, curl_global_init, (long flags), (flags), CURLE_FAILED_INIT)
HAND_ON(CURLM *, curl_multi_init, (void), (), NULL)
HAND_ON(CURLMcode, curl_multi_cleanup, (CURLM * multi), (multi), CURLM_INTERNAL_ERROR)
HAND_ON(CURLMcode, curl_multi_add_handle, (CURLM * multi, CURL *handle), (multi, handle), CURLM_INTERNAL_ERROR)
HAND_ON(CURLMcode, curl_multi_remove_handle, (CURLM * multi, CURL *handle), (multi, handle), CURLM_INTERNAL_ERROR)
HAND_ON(CURLMsg *, curl_multi_info_read, (CURLM * multi, int *left), (multi, left), NULL)
HAND_ON(
    CURLMcode, curl_multi_socket_action, (CURLM * multi, curl_socket_t socket, int bits, int *running),
    (multi, socket, bits, running), CURLM_INTERNAL_ERROR)
HAND_ON(
    struct curl_slist *, curl_slist_append, (struct curl_slist * list, const char *text), (list, text), NULL)
HAND_ON_VOID(curl_slist_free_all, (struct curl_slist * list), (list))
HAND_ON(CURLU *, curl_url, (void), (), NULL)
HAND_ON_VOID(curl_url_cleanup, (CURLU * url), (url))
HAND_ON(
    CURLUcode, curl_url_set, (CURLU * url, CURLUPart part, const char *text, unsigned int flags),
    (url, part, text, flags), CURLUE_OUT_OF_MEMORY)
HAND_ON(char *, curl_version, (void), (), lazy.problem)

// All that curl_easy_getinfo gives is given through a pointer.
HIDDEN CURLcode curl_easy_getinfo(CURL *handle, CURLINFO info, ...) {
    if (!is_open()) return CURLE_FAILED_INIT;
    va_list arguments;
    va_start(arguments, info);
    void *value = va_arg(arguments, void *);
    va_end(arguments);
    return library.curl_easy_getinfo(handle, info, value);
}

// The number of an option tells the type of its value (CURLOPTTYPE_LONG and so on, each 10,000 apart).
#define SET(function, handle, option) \
    do { \
        va_list arguments; \
        va_start(arguments, option); \
        __typeof__(function(handle, option)) result; \
        switch ((int)(option) / 10000 * 10000) { \
        case CURLOPTTYPE_LONG: result = function(handle, option, va_arg(arguments, long)); break; \
        case CURLOPTTYPE_OFF_T: result = function(handle, option, va_arg(arguments, curl_off_t)); break; \
        case CURLOPTTYPE_FUNCTIONPOINT: result = function(handle, option, va_arg(arguments, void (*)(void))); break; \
        default: result = function(handle, option, va_arg(arguments, void *)); break; \
        } \
        va_end(arguments); \
        return result; \
    } while (0)

HIDDEN CURLcode curl_easy_setopt(CURL *handle, CURLoption option, ...) {
    if (!is_open()) return CURLE_FAILED_INIT;
    SET(library.curl_easy_setopt, handle, option);
}

HIDDEN CURLMcode curl_multi_setopt(CURLM *multi, CURLMoption option, ...) {
    if (!is_open()) return CURLM_INTERNAL_ERROR;
    SET(library.curl_multi_setopt, multi, option);
}
