#include "lazy_library.h"

#include <dlfcn.h>
#include <stdio.h>

SUBPROXY_HIDDEN void *subproxy_lazy_find(struct subproxy_lazy_library *library, const char *name) {
    void *function = dlsym(library->handle, name);
    if (function == NULL && library->problem[0] == 0)
        snprintf(library->problem, sizeof library->problem, "%s has no %s", library->file, name);
    return function;
}

static void find_all(struct subproxy_lazy_library *library) {
    // Local, so that what it brings along (OpenSSL) and the program's own never see each other; now, so that what is
    // missing is missed here and not in the middle of work. A library that lacked a function stays open: it is the same
    // one that is opened next time.
    library->handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    if (library->handle != NULL) {
        library->find_functions(library);
        return;
    }
    const char *text = dlerror();
    if (text != NULL)
        snprintf(library->problem, sizeof library->problem, "%s", text);
    else
        snprintf(library->problem, sizeof library->problem, "%s can't be opened", library->file);
}

SUBPROXY_HIDDEN bool subproxy_lazy_open(struct subproxy_lazy_library *library) {
    pthread_mutex_lock(&library->lock);
    if (!atomic_load_explicit(&library->is_open, memory_order_relaxed)) {
        library->problem[0] = 0;
        find_all(library);
        if (library->problem[0] == 0) atomic_store_explicit(&library->is_open, true, memory_order_release);
    }
    bool is_open = atomic_load_explicit(&library->is_open, memory_order_relaxed);
    pthread_mutex_unlock(&library->lock);
    return is_open;
}
