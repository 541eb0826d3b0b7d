#!/bin/sh
# Instructions per event, counted by callgrind: hot pairs of the allocator, a fault, and a churn pair on machines of 2 and 256 GiB.
# Fails when one is over its limit or when the churn pair grows by 1.3 from the small machine to the large one.
# Also the resident memory of an untouched machine of 1 TiB. usage: instructions.sh PROGRAM
set -eu
program=$1
command -v valgrind >/dev/null || { echo "skipped: valgrind is not installed (apt-get install valgrind)"; exit 77; }

count() { # WORK MEMORY_GIB PAIRS
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" "$3" 2>&1 |
		sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

per_pair() { # WORK MEMORY_GIB
	low=$(count "$1" "$2" 65536)
	high=$(count "$1" "$2" 196608)
	echo $(((high - low) / 131072))
}

status=0
limit() { # NAME VALUE LIMIT UNIT
	printf '%s %s %s (limit %s)\n' "$1" "$2" "$4" "$3"
	[ "$2" -le "$3" ] || { echo "$1 is over its limit"; status=1; }
}

limit alloc_free_order0_hot "$(per_pair hot0 8)" 200 instructions
limit alloc_free_order9_hot "$(per_pair hot9 8)" 260 instructions
limit fault_4k "$(per_pair fault 4)" 400 instructions
small=$(per_pair churn 2)
large=$(per_pair churn 256)
limit churn_2g "$small" 700 instructions
limit churn_256g_percent_of_2g $((large * 100 / small)) 129 percent
resident_kib=$("$program" boot 1024 0)
limit untouched_1t $((resident_kib / 1024)) 2200 MiB
exit $status
