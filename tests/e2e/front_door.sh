#!/bin/sh
# tests/e2e/front_door.sh ROOT - what `make deps` and `make` do on machines unlike this one: something is missing, the
# user is not root, the build directory is half-made, copied, or no build directory at all. Speaks TAP.
set -u
root=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
number=0
failed=0

result() { # ok or not ok, title, output to show on failure
	number=$((number + 1))
	echo "$1 $number - $2"
	[ "$1" = ok ] && return
	failed=1
	sed 's/^/# /' "$3"
}

check() { # title, expected exit status, words that the output must hold (| between them); runs what follows
	title=$1 status=$2 words=$3
	shift 3
	"$@" >"$work/out" 2>&1 </dev/null
	got=$?
	good=ok
	[ "$got" = "$status" ] || { good='not ok'; echo "exit status $got, expected $status" >>"$work/out"; }
	IFS='|'
	for word in $words; do
		grep -qF -- "$word" "$work/out" || { good='not ok'; echo "not said: $word" >>"$work/out"; }
	done
	unset IFS
	result "$good" "$title" "$work/out"
}

# A machine without meson: the tools that .ci/deps itself needs, and stubs for the rest.
bin=$work/bin
mkdir "$bin"
for tool in sh cat grep mktemp rm tail touch chmod pkg-config dpkg-query gcc make ninja python3 git; do
	path=$(command -v $tool) && ln -s "$path" "$bin/$tool"
done
stub() { # name, script
	printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
	chmod +x "$bin/$1"
}
stub id 'echo 1000'
stub apt-get "echo \"\$*\" >>$work/apt; case \$1 in install) printf '#!/bin/sh\n' >$bin/meson; chmod +x $bin/meson ;; esac"

cd "$root" || exit 1
check 'without root it says what to install' 3 'apt-get install|meson' env PATH="$bin" .ci/deps build
if [ -e "$work/apt" ]; then result 'not ok' 'and asks apt-get for nothing' "$work/apt"; else result ok 'and asks apt-get for nothing' ''; fi

stub id 'echo 0'
check 'root gets what is missing installed' 0 'installing: meson' env PATH="$bin" .ci/deps build
printf 'update -q\ninstall -q -y --no-install-recommends meson\n' >"$work/expected"
if cmp -s "$work/apt" "$work/expected"; then result ok 'and that only, after one update' ''; else result 'not ok' 'and that only, after one update' "$work/apt"; fi

rm "$work/apt"
check 'nothing is asked when nothing is missing' 0 '' env PATH="$bin" .ci/deps build
if [ -e "$work/apt" ] || [ -s "$work/out" ]; then
	result 'not ok' 'nor said' "$work/out"
else
	result ok 'nor said' ''
fi

rm "$bin/meson"
stub apt-get 'echo "E: no such package"; exit 100'
check 'a failed installation says so and fails' 3 'E: no such package|could not install: meson' env PATH="$bin" .ci/deps build

# Build directories. A project of one file stands for ours.
mkdir -p "$work/first/.ci"
cp "$root/.ci/configure" "$work/first/.ci/"
printf "project('p', 'c')\nexecutable('p', 'p.c')\n" >"$work/first/meson.build"
echo 'int main(void) { return 0; }' >"$work/first/p.c"
cd "$work/first" || exit 1
is_built() { .ci/configure build && ninja -C build >/dev/null && build/p; }

check 'a fresh clone is set up' 0 '' is_built
touch build/mark
.ci/configure build
if [ -e build/mark ]; then result ok 'a good build directory is kept' ''; else result 'not ok' 'a good build directory is kept' /dev/null; fi
rm build/build.ninja
check 'a build that was cut short is made anew' 0 '' is_built
echo 'nonsense' >build/meson-private/coredata.dat
touch meson.build
check 'a build that meson cannot read is made anew' 0 '' is_built
cp -a "$work/first" "$work/second"
cd "$work/second" || exit 1
check 'the build of a copied clone is made anew' 0 '' is_built
if grep -q "$work/second" build/meson-info/meson-info.json; then result ok 'for the copy' ''; else result 'not ok' 'for the copy' build/meson-info/meson-info.json; fi
echo "nonsense(" >>meson.build
check 'a fault in meson.build is shown' 1 'ERROR' .ci/configure build
if [ -x build/p ]; then result ok 'and the objects stay' ''; else result 'not ok' 'and the objects stay' /dev/null; fi
rm -rf build
mkdir build
echo mine >build/letter
check 'a folder that is no build directory is left alone' 2 'no build directory' .ci/configure build
if [ -e build/letter ]; then result ok 'with what it holds' ''; else result 'not ok' 'with what it holds' /dev/null; fi
echo "1..$number"
exit $failed
