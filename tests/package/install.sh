#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# install.sh BUILD: `make install` installs what it should, the installed programs work in
# another directory, and `make uninstall` removes all of it and nothing else.
set -eu
top=$(readlink -f "${BASH_SOURCE%/*}/../..")
build=$1
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT

die()
{
	echo "install: $*" >&2
	exit 1
}

DESTDIR=$T/dest cmake --install "$build" >/dev/null || die "cmake --install failed"
want="bin/ruse /libruse.so /rused bash-completion/completions/ruse zsh/site-functions/_ruse
	/ruse/python/pyproject.toml /ruse/python/pytest_ruse/__init__.py /ruse/python/pytest_ruse/keeper.py"
! command -v rst2man >/dev/null || want="$want man1/ruse.1 man1/ruse-fault.1 man7/ruse.7 man8/rused.8"
for name in $want; do
	find "$T/dest" -type f -path "*$name" | grep -q . || die "not installed: $name"
done
version=$("$top/tools/version")
ruse=$(find "$T/dest" -path '*/bin/ruse')
[ "$("$ruse" --version)" = "ruse $version" ] || die "ruse --version: $("$ruse" --version), not $version"
rused=$(find "$T/dest" -name rused -type f)
[ "$("$rused" --version)" = "rused $version" ] || die "rused --version: $("$rused" --version), not $version"
if page=$(find "$T/dest" -name ruse.1) && [ -n "$page" ]; then
	grep -q "ruse $version" "$page" || die "ruse.1 has no version $version"
fi
RUSE_DIR=$T/run "$ruse" run printenv LD_PRELOAD | grep -qF "$T/dest" || die "ruse run does not find libruse.so"

# Python writes a directory beside the plugin's modules.
python=$(find "$T/dest" -type d -path '*/ruse/python')
if command -v python3 >/dev/null; then
	python3 -m compileall -q "$python"
	find "$python" -name __pycache__ | grep -q . || die "Python has written no directory: the test shows nothing"
fi

# A file of another package must remain.
touch "${ruse%/*}/another"
"$top/scripts/uninstall" "$build" "$T/dest" >"$T/removed"
left=$(find "$T/dest" -type f)
[ "$left" = "${ruse%/*}/another" ] || die "left behind: $left"
find "$T/dest" -type d -name ruse | grep . && die "an empty directory is left"
grep -q '/bin/ruse$' "$T/removed" || die "does not print what it removes"
"$top/scripts/uninstall" "$build" "$T/dest" >"$T/removed" || die "failed with nothing to remove"
[ ! -s "$T/removed" ] || die "removes twice"
