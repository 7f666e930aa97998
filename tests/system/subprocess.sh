#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Python's subprocess closes descriptors in a vfork child, which shares its parent's memory: the
# parent's device must still be open.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
command -v python3 >/dev/null || skip "no python3"

in_ruse python3 - <<'PY' || die "the parent's device was closed by its children"
import errno, os, stat, subprocess

fd = os.open("/dev/infiniband/uverbs0", os.O_RDWR | os.O_CLOEXEC)

def check(when):
    try:
        os.write(fd, b"x")
        raise SystemExit(f"{when}: not the device any more")
    except OSError as e:
        if e.errno != errno.EINVAL:
            raise SystemExit(f"{when}: {e}")
    if not stat.S_ISCHR(os.fstat(fd).st_mode):
        raise SystemExit(f"{when}: not a character device")

check("before")
for close_fds in True, False:
    for i in range(5):
        subprocess.run(["true"], close_fds=close_fds, check=True,
                       stdout=subprocess.DEVNULL, input=b"")
    check(f"close_fds={close_fds}")
    try:
        subprocess.run(["/there/is/no/such/program"], close_fds=close_fds)
        raise SystemExit("found a program that is not there")
    except FileNotFoundError:
        pass
    check(f"exec failed, close_fds={close_fds}")
subprocess.run(["true"], preexec_fn=lambda: os.close(fd), check=True)
check("closed in a forked child")
os.system("true")
check("system")
os.close(fd)
PY
