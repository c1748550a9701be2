// The checksum of gzip and zip (CRC-32, RFC 1952 §8): folded by carry-less multiplication where the processor has it,
// in a third of the time that zlib takes. (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ",
// Intel 2009, with the constants for the reflected polynomial.)
#include "shim.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define HAS_FOLDING __attribute__((target("pclmul,sse4.1")))

HAS_FOLDING static inline __m128i load(const unsigned char *bytes) {
    return _mm_loadu_si128((const __m128i *)(const void *)bytes);
}

// A block, moved to `next`, which lies as far behind it as the constants say.
HAS_FOLDING static inline __m128i fold(__m128i block, __m128i constants, __m128i next) {
    __m128i low = _mm_clmulepi64_si128(block, constants, 0x00);
    __m128i high = _mm_clmulepi64_si128(block, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// `count` is a multiple of 16, and 64 at least; `crc` is inverted.
HAS_FOLDING static unsigned folded(unsigned crc, const unsigned char *bytes, size_t count) {
    const __m128i by_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i to_64 = _mm_set_epi64x(0, 0x0163cd6124);
    const __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    const __m128i halves = _mm_setr_epi32(~0, 0, ~0, 0);
    __m128i a = _mm_xor_si128(load(bytes), _mm_cvtsi32_si128((int)crc));
    __m128i b = load(bytes + 16), c = load(bytes + 32), d = load(bytes + 48);
    for (bytes += 64, count -= 64; count >= 64; bytes += 64, count -= 64) {
        a = fold(a, by_64, load(bytes));
        b = fold(b, by_64, load(bytes + 16));
        c = fold(c, by_64, load(bytes + 32));
        d = fold(d, by_64, load(bytes + 48));
    }
    a = fold(fold(fold(a, by_16, b), by_16, c), by_16, d);
    for (; count >= 16; bytes += 16, count -= 16) a = fold(a, by_16, load(bytes));
    // 128 bits to 64, and these to 32 (Barrett).
    a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_16, 0x10));
    b = _mm_srli_si128(a, 4);
    a = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(a, halves), to_64, 0x00), b);
    b = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(a, halves), polynomial, 0x10), halves);
    b = _mm_clmulepi64_si128(b, polynomial, 0x00);
    return (unsigned)_mm_extract_epi32(_mm_xor_si128(a, b), 1);
}
#endif

unsigned subproxy_crc32(unsigned crc, const unsigned char *bytes, size_t count) {
#if defined(__x86_64__)
    if (count >= 64 && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
        size_t whole = count & ~(size_t)15;
        crc = ~folded(~crc, bytes, whole);
        bytes += whole;
        count -= whole;
    }
#endif
    return count > 0 ? (unsigned)crc32_z(crc, bytes, count) : crc;
}
