// The limit of reading a .warc.gz: zlib's inflate over every member of a file, whose bytes are dropped.
//
//     inflate FILE
//
// Prints the number of members and of inflated bytes.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

enum { piece = 256 * 1024 };

static unsigned char in[piece], out[piece];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

int main(int count, char **arguments) {
    if (count != 2) return fprintf(stderr, "usage: inflate FILE\n"), 64;
    int file = open(arguments[1], O_RDONLY);
    if (file < 0) fail(arguments[1]);
    z_stream stream = {0};
    // 15 bits of window, and the header of gzip.
    if (inflateInit2(&stream, 15 + 16) != Z_OK) fail("inflateInit2");
    uint64_t members = 0, bytes = 0;
    int is_within = 0;
    for (;;) {
        ssize_t got = read(file, in, sizeof in);
        if (got < 0) fail("read");
        if (got == 0) break;
        stream.next_in = in;
        stream.avail_in = (unsigned)got;
        // What fills the buffer may not be all that there is of the input.
        do {
            stream.next_out = out;
            stream.avail_out = sizeof out;
            int status = inflate(&stream, Z_NO_FLUSH);
            bytes += sizeof out - stream.avail_out;
            is_within = status != Z_STREAM_END;
            if (status == Z_STREAM_END) {
                members++;
                inflateReset(&stream);
            } else if (status != Z_OK && status != Z_BUF_ERROR) {
                return fprintf(stderr, "%s: no gzip behind member %llu\n", arguments[1], (unsigned long long)members), 1;
            }
        } while (stream.avail_in > 0 || (is_within && stream.avail_out == 0));
    }
    if (is_within) return fprintf(stderr, "%s: the last member is cut off\n", arguments[1]), 1;
    inflateEnd(&stream);
    printf("%llu %llu\n", (unsigned long long)members, (unsigned long long)bytes);
    return 0;
}
