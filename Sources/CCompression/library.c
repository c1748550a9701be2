// The libraries of content codings, each opened at the first call that needs it: libcurl, which the program needs anyway,
// depends on all three, so that they are where libcurl is.
#include "shim.h"

#include <lazy_library.h>
#include <stdbool.h>

#define HIDDEN SUBPROXY_HIDDEN

#define ZLIB(EACH) \
    EACH(crc32_z) EACH(deflate) EACH(deflateEnd) EACH(deflateInit2_) EACH(deflateReset) EACH(inflate) \
    EACH(inflateCopy) EACH(inflateEnd) EACH(inflateInit2_) EACH(inflateReset2) EACH(inflateValidate)
#define BROTLI(EACH) \
    EACH(BrotliDecoderCreateInstance) EACH(BrotliDecoderDecompressStream) EACH(BrotliDecoderDestroyInstance)
#define ZSTD(EACH) \
    EACH(ZSTD_DCtx_setParameter) EACH(ZSTD_createDCtx) EACH(ZSTD_decompressStream) EACH(ZSTD_freeDCtx) \
    EACH(ZSTD_isError)

#define MEMBER(name) __typeof__(&name) name;
#define LIBRARY(library, file, FUNCTIONS) \
    static struct { FUNCTIONS(MEMBER) } library; \
    static void library##_find(struct subproxy_lazy_library *lazy) { FUNCTIONS(FIND_##library) } \
    static struct subproxy_lazy_library library##_lazy = SUBPROXY_LAZY_LIBRARY(file, library##_find); \
    HIDDEN const char *subproxy_##library##_problem(void) { return subproxy_lazy_problem(&library##_lazy); }

#define FIND_zlib(name) zlib.name = (__typeof__(zlib.name))subproxy_lazy_find(lazy, #name);
#define FIND_brotli(name) brotli.name = (__typeof__(brotli.name))subproxy_lazy_find(lazy, #name);
#define FIND_zstd(name) zstd.name = (__typeof__(zstd.name))subproxy_lazy_find(lazy, #name);

LIBRARY(zlib, "libz.so.1", ZLIB)
LIBRARY(brotli, "libbrotlidec.so.1", BROTLI)
LIBRARY(zstd, "libzstd.so.1", ZSTD)

// What makes something opens its library; what takes what was made is called with an open one.
#define MAKE(library, type, name, parameters, arguments, otherwise) \
    HIDDEN type name parameters { \
        return subproxy_lazy_is_open(&library##_lazy) ? library.name arguments : otherwise; \
    }
#define HAND_ON(library, type, name, parameters, arguments) \
    HIDDEN type name parameters { return library.name arguments; }

MAKE(
    zlib, int, inflateInit2_, (z_stream * stream, int bits, const char *version, int size),
    (stream, bits, version, size), Z_MEM_ERROR)
MAKE(
    zlib, int, deflateInit2_,
    (z_stream * stream, int level, int method, int bits, int memory, int strategy, const char *version, int size),
    (stream, level, method, bits, memory, strategy, version, size), Z_MEM_ERROR)
MAKE(zlib, uLong, crc32_z, (uLong crc, const Bytef *bytes, z_size_t count), (crc, bytes, count), 0)
HAND_ON(zlib, int, inflate, (z_stream * stream, int flush), (stream, flush))
HAND_ON(zlib, int, inflateEnd, (z_stream * stream), (stream))
HAND_ON(zlib, int, inflateReset2, (z_stream * stream, int bits), (stream, bits))
HAND_ON(zlib, int, inflateValidate, (z_stream * stream, int check), (stream, check))
HAND_ON(zlib, int, inflateCopy, (z_stream * copy, z_stream * stream), (copy, stream))
HAND_ON(zlib, int, deflate, (z_stream * stream, int flush), (stream, flush))
HAND_ON(zlib, int, deflateEnd, (z_stream * stream), (stream))
HAND_ON(zlib, int, deflateReset, (z_stream * stream), (stream))

MAKE(
    brotli, BrotliDecoderState *, BrotliDecoderCreateInstance,
    (brotli_alloc_func allocate, brotli_free_func release, void *context), (allocate, release, context), NULL)
HAND_ON(
    brotli, BrotliDecoderResult, BrotliDecoderDecompressStream,
    (BrotliDecoderState * state, size_t *available, const uint8_t **input, size_t *room, uint8_t **output,
     size_t *total),
    (state, available, input, room, output, total))
HAND_ON(brotli, void, BrotliDecoderDestroyInstance, (BrotliDecoderState * state), (state))

MAKE(zstd, ZSTD_DCtx *, ZSTD_createDCtx, (void), (), NULL)
HAND_ON(zstd, size_t, ZSTD_freeDCtx, (ZSTD_DCtx * context), (context))
HAND_ON(
    zstd, size_t, ZSTD_DCtx_setParameter, (ZSTD_DCtx * context, ZSTD_dParameter parameter, int value),
    (context, parameter, value))
HAND_ON(
    zstd, size_t, ZSTD_decompressStream, (ZSTD_DCtx * context, ZSTD_outBuffer *output, ZSTD_inBuffer *input),
    (context, output, input))
HAND_ON(zstd, unsigned, ZSTD_isError, (size_t code), (code))
