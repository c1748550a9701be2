// Wrappers of what Swift can't call or see of sqlite3.h: variadic functions, and macros that are casts.
#ifndef SUBPROXY_CSQLITE_SHIM_H
#define SUBPROXY_CSQLITE_SHIM_H

#include <sqlite3.h>

// SQLITE_DBCONFIG options that take a flag and may tell its state.
static inline int subproxy_sqlite_configure(sqlite3 *database, int option, int value) {
    return sqlite3_db_config(database, option, value, (int *)0);
}

// Where a statement went wrong; older libraries don't tell.
static inline int subproxy_sqlite_error_offset(sqlite3 *database) {
#if SQLITE_VERSION_NUMBER >= 3038000
    return sqlite3_error_offset(database);
#else
    return -1;
#endif
}

// SQLITE_TRANSIENT: SQLite copies the bytes before it returns.
static inline int subproxy_sqlite_bind_text(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, (const char *)bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int subproxy_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

#endif
