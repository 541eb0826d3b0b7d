/* kernel/versions.h - the base versions, one file each. */
#ifndef FL_KERNEL_VERSIONS_H
#define FL_KERNEL_VERSIONS_H

#include "kernel/kernel.h"

extern const struct fl_kernel_version fl_version_6_12, fl_version_6_18, fl_version_7_3;

#endif
