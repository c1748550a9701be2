// What preparing a statement may take. SQLite before 3.41 asks nobody while it prepares one, and a view of a few lines can
// stand for millions of others. But it asks for memory all along, and ends the statement where it gets none: so it is
// there that a limit is kept, of bytes and of time.
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define HIDDEN __attribute__((visibility("hidden")))

// The library's own functions.
static sqlite3_mem_methods own;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Of the statement that this thread prepares.
static __thread struct {
    bool is_kept;
    int end;
    unsigned int calls;
    sqlite3_int64 left;
    sqlite3_uint64 deadline;
} budget;

static sqlite3_uint64 now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (sqlite3_uint64)time.tv_sec * 1000000000u + (sqlite3_uint64)time.tv_nsec;
}

// Whether no more memory is given. From then on none is: what is not given once, SQLite may ask for otherwise.
static bool refuses(int size) {
    if (!budget.is_kept) return false;
    if (budget.end != 0) return true;
    budget.left -= size;
    if (budget.left < 0) budget.end = SUBPROXY_SQLITE_BYTES;
    if ((++budget.calls & 63) == 0 && now() > budget.deadline) budget.end = SUBPROXY_SQLITE_TIME;
    return budget.end != 0;
}

static void *allocate(int size) { return refuses(size) ? NULL : own.xMalloc(size); }

static void *reallocate(void *memory, int size) {
    return refuses(budget.is_kept ? size - own.xSize(memory) : 0) ? NULL : own.xRealloc(memory, size);
}

static void release(void *memory) {
    if (budget.is_kept) budget.left += own.xSize(memory);
    own.xFree(memory);
}

// Only a library that nothing has been asked of yet takes other functions: the handle is that of library.c.
static void install(void) {
    void *handle = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == NULL) return;
    int (*configure)(int, ...) = (int (*)(int, ...))dlsym(handle, "sqlite3_config");
    if (configure != NULL && configure(SQLITE_CONFIG_GETMALLOC, &own) == SQLITE_OK && own.xMalloc != NULL) {
        sqlite3_mem_methods watched = own;
        watched.xMalloc = allocate;
        watched.xRealloc = reallocate;
        watched.xFree = release;
        configure(SQLITE_CONFIG_MALLOC, &watched);
    }
    dlclose(handle);
}

HIDDEN void subproxy_sqlite_watch_memory(void) { pthread_once(&once, install); }

HIDDEN void subproxy_sqlite_begin_budget(sqlite3_int64 bytes, sqlite3_uint64 deadline) {
    const sqlite3_int64 most = (sqlite3_int64)1 << 62;
    budget.is_kept = bytes < most || deadline != UINT64_MAX;
    budget.end = 0;
    budget.calls = 0;
    budget.left = bytes < most ? bytes : most;
    budget.deadline = deadline;
}

HIDDEN int subproxy_sqlite_end_budget(void) {
    budget.is_kept = false;
    return budget.end;
}
