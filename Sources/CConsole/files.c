#include "include/console.h"

// #embed is C23 (6.10.3.1), and known to clang in every mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char backforward_js[] = {
#embed "web/backforward.js"
};
static const unsigned char restore_js[] = {
#embed "web/restore.js"
};
static const unsigned char session_js[] = {
#embed "web/session.js"
};
static const unsigned char session_css[] = {
#embed "web/session.css"
};
static const unsigned char icon_svg[] = {
#embed "web/icon.svg"
};

#define SCRIPT "text/javascript; charset=utf-8"

static const struct console_file files[] = {
    {"backforward.js", SCRIPT, backforward_js, sizeof backforward_js},
    {"restore.js", SCRIPT, restore_js, sizeof restore_js},
    {"session.js", SCRIPT, session_js, sizeof session_js},
    {"session.css", "text/css; charset=utf-8", session_css, sizeof session_css},
    {"icon.svg", "image/svg+xml", icon_svg, sizeof icon_svg},
};

const struct console_file *console_file(size_t number) {
    return number < sizeof files / sizeof files[0] ? &files[number] : NULL;
}
