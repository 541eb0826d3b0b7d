#!/bin/sh
# tests/gate/nm_gate.sh - what may the model call? Lists the undefined symbols of static libraries and fails on any that
# is not on the allow-list: no clock, no environment, no I/O, no floating point (soft-float helpers are calls), no libc
# beyond what compilers insert by themselves: copies, bit counts, 128-bit integer division (gcc takes the signed helper
# for unsigned operands that it knows to be small).
#
# usage: nm_gate.sh NM REASON-TO-SKIP LIBRARY...      (the reason is empty in a plain build; exit 77 = skipped)
set -u
nm=$1 skip=$2
shift 2
if [ -n "$skip" ]; then
	echo "SKIP: $skip, which adds symbols of its own; the gate looks at plain builds"
	exit 77
fi

# The doors of the model to the host (sim/platform.h); everything else is held to the list.
exempt='platform.c.o|switch_ucontext.c.o'

found=$(for library in "$@"; do
	"$nm" -u "$library" 2>/dev/null || echo "nm failed on $library"
done | awk -v exempt="(^|[_/])($exempt):\$" '
	/^nm failed/ { print; next }
	/:$/ { member = $1; skip = ($1 ~ exempt); members++; next }
	skip || NF == 0 { next }
	{ symbol = $NF }
	symbol ~ /^fl_/ { next }
	symbol ~ /^(memcpy|memset|memmove|memcmp|bcmp|strlen|_GLOBAL_OFFSET_TABLE_)$/ { next }
	symbol ~ /^(__popcountdi2|__u?(div|mod)ti3)$/ { next }
	{ print member " calls " symbol }
	END { if (members == 0) print "no object files in the libraries" }')
if [ -n "$found" ]; then
	echo "$found"
	echo "FAIL: the model may not call these (tests/gate/nm_gate.sh has the list and the reasons)"
	exit 1
fi
echo "OK: $# libraries call nothing but the model and the allowed helpers"
