#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scripts/deps and scripts/deb decide by what they find. They run in a root with the os-release and
# the dpkg vendor of another distribution:
#
#   Ubuntu (ID_LIKE=debian)      packages are looked up and installed; lintian accepts the result
#   Fedora, with dpkg as a tool  a list of names, no call of apt
#
# Programs in a directory before the others stand in for dpkg-query, apt-get and apt-cache, which
# know no package and log what they are asked; dpkg-buildpackage makes the source package only.
set -u
cd "${BASH_SOURCE%/*}/../.." || exit 1
skip()
{
	echo "SKIP: $*"
	exit 77
}
fail()
{
	echo "vendor: $*" >&2
	cat "$T"/out "$T"/log >&2
	exit 1
}
for p in bwrap dpkg-vendor dpkg-buildpackage lintian git; do
	command -v $p >/dev/null || skip "there is no $p here"
done
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
bwrap --dev-bind / / true 2>/dev/null || skip "bubblewrap cannot make a root here"

# as ID COMMAND...: in the root of this distribution
mkdir "$T/bin" "$T/origins" "$T/deb"
touch "$T/out" "$T/log"
printf 'ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n' >"$T/ubuntu"
printf 'ID=fedora\nVERSION_ID=42\n' >"$T/fedora"
for v in Debian Ubuntu; do
	printf 'Vendor: %s\n' "$v" >"$T/origins/${v,,}"
done
printf 'Parent: Debian\n' >>"$T/origins/ubuntu"
ln -s ubuntu "$T/origins/default"
as()
{
	local id=$1
	shift
	bwrap --dev-bind / / --bind "$T/$id" "$(readlink -f /etc/os-release)" --bind "$T/origins" /etc/dpkg/origins \
		--setenv PATH "$T/bin:$PATH" "$@" >"$T/out" 2>&1
}
program()
{
	printf '#!/bin/sh\n%s\n' "$2" >"$T/bin/$1"
	chmod +x "$T/bin/$1"
}

as ubuntu dpkg-vendor --is ubuntu || fail "the root has not Ubuntu's vendor"
# dpkg-buildpackage compiles nothing; lintian reads the .changes all the same.
program dpkg-buildpackage "/usr/bin/dpkg-buildpackage -S -d -us -uc >&2 && : >../ruse_0_all.deb"
as ubuntu env -u DEB_VENDOR scripts/deb "$T/deb" || fail "scripts/deb as Ubuntu: status $?"
for word in dpkg-buildpackage lintian ruse_0_all.deb; do
	grep -q "$word" "$T/out" || fail "scripts/deb does not say $word"
done

program dpkg-query 'exit 1'
# shellcheck disable=SC2016 # for the program
program apt-cache 'case "$2" in libtcmalloc-minimal4 | chromium) exit 1 ;; esac'
# shellcheck disable=SC2016 # for the program
program apt-get 'echo "$*" >>'"$T/log"
program sudo 'exec "$@"'
as ubuntu scripts/deps --build --test || fail "scripts/deps as Ubuntu: status $?"
grep -q 'install .*gcc .*libibverbs-dev .*libtcmalloc-minimal4t64 ' "$T/log" || fail "apt-get is not asked for the packages"
grep -q chromium "$T/log" && fail "apt-get is asked for a package that the distribution lacks"
grep -q '|' "$T/log" && fail "apt-get is asked for two names of one package"
: >"$T/log"
as fedora scripts/deps --build --run || fail "scripts/deps as Fedora: status $?"
grep -q 'not a Debian system.*libibverbs-dev' "$T/out" || fail "scripts/deps does not name the packages"
[ ! -s "$T/log" ] || fail "apt-get is called on Fedora"
exit 0
