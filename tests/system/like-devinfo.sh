#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stock programs print what data/like has of each adapter (like-devinfo.py).
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
export "${SANITIZER_OPTIONS[@]}"

for p in ibv_devinfo rdma ibstat; do
	command -v $p >/dev/null || skip "no $p (scripts/deps --test)"
done
/usr/bin/python3 -B "${BASH_SOURCE%/*}/like-devinfo.py" "$RUSE_BUILD/ruse" "${BASH_SOURCE%/*}/../../data/like" ||
	die "like-devinfo.py"
exit 0
