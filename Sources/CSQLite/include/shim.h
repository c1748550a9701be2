// Wrappers of what Swift can't call or see of sqlite3.h: variadic functions, and macros that are casts. The functions of
// SQLite are those of library.c, which hand on to the library.
#ifndef SUBPROXY_CSQLITE_SHIM_H
#define SUBPROXY_CSQLITE_SHIM_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

// Opens SQLite unless it is open; what keeps it from being opened, or NULL. All but sqlite3_open_v2, sqlite3_errstr and
// sqlite3_complete take what an open library has made, and are never called without one.
const char *subproxy_sqlite_problem(void);

// SQLITE_DBCONFIG options that take a flag and may tell its state.
int subproxy_sqlite_configure(sqlite3 *database, int option, int value);

// Where a statement went wrong, in bytes; -1 where the library doesn't tell, as those older than 3.38.
int subproxy_sqlite_error_offset(sqlite3 *database);

// How far the log of a database in WAL mode has been copied into the file.
struct subproxy_sqlite_log_progress {
    // Frames that the log has.
    uint32_t frames;
    // Those that are in the file.
    uint32_t copied;
    // Those that the last checkpoint has begun to copy.
    uint32_t tried;
};

// Looks how far it is; false where that can't be told. To be asked of a connection that has read from the database in WAL
// mode, never of another: it would get an index.
bool subproxy_sqlite_log_progress(sqlite3 *database, struct subproxy_sqlite_log_progress *progress);

// Reads the beginning of the main database's file, past the log; false where it can't be read. What is behind its end is 0.
bool subproxy_sqlite_read_file(sqlite3 *database, void *bytes, int count);

// Makes budgets count, from the first connection on; to be called before it is opened.
void subproxy_sqlite_watch_memory(void);

// From here on this thread gets at most so many bytes from SQLite's memory, and none after a time of the monotonic clock,
// in nanoseconds.
void subproxy_sqlite_begin_budget(sqlite3_int64 bytes, sqlite3_uint64 deadline);

// What was exceeded since: 0 for nothing.
enum { SUBPROXY_SQLITE_BYTES = 1, SUBPROXY_SQLITE_TIME = 2 };
int subproxy_sqlite_end_budget(void);

// SQLITE_TRANSIENT: SQLite copies the bytes before it returns.
static inline int subproxy_sqlite_bind_text(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, (const char *)bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int subproxy_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

#endif
