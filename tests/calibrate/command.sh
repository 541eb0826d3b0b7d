#!/bin/sh
# The file that calibrate writes is one that --costs takes; an interrupt leaves a file that is one too.
# usage: command.sh FRAGLAB ROOT
case $1 in /*) fraglab=$1 ;; *) fraglab=$PWD/$1 ;; esac
root=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
echo 1..3

report() { # number, title; judges the status of the last command
	if [ $? -eq 0 ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2"; cat out err 2>/dev/null | sed 's/^/# /'; fi
}

"$fraglab" calibrate --memory 96M --repetitions 3 host.costs >out 2>err && grep -q '^zero_4k [0-9]' host.costs &&
	grep -q '^# oom_kill keeps' host.costs && grep -q 'keep the table' out
report 1 'a file with measured costs, and what keeps its value'
"$fraglab" run "$root/scenarios/fault-storm.lua" --set storm=4M --memory 256M --costs host.costs >out 2>err && grep -q costs out
report 2 'the model takes the file'
# No job control here, so a background command would ignore the interrupt: a second shell sends it.
sh -c '"$0" calibrate --memory 96M --repetitions 101 part.costs >out 2>err & child=$!
	sleep 3; kill -TERM $child; wait $child' "$fraglab"
[ $? -eq 130 ] && grep -q Interrupted part.costs && [ "$(ls -A | wc -l)" -eq 4 ] &&
	"$fraglab" run "$root/scenarios/fault-storm.lua" --set storm=4M --memory 256M --costs part.costs >out 2>err
report 3 'a signal ends it with what was measured so far, and nothing is left behind'
