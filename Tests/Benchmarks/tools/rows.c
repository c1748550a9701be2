// The limit for answers from a database: a loop over one prepared statement, whose rows are written as JSON.
// Usage: rows FILE row|range|index|insert COUNT
// Prints the processor time and the time by the clock that each took, in microseconds.
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char out[1 << 20];

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static char *text(char *to, const char *from, int count) {
    *to++ = '"';
    for (int i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)from[i];
        if (byte == '"' || byte == '\\') *to++ = '\\';
        if (byte < 0x20) to += sprintf(to, "\\u%04x", byte);
        else *to++ = (char)byte;
    }
    *to++ = '"';
    return to;
}

static char *row(char *to, sqlite3_stmt *statement) {
    int columns = sqlite3_column_count(statement);
    *to++ = '{';
    for (int i = 0; i < columns; i++) {
        const char *name = sqlite3_column_name(statement, i);
        if (i > 0) *to++ = ',';
        to = text(to, name, (int)strlen(name));
        *to++ = ':';
        switch (sqlite3_column_type(statement, i)) {
        case SQLITE_INTEGER: to += sprintf(to, "%lld", (long long)sqlite3_column_int64(statement, i)); break;
        case SQLITE_FLOAT: to += sprintf(to, "%.15g", sqlite3_column_double(statement, i)); break;
        case SQLITE_NULL: memcpy(to, "null", 4), to += 4; break;
        default:
            to = text(to, (const char *)sqlite3_column_text(statement, i), sqlite3_column_bytes(statement, i));
        }
    }
    *to++ = '}';
    return to;
}

static void must(sqlite3 *database, int code) {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    fprintf(stderr, "rows: %s\n", sqlite3_errmsg(database));
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    sqlite3 *database;
    must(database, sqlite3_open(argv[1], &database));
    sqlite3_busy_timeout(database, 5000);
    long count = atol(argv[3]);
    const char *kind = argv[2], *sql;
    bool inserts = strcmp(kind, "insert") == 0;
    if (inserts) {
        sql = "INSERT INTO orders(product, note, amount) VALUES(?1, 'a note', 9.5)";
        must(database, sqlite3_exec(
            database, "CREATE TABLE IF NOT EXISTS orders(id INTEGER PRIMARY KEY, product, note TEXT, amount REAL)",
            NULL, NULL, NULL));
    } else if (strcmp(kind, "row") == 0) {
        sql = "SELECT * FROM products WHERE id = ?1";
    } else if (strcmp(kind, "range") == 0) {
        sql = "SELECT * FROM products WHERE id >= ?1 AND id < ?1 + 100 ORDER BY id";
    } else {
        sql = "SELECT * FROM products WHERE brand = 'b' || ?1 ORDER BY id";
    }
    sqlite3_stmt *statement, *begin, *commit;
    must(database, sqlite3_prepare_v2(database, sql, -1, &statement, NULL));
    must(database, sqlite3_prepare_v2(database, "BEGIN IMMEDIATE", -1, &begin, NULL));
    must(database, sqlite3_prepare_v2(database, "COMMIT", -1, &commit, NULL));
    sqlite3_int64 rows = strcmp(kind, "index") == 0 ? 10000 : 1000000 - 100, number = 1;
    size_t bytes = 0;
    double cpu = now(CLOCK_PROCESS_CPUTIME_ID), clock = now(CLOCK_MONOTONIC);
    for (long i = 0; i < count; i++) {
        number = (number + 611953) % rows;
        if (inserts) {
            must(database, sqlite3_step(begin));
            sqlite3_reset(begin);
        }
        sqlite3_bind_int64(statement, 1, number + 1);
        char *end = out;
        *end++ = '[';
        int code;
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
            if (end > out + 1) *end++ = ',';
            end = row(end, statement);
        }
        must(database, code);
        *end++ = ']';
        bytes += (size_t)(end - out);
        sqlite3_reset(statement);
        if (inserts) {
            must(database, sqlite3_step(commit));
            sqlite3_reset(commit);
        }
    }
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu, clock = now(CLOCK_MONOTONIC) - clock;
    printf("%.3f %.3f %zu\n", cpu / count, clock / count, bytes / count);
    return 0;
}
