#ifndef SUBPROXY_CCONSOLE_H
#define SUBPROXY_CCONSOLE_H

// The scripts, styles and images of the proxy's own pages, which are part of the program: a copied binary has them too.

#include <stddef.h>

struct console_file {
    // The last segment of its path, below /console/.
    const char *name;
    const char *type;
    const unsigned char *bytes;
    size_t length;
};

// The file of a number from 0 on; NULL behind the last one.
const struct console_file *console_file(size_t number);

#endif
