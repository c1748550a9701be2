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
    // Pages of the database, by its last commit; 0 where the log has had none.
    uint32_t pages;
    // Bytes of a page.
    uint32_t page_size;
    // Another number with each beginning of the log; 0 before the first frame of the first one.
    uint64_t salts;
    // Commits, counted over all beginnings of the log, from an unknown number on.
    uint32_t commits;
};

// Looks how far it is; false where that can't be told. To be asked of a connection that has read from the database in WAL
// mode, never of another: it would get an index.
bool subproxy_sqlite_log_progress(sqlite3 *database, struct subproxy_sqlite_log_progress *progress);

// Where the header of a database's file can come from.
enum {
    // The log can't be read, or has too many first pages.
    SUBPROXY_SQLITE_UNTOLD,
    // A frame of the log that is in the file, or comes to it.
    SUBPROXY_SQLITE_LOG,
    // From before the log: no first page of it is in the file, though it has some.
    SUBPROXY_SQLITE_BEFORE_LOG,
    // From before the log, which has no first page.
    SUBPROXY_SQLITE_OUTSIDE_LOG,
    // Not from SQLite: the last first page of the log is in the file, and has another.
    SUBPROXY_SQLITE_NOWHERE
};

// Looks for the header of a file, of 100 bytes, in the first pages of its log. For SUBPROXY_SQLITE_BEFORE_LOG the count
// of changes is set that the earliest of them has.
int subproxy_sqlite_find_in_log(
    sqlite3 *database, const struct subproxy_sqlite_log_progress *progress, const void *header, uint32_t *changes);

// Counts the commits that are in the log; -1 where it can't be read, or has more frames than are to be read.
sqlite3_int64 subproxy_sqlite_count_commits(
    sqlite3 *database, const struct subproxy_sqlite_log_progress *progress, uint32_t limit);

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
