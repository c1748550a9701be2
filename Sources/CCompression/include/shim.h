// The functions of zlib, libbrotlidec and libzstd that are used here, handed on to the libraries, which are opened at
// first need (library.c): a program that reads no archive has none of them. Also zlib's macros, which Swift can't call.
#ifndef SUBPROXY_CCOMPRESSION_SHIM_H
#define SUBPROXY_CCOMPRESSION_SHIM_H

// zstd.h gives its functions a visibility of its own, which those here must not have (library.c); earlier versions have
// the other name for it.
#define ZSTDLIB_VISIBLE __attribute__((visibility("hidden")))
#define ZSTDLIB_VISIBILITY ZSTDLIB_VISIBLE

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

// Each opens its library unless it is open; what keeps it from being opened, or NULL. The libraries' functions take what
// an open library has made, and are never called without one: only those that make something may come first, and make
// nothing where there is no library.
const char *subproxy_zlib_problem(void);
const char *subproxy_brotli_problem(void);
const char *subproxy_zstd_problem(void);

// inflateInit2(), a macro. `window_bits` as there: 15 for zlib's own form, 31 for gzip, -15 for neither.
static inline int subproxy_inflate_begin(z_stream *stream, int window_bits) {
    return inflateInit2_(stream, window_bits, ZLIB_VERSION, (int)sizeof(z_stream));
}

// The CRC-32 of bytes that follow those with the checksum `crc`, 0 for none (crc32.c).
unsigned subproxy_crc32(unsigned crc, const unsigned char *bytes, size_t count);

// deflateInit2(), a macro, with the default of memory and strategy.
static inline int subproxy_deflate_begin(z_stream *stream, int level, int window_bits) {
    return deflateInit2_(
        stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof(z_stream));
}

#endif
