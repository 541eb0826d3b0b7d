#!/bin/sh
# tests/e2e/install.sh BUILD ROOT - installs into an empty folder and uses the program from there, away from the sources.
# Speaks TAP.
set -u
build=$1 root=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
number=0
failed=0

check() { # title; runs what follows
	number=$((number + 1))
	title=$1
	shift
	if "$@" >"$work/out" 2>&1 </dev/null; then
		echo "ok $number - $title"
	else
		failed=1
		echo "not ok $number - $title"
		sed 's/^/# /' "$work/out"
	fi
}

prints() { # word; a command that must print it
	word=$1
	shift
	"$@" >"$work/said" 2>&1
	cat "$work/said"
	grep -qF -- "$word" "$work/said"
}

found() { find "$work/root" -path "*$1" | grep . ; }

check 'it installs' env DESTDIR="$work/root" meson install -C "$build" --no-rebuild --quiet
program=$(found /bin/fraglab)
cd "$work" || exit 1
check 'the program runs' prints 'fraglab' "$program" --help
check 'the manual page is there' prints .TH cat "$(found /man1/fraglab.1)"
check 'the completion is there' prints complete cat "$(found /bash-completion/completions/fraglab*)"
if [ -d "$root/scenarios" ]; then
	same() { diff -r "$root/scenarios" "$(found /share/fraglab/scenarios)"; }
	check 'the scenarios are there' same
fi
refused() { # a place below a file, which nobody may write to; root may write to everything else
	touch "$work/file"
	(cd "$root" && DESTDIR="$work/file" .ci/install "$build") >"$work/said" 2>&1
	status=$?
	cat "$work/said"
	[ $status -eq 3 ] && grep -q "may not write to $work/file" "$work/said" && ! grep -q Traceback "$work/said"
}
if [ -x "$root/.ci/install" ]; then
	check 'where it may not write there is a sentence' refused
fi
echo "1..$number"
exit $failed
