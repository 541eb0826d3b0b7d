#!/bin/sh
# tests/gate/nm_gate_canary.sh - proves that the gate can fail: the canary library calls the clock, the allocator and
# soft float, and the gate must name all of them.
#
# usage: nm_gate_canary.sh GATE NM REASON-TO-SKIP CANARY-LIBRARY
set -u
if [ -n "$3" ]; then
	echo "SKIP: $3"
	exit 77
fi
said=$("$@") && { echo "FAIL: the gate let the canary pass"; exit 1; }
for symbol in time malloc getenv; do
	case $said in
	*" calls $symbol"*) ;;
	*) echo "FAIL: the gate did not name $symbol; it said: $said"; exit 1 ;;
	esac
done
if [ "$(uname -m)" = x86_64 ]; then
	case $said in
	*" calls __"*df*) ;;
	*) echo "FAIL: the gate did not name a soft-float helper; it said: $said"; exit 1 ;;
	esac
fi
echo "OK: the gate names what it must"
