// The limit of reading a HAR: memchr over the quotes and backslashes of a file of JSON, which tells where its strings are.
//
//     quotes FILE
//
// Prints the number of strings and of the bytes in them.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { piece = 256 * 1024 };

static char buffer[piece];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

int main(int count, char **arguments) {
    if (count != 2) return fprintf(stderr, "usage: quotes FILE\n"), 64;
    int file = open(arguments[1], O_RDONLY);
    if (file < 0) fail(arguments[1]);
    uint64_t strings = 0, bytes = 0;
    int is_string = 0, is_escaped = 0;
    for (;;) {
        ssize_t got = read(file, buffer, sizeof buffer);
        if (got < 0) fail("read");
        if (got == 0) break;
        const char *at = buffer, *end = buffer + got, *quote = buffer - 1;
        if (is_escaped) at++;
        is_escaped = 0;
        while (at < end) {
            // A quote that is still ahead needs no second look.
            if (quote < at) quote = memchr(at, '"', (size_t)(end - at));
            const char *stop = quote ? quote : end;
            if (!quote) quote = end;
            if (is_string) {
                const char *backslash = memchr(at, '\\', (size_t)(stop - at));
                if (backslash) {
                    bytes += (uint64_t)(backslash - at) + 2;
                    is_escaped = backslash + 1 == end;
                    at = backslash + 2;
                    continue;
                }
                bytes += (uint64_t)(stop - at);
            }
            if (stop == end) break;
            strings += (uint64_t)is_string;
            is_string = !is_string;
            at = stop + 1;
        }
    }
    if (is_string) return fprintf(stderr, "%s: the last string is cut off\n", arguments[1]), 1;
    printf("%llu %llu\n", (unsigned long long)strings, (unsigned long long)bytes);
    return 0;
}
