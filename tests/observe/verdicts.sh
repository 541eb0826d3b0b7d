#!/bin/sh
# Prints the verdict of every request in every file of a folder, one line a file: a look at what inspect makes of a
# collection of dumps. Usage: tests/observe/verdicts.sh build/fraglab FOLDER
fraglab=$1
for file in "$2"/*; do
	[ -f "$file" ] || continue
	json=$("$fraglab" inspect "$file" --json - 2>&1)
	status=$?
	verdicts=$(printf '%s' "$json" | sed -n 's/^      "verdict": "\(.*\)",$/\1/p' | tr '\n' ' ')
	printf '%-48s exit %d  %s\n' "$(basename "$file")" "$status" "${verdicts:-no request}"
done
