// A shared library that is opened at its first use, and not with the program: memory and time of a start go to what is
// used alone.
//
// Who wraps one defines functions of the library's names, hidden, which ask `subproxy_lazy_is_open` and hand on.
#ifndef SUBPROXY_CLIBRARY_LAZY_LIBRARY_H
#define SUBPROXY_CLIBRARY_LAZY_LIBRARY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

// Of wrapping functions: or what the library calls of its own could end in them, since the names are the same.
#define SUBPROXY_HIDDEN __attribute__((visibility("hidden")))

struct subproxy_lazy_library {
    // What dlopen(3) is asked for, as "libcurl.so.4".
    const char *file;
    // Looks the functions up with `subproxy_lazy_find`.
    void (*find_functions)(struct subproxy_lazy_library *library);
    pthread_mutex_t lock;
    atomic_bool is_open;
    void *handle;
    // What keeps it from being opened; empty where nothing does.
    char problem[512];
};

#define SUBPROXY_LAZY_LIBRARY(file, find_functions) \
    { file, find_functions, PTHREAD_MUTEX_INITIALIZER, false, (void *)0, "" }

// Opens the library unless it is open; whether it is open. A failure is tried again at the next call: descriptors or
// memory may have been short.
bool subproxy_lazy_open(struct subproxy_lazy_library *library);

// A function of the library, while it is being opened. One that is not there is a problem.
void *subproxy_lazy_find(struct subproxy_lazy_library *library, const char *name);

// One load, where it is open.
static inline bool subproxy_lazy_is_open(struct subproxy_lazy_library *library) {
    return atomic_load_explicit(&library->is_open, memory_order_acquire) || subproxy_lazy_open(library);
}

// Opens the library unless it is open; what keeps it from being opened, or NULL.
static inline const char *subproxy_lazy_problem(struct subproxy_lazy_library *library) {
    return subproxy_lazy_is_open(library) ? (const char *)0 : library->problem;
}

#endif
