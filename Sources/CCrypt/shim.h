#ifndef SUBPROXY_CCRYPT_SHIM_H
#define SUBPROXY_CCRYPT_SHIM_H

// crypt_r(3) of libxcrypt needs 32 KiB of working memory, a structure whose arrays Swift can't import.

#include <crypt.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Hashes a password as a setting says, which may be a whole hash. Returns 0, or the negated errno.
//
// The working memory, which has had the password in it, is wiped.
static inline int crypt_hash(const char *password, const char *setting, char *hash, size_t capacity) {
    struct crypt_data *data = calloc(1, sizeof *data);
    if (data == NULL) return -ENOMEM;
    const char *result = crypt_r(password, setting, data);
    int code = 0;
    // What begins with '*' is no hash but a failure.
    if (result == NULL || result[0] == '*') {
        code = -EINVAL;
    } else if (strlen(result) >= capacity) {
        code = -ERANGE;
    } else {
        memcpy(hash, result, strlen(result) + 1);
    }
    explicit_bzero(data, sizeof *data);
    free(data);
    return code;
}

#endif
