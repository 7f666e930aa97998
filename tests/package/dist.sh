#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `make dist`: two runs, in two clones with other times, umasks and git settings, give the same
# file, and it has every file of the commit.
set -eu
top=$(readlink -f "${BASH_SOURCE%/*}/../..")
[ "$(git -C "$top" rev-parse --show-toplevel 2>/dev/null)" = "$top" ] || {
	echo "SKIP: this is not a clone of the git repository"
	exit 77
}
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT

die()
{
	echo "dist: $*" >&2
	exit 1
}

git clone -q --shared "$top" "$T/one"
(umask 077 && git clone -q --shared "$top" "$T/two")
git -C "$T/two" config tar.umask 0
touch -d 2001-01-01 "$T/two/README.md"
one=$("$T/one/scripts/dist" "$T/out1") || die "failed"
two=$(umask 077 && TZ=Asia/Tokyo LC_ALL=C GZIP='' "$T/two/scripts/dist" "$T/out2") || die "failed with umask 077"
[ "$one" = "$two" ] || die "two runs differ: $one, $two"

version=$("$top/tools/version")
file=$T/out1/ruse-$version.tar.gz
[ "$(ls "$T/out1")" = "${file##*/}" ] || die "files in the directory: $(ls "$T/out1")"
tar -tzf "$file" | sed -n "s,^ruse-$version/,,p" | grep -v -e '/$' -e '^$' | sort >"$T/have"
git -C "$T/one" ls-files | sort >"$T/want"
diff "$T/want" "$T/have" || die "the tarball's files are not those of the commit"

# The last commit, not the files beside it.
echo "a change" >>"$T/one/README.md"
[ "$("$T/one/scripts/dist" "$T/out3" 2>"$T/err")" = "$one" ] || die "uncommitted changes are in the tarball"
grep -q uncommitted "$T/err" || die "no word of uncommitted changes"
