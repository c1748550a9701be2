#ifndef SUBPROXY_CYAML_SHIM_H
#define SUBPROXY_CYAML_SHIM_H

// The module map needs a header of this package's own: the place of the system's yaml.h is known to pkg-config alone.
// libyaml has no variadic functions and no macros that Swift would have to call, so nothing is wrapped.
#include <yaml.h>

#endif
