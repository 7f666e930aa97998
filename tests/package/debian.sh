#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# packaging/debian agrees with the tree: Build-Depends with scripts/deps, the changelog with its
# format.
set -eu
cd "${BASH_SOURCE%/*}/../.."
command -v dpkg-parsechangelog >/dev/null || {
	echo "SKIP: there is no dpkg-parsechangelog here"
	exit 77
}
status=0
fail()
{
	echo "debian: $*" >&2
	status=1
}

# Of the group `build` without the packages that build-essential has.
build=$(sed -n '/^build="/,/"/s/^build=//p; /^build="/,/"/{/^build=/!p}' scripts/deps | tr -d '"')
depends=$(sed -n '/^Build-Depends:/,/^[A-Z]/{/^Build-Depends:\|^ /p}' packaging/debian/control)
for package in $build; do
	case $package in
	gcc | libc6-dev | make) continue ;;
	esac
	grep -qE "(^| )$package( |,|$)" <<<"$depends" || fail "Build-Depends has no $package, which scripts/deps installs"
done
[ "$(dpkg-parsechangelog -l packaging/debian/changelog -S Source)" = ruse ] || fail "changelog is not that of ruse"
dpkg-parsechangelog -l packaging/debian/changelog --all 2>&1 >/dev/null | grep . && fail "changelog"
exit $status
