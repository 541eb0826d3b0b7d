/*
 * observe/gfp.h - gfp flags as dumps print them, turned into our own bits; kernel releases as numbers.
 *
 * Numbers of the bits change between kernels, so names win where they are printed (since 4.6). Without names the bits
 * are read by the table of kernels before 4.4, or of 4.4 and 4.5 when the kswapd bit of those is there.
 */
#ifndef FL_OBSERVE_GFP_H
#define FL_OBSERVE_GFP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of the names in "GFP_KERNEL|__GFP_COMP"; the first unknown name is copied to ret_unknown ("" if none). */
uint32_t fl_gfp_from_names(const char *names, char *ret_unknown, size_t unknown_size);
/* Bits of a raw value printed without names; *ret_old: read by the table of kernels before 4.4. */
uint32_t fl_gfp_from_raw(uint64_t raw, bool *ret_old);

/* "6.8.0-rc3" gives 6008; 0 when it does not start with two numbers. */
unsigned int fl_release_number(const char *release);

#endif
