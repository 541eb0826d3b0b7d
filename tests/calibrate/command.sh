#!/bin/sh
# The file that calibrate writes is one that --costs takes; an interrupt leaves a file that is one too.
# usage: command.sh FRAGLAB ROOT
case $1 in /*) fraglab=$1 ;; *) fraglab=$PWD/$1 ;; esac
root=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
echo 1..4

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
	sleep 5; kill -TERM $child; wait $child' "$fraglab"
[ $? -eq 130 ] && grep -q Interrupted part.costs && [ "$(find . -type f | wc -l)" -eq 4 ] &&
	"$fraglab" run "$root/scenarios/fault-storm.lua" --set storm=4M --memory 256M --costs part.costs >out 2>err
report 3 'a signal ends it with what was measured so far, and nothing is left behind'

# The one setting that it changes: seen changed, it is killed, and the old value is back.
title='a size that was off is off again after kill -9'
sizes=/sys/kernel/mm/transparent_hugepage
words() { # those of the four sizes, as "never never never never"
	words=
	for kb in 16 64 256 1024; do
		read -r line <$sizes/hugepages-${kb}kB/enabled
		line=${line#*[}
		words="$words ${line%%]*}"
	done
}
off=' never never never never'
if [ ! -w $sizes/hugepages-16kB/enabled ] || { words; [ "$words" != "$off" ]; }; then
	echo "ok 4 - $title # SKIP these sizes cannot be switched here, or are on"
	exit
fi
"$fraglab" calibrate --memory 96M --repetitions 15 killed.costs >out 2>err &
child=$!
while kill -0 $child 2>/dev/null; do
	words # and the keeper of the old value is there: others may change these settings too
	keeper=
	[ "$words" = "$off" ] || read -r keeper 2>/dev/null </proc/$child/task/$child/children
	[ -n "$keeper" ] && break
done
if [ -z "$keeper" ]; then
	echo "ok 4 - $title # SKIP the change was not seen: a live run had the host"
	exit
fi
kill -9 $child
wait $child 2>/dev/null
for i in $(seq 50); do words; [ "$words" = "$off" ] && break; sleep 0.2; done
[ "$words" = "$off" ]
report 4 "$title"
