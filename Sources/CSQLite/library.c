// SQLite's functions that are used here, each handed on to the library, which is opened with the first database: a proxy
// whose map names none, or has not been asked for one, need not have it.
#include "shim.h"

#include <dlfcn.h>
#include <lazy_library.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HIDDEN SUBPROXY_HIDDEN

#define FUNCTIONS(EACH) \
    EACH(backup_finish) EACH(backup_init) EACH(backup_pagecount) EACH(backup_step) EACH(bind_blob64) \
    EACH(bind_double) EACH(bind_int64) EACH(bind_null) EACH(bind_parameter_count) EACH(bind_parameter_name) \
    EACH(bind_text64) EACH(bind_zeroblob) EACH(busy_handler) EACH(changes64) EACH(clear_bindings) EACH(close_v2) \
    EACH(column_blob) EACH(column_bytes) EACH(column_count) EACH(column_decltype) EACH(column_double) \
    EACH(column_int64) EACH(column_name) EACH(column_origin_name) EACH(column_table_name) EACH(column_text) \
    EACH(column_type) EACH(complete) EACH(create_function_v2) EACH(db_config) EACH(db_readonly) EACH(errmsg) \
    EACH(errstr) EACH(extended_errcode) EACH(file_control) EACH(finalize) EACH(get_autocommit) EACH(last_insert_rowid) EACH(limit) \
    EACH(open_v2) EACH(prepare_v3) EACH(progress_handler) EACH(reset) EACH(result_error_code) EACH(result_int) \
    EACH(result_null) \
    EACH(set_authorizer) EACH(step) EACH(stmt_busy) EACH(stmt_readonly) EACH(table_column_metadata) \
    EACH(total_changes64) EACH(update_hook) EACH(user_data) EACH(value_bytes) EACH(value_int64) EACH(value_text) EACH(value_type)

static struct {
#define MEMBER(name) __typeof__(&sqlite3_##name) name;
    FUNCTIONS(MEMBER)
    int (*error_offset)(sqlite3 *);
} library;

static void find_functions(struct subproxy_lazy_library *lazy) {
#define FIND(name) library.name = (__typeof__(library.name))subproxy_lazy_find(lazy, "sqlite3_" #name);
    FUNCTIONS(FIND)
    library.error_offset = (int (*)(sqlite3 *))dlsym(lazy->handle, "sqlite3_error_offset");
}

static struct subproxy_lazy_library lazy = SUBPROXY_LAZY_LIBRARY("libsqlite3.so.0", find_functions);

static inline bool is_open(void) { return subproxy_lazy_is_open(&lazy); }

HIDDEN const char *subproxy_sqlite_problem(void) { return subproxy_lazy_problem(&lazy); }

HIDDEN int subproxy_sqlite_configure(sqlite3 *database, int option, int value) {
    return library.db_config(database, option, value, (int *)0);
}

HIDDEN int subproxy_sqlite_error_offset(sqlite3 *database) {
    return library.error_offset == NULL ? -1 : library.error_offset(database);
}

static bool has_file(sqlite3 *database, sqlite3_file **file) {
    if (library.file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, file) != SQLITE_OK) return false;
    return *file != NULL && (*file)->pMethods != NULL;
}

HIDDEN bool subproxy_sqlite_read_file(sqlite3 *database, void *bytes, int count) {
    sqlite3_file *file = NULL;
    if (!has_file(database, &file)) return false;
    int code = file->pMethods->xRead(file, bytes, count, 0);
    return code == SQLITE_OK || code == SQLITE_IOERR_SHORT_READ;
}

// A part of the wal-index (https://sqlite.org/walformat.html, "The WAL-Index File Format"), which is in the memory of
// every connection that has read from a database in WAL mode.
static const uint32_t volatile *index_part(sqlite3_file *file, int number) {
    if (file->pMethods->iVersion < 2 || file->pMethods->xShmMap == NULL) return NULL;
    void volatile *part = NULL;
    // Not to be extended: what isn't there stays so.
    int code = file->pMethods->xShmMap(file, number, 32768, 0, &part);
    return code == SQLITE_OK || code == SQLITE_READONLY ? part : NULL;
}

HIDDEN bool subproxy_sqlite_log_progress(sqlite3 *database, struct subproxy_sqlite_log_progress *progress) {
    sqlite3_file *file = NULL;
    if (!has_file(database, &file)) return false;
    const uint32_t volatile *words = index_part(file, 0);
    if (words == NULL) return false;
    // Whoever commits writes the second of two copies, and then the first.
    uint32_t header[12];
    bool is_whole = false;
    for (int attempt = 0; !is_whole && attempt < 1000; attempt++) {
        is_whole = true;
        for (int i = 0; i < 12; i++) header[i] = __atomic_load_n(&words[i], __ATOMIC_ACQUIRE);
        for (int i = 0; i < 12; i++) is_whole &= header[i] == __atomic_load_n(&words[12 + i], __ATOMIC_ACQUIRE);
    }
    if (!is_whole || header[0] != 3007000) return false;
    uint16_t size;
    memcpy(&size, (const char *)header + 14, sizeof size);
    progress->page_size = size == 1 ? 65536 : size;
    progress->commits = header[2];
    progress->frames = header[4];
    progress->pages = header[5];
    memcpy(&progress->salts, &header[8], sizeof progress->salts);
    progress->copied = __atomic_load_n(&words[24], __ATOMIC_ACQUIRE);
    progress->tried = __atomic_load_n(&words[32], __ATOMIC_ACQUIRE);
    return true;
}

enum { FRAME_HEADER = 24, FILE_HEADER = 100 };

static sqlite3_file *log_file(sqlite3 *database) {
    sqlite3_file *log = NULL;
    if (library.file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK) return NULL;
    return log != NULL && log->pMethods != NULL ? log : NULL;
}

// Reads a frame's header, and the beginning of its page; false where there is none of this log.
static bool read_frame(
    sqlite3_file *log, uint32_t frame, const struct subproxy_sqlite_log_progress *progress, unsigned char *bytes,
    int count) {
    enum { LOG_HEADER = 32 };
    sqlite3_int64 offset = LOG_HEADER + (sqlite3_int64)(frame - 1) * (FRAME_HEADER + (sqlite3_int64)progress->page_size);
    return log->pMethods->xRead(log, bytes, FRAME_HEADER + count, offset) == SQLITE_OK &&
        memcmp(bytes + 8, &progress->salts, sizeof progress->salts) == 0;
}

// The pages of frames stand in the wal-index: 4062 of them in its first part, behind 136 bytes, and 4096 in each other.
HIDDEN int subproxy_sqlite_find_in_log(
    sqlite3 *database, const struct subproxy_sqlite_log_progress *progress, const void *header, uint32_t *changes) {
    enum { FIRST = 4062, REST = 4096, MOST = 4096 };
    sqlite3_file *file = NULL, *log = log_file(database);
    if (!has_file(database, &file) || log == NULL) return SUBPROXY_SQLITE_UNTOLD;
    int part = -1;
    const uint32_t volatile *pages = NULL;
    bool has_first_page = false;
    int count_of_first_pages = 0;
    for (uint32_t frame = progress->frames; frame > 0; frame--) {
        uint32_t place = frame <= FIRST ? frame - 1 : (frame - FIRST - 1) % REST;
        int number = frame <= FIRST ? 0 : (int)(1 + (frame - FIRST - 1) / REST);
        if (number != part) {
            pages = index_part(file, number);
            if (pages == NULL) return SUBPROXY_SQLITE_UNTOLD;
            if (number == 0) pages += 34;
            part = number;
        }
        if (__atomic_load_n(&pages[place], __ATOMIC_RELAXED) != 1) continue;
        unsigned char bytes[FRAME_HEADER + FILE_HEADER];
        static const unsigned char first_page[4] = {0, 0, 0, 1};
        if (!read_frame(log, frame, progress, bytes, FILE_HEADER) || memcmp(bytes, first_page, sizeof first_page) != 0)
            return SUBPROXY_SQLITE_UNTOLD;
        if (memcmp(bytes + FRAME_HEADER, header, FILE_HEADER) == 0) return SUBPROXY_SQLITE_LOG;
        // A checkpoint leaves a page out, and counts its frames, where somebody still reads a state before its last frame:
        // then the file has an earlier first page, of the log or from before it.
        if (frame <= progress->copied && !has_first_page) return SUBPROXY_SQLITE_NOWHERE;
        if (++count_of_first_pages > MOST) return SUBPROXY_SQLITE_UNTOLD;
        has_first_page = true;
        const unsigned char *count = bytes + FRAME_HEADER + 24;
        *changes = (uint32_t)count[0] << 24 | (uint32_t)count[1] << 16 | (uint32_t)count[2] << 8 | count[3];
    }
    return has_first_page ? SUBPROXY_SQLITE_BEFORE_LOG : SUBPROXY_SQLITE_OUTSIDE_LOG;
}

HIDDEN sqlite3_int64 subproxy_sqlite_count_commits(
    sqlite3 *database, const struct subproxy_sqlite_log_progress *progress, uint32_t limit) {
    sqlite3_file *log = log_file(database);
    if (log == NULL || progress->frames > limit) return -1;
    sqlite3_int64 commits = 0;
    for (uint32_t frame = 1; frame <= progress->frames; frame++) {
        unsigned char bytes[FRAME_HEADER];
        if (!read_frame(log, frame, progress, bytes, 0)) return -1;
        // The last frame of a commit has the size of the database.
        commits += (bytes[4] | bytes[5] | bytes[6] | bytes[7]) != 0;
    }
    return commits;
}

HIDDEN int sqlite3_open_v2(const char *path, sqlite3 **database, int flags, const char *system) {
    *database = NULL;
    return is_open() ? library.open_v2(path, database, flags, system) : SQLITE_CANTOPEN;
}
HIDDEN const char *sqlite3_errstr(int code) { return is_open() ? library.errstr(code) : lazy.problem; }
HIDDEN int sqlite3_complete(const char *script) { return is_open() ? library.complete(script) : SQLITE_NOMEM; }
// SQLite takes NULL here, which is what a connection is that couldn't be opened.
HIDDEN int sqlite3_close_v2(sqlite3 *database) { return database == NULL ? SQLITE_OK : library.close_v2(database); }

#define HAND_ON(type, name, parameters, arguments) \
    HIDDEN type sqlite3_##name parameters { return library.name arguments; }

#define OF_DATABASE(type, name) HAND_ON(type, name, (sqlite3 * database), (database))
OF_DATABASE(sqlite3_int64, changes64)
OF_DATABASE(const char *, errmsg)
OF_DATABASE(int, extended_errcode)
OF_DATABASE(int, get_autocommit)
OF_DATABASE(sqlite3_int64, last_insert_rowid)
OF_DATABASE(sqlite3_int64, total_changes64)
HAND_ON(int, busy_handler, (sqlite3 * database, int (*ask)(void *, int), void *context), (database, ask, context))
HAND_ON(int, db_readonly, (sqlite3 * database, const char *name), (database, name))
HAND_ON(int, limit, (sqlite3 * database, int id, int value), (database, id, value))
HAND_ON(
    void, progress_handler, (sqlite3 * database, int steps, int (*ask)(void *), void *context),
    (database, steps, ask, context))
HAND_ON(
    void *, update_hook,
    (sqlite3 * database, void (*tell)(void *, int, const char *, const char *, sqlite3_int64), void *context),
    (database, tell, context))
HAND_ON(
    int, set_authorizer,
    (sqlite3 * database, int (*ask)(void *, int, const char *, const char *, const char *, const char *), void *context),
    (database, ask, context))
HAND_ON(
    int, create_function_v2,
    (sqlite3 * database, const char *name, int count, int encoding, void *context,
     void (*call)(sqlite3_context *, int, sqlite3_value **), void (*step)(sqlite3_context *, int, sqlite3_value **),
     void (*final)(sqlite3_context *), void (*destroy)(void *)),
    (database, name, count, encoding, context, call, step, final, destroy))
HAND_ON(
    int, prepare_v3,
    (sqlite3 * database, const char *sql, int length, unsigned int flags, sqlite3_stmt **statement, const char **tail),
    (database, sql, length, flags, statement, tail))

HAND_ON(
    int, table_column_metadata,
    (sqlite3 * database, const char *database_name, const char *table, const char *column, const char **type,
     const char **collation, int *is_not_null, int *is_primary_key, int *is_automatic),
    (database, database_name, table, column, type, collation, is_not_null, is_primary_key, is_automatic))
HAND_ON(
    sqlite3_backup *, backup_init,
    (sqlite3 * target, const char *target_name, sqlite3 *source, const char *source_name),
    (target, target_name, source, source_name))
HAND_ON(int, backup_step, (sqlite3_backup * backup, int pages), (backup, pages))
HAND_ON(int, backup_finish, (sqlite3_backup * backup), (backup))
HAND_ON(int, backup_pagecount, (sqlite3_backup * backup), (backup))

#define OF_STATEMENT(type, name) HAND_ON(type, name, (sqlite3_stmt * statement), (statement))
OF_STATEMENT(int, bind_parameter_count)
OF_STATEMENT(int, clear_bindings)
OF_STATEMENT(int, column_count)
OF_STATEMENT(int, finalize)
OF_STATEMENT(int, reset)
OF_STATEMENT(int, step)
OF_STATEMENT(int, stmt_busy)
OF_STATEMENT(int, stmt_readonly)

#define OF_COLUMN(type, name) HAND_ON(type, name, (sqlite3_stmt * statement, int index), (statement, index))
OF_COLUMN(int, bind_null)
OF_COLUMN(const char *, bind_parameter_name)
OF_COLUMN(const void *, column_blob)
OF_COLUMN(int, column_bytes)
OF_COLUMN(const char *, column_decltype)
OF_COLUMN(double, column_double)
OF_COLUMN(sqlite3_int64, column_int64)
OF_COLUMN(const char *, column_name)
OF_COLUMN(const char *, column_origin_name)
OF_COLUMN(const char *, column_table_name)
OF_COLUMN(const unsigned char *, column_text)
OF_COLUMN(int, column_type)
HAND_ON(int, bind_double, (sqlite3_stmt * statement, int index, double value), (statement, index, value))
HAND_ON(int, bind_int64, (sqlite3_stmt * statement, int index, sqlite3_int64 value), (statement, index, value))
HAND_ON(int, bind_zeroblob, (sqlite3_stmt * statement, int index, int length), (statement, index, length))
HAND_ON(
    int, bind_blob64,
    (sqlite3_stmt * statement, int index, const void *bytes, sqlite3_uint64 count, void (*destroy)(void *)),
    (statement, index, bytes, count, destroy))
HAND_ON(
    int, bind_text64,
    (sqlite3_stmt * statement, int index, const char *bytes, sqlite3_uint64 count, void (*destroy)(void *),
     unsigned char encoding),
    (statement, index, bytes, count, destroy, encoding))

HAND_ON(void *, user_data, (sqlite3_context * context), (context))
HAND_ON(void, result_error_code, (sqlite3_context * context, int code), (context, code))
HAND_ON(void, result_int, (sqlite3_context * context, int value), (context, value))
HAND_ON(void, result_null, (sqlite3_context * context), (context))
#define OF_VALUE(type, name) HAND_ON(type, name, (sqlite3_value * value), (value))
OF_VALUE(int, value_bytes)
OF_VALUE(sqlite3_int64, value_int64)
OF_VALUE(const unsigned char *, value_text)
OF_VALUE(int, value_type)
