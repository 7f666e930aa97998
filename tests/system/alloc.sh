#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs alloc.c with both forms of the arena, a small one, none, and without ruse; and Python's multiprocessing with arrays
# in the arena.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

unset RUSE_MEMORY
"$RUSE_TESTBIN/alloc" || die "alloc.c expects what libc and the kernel do not do"
RUSE_MEMORY=private in_ruse "$RUSE_TESTBIN/alloc" || die "private"
in_ruse "$RUSE_TESTBIN/alloc" || die "default"
RUSE_MEMORY=256M in_ruse "$RUSE_TESTBIN/alloc" arena || die "arena"
RUSE_MEMORY=2M in_ruse "$RUSE_TESTBIN/alloc" || die "2M"
RUSE_MEMORY=all in_ruse "$RUSE_TESTBIN/alloc" || die "all"

# A value that is not understood is as none: only the small form, from the first device on that is opened.
cat >"$T/form.py" <<'END'
import ctypes
verbs, here = ctypes.CDLL("libibverbs.so.1"), ctypes.CDLL(None)
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
here.malloc.restype = here.aligned_alloc.restype = ctypes.c_void_p

def shared():
    kept.append(here.malloc(ctypes.c_size_t(1 << 20)))
    kept.append(here.aligned_alloc(ctypes.c_size_t(4096), ctypes.c_size_t(1 << 20)))
    with open("/proc/self/maps") as f:
        return "ruse-memory" in f.read()

kept = []
said = [shared()]
devices = verbs.ibv_get_device_list(None)
said.append(shared())
verbs.ibv_open_device(ctypes.c_void_p(devices[0]))
print(*said, shared())
END
# forms VALUE WHEN: with this value of RUSE_MEMORY there is shared memory at first, with a device list, with a device.
forms() {
	RUSE_MEMORY=$1 PRELOAD=$PRELOAD:libibverbs.so.1 in_ruse python3 "$T/form.py" >"$T/out" 2>"$T/err"
	grep -qx "$2" "$T/out" || die "RUSE_MEMORY='$1': $(cat "$T/out" "$T/err")"
}
# A sanitizer's allocator gets none.
if [ -z "$(sanitizers)" ]; then
	forms "" "False False True"
	forms 64Q "False False True"
	forms 64M "True True True"
fi

cat >"$T/mp.py" <<'END'
import ctypes, multiprocessing, sys
ctypes.CDLL("libibverbs.so.1").ibv_get_device_list(None)

def child(data, queue):
    good = data == bytes([7]) * len(data)
    data[:] = bytes([8]) * len(data)
    queue.put((good, bytearray(b"r") * 3000000))

if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        data, queue = bytearray([7]) * 5000000, context.Queue()
        children = [context.Process(target=child, args=(data, queue)) for _ in range(4)]
        for c in children:
            c.start()
        for _ in children:
            good, answer = queue.get()
            assert good and answer == b"r" * 3000000, method
        for c in children:
            c.join()
            assert c.exitcode == 0, method
        assert data == bytes([7]) * 5000000, method
    with multiprocessing.Pool(3) as pool:
        assert sum(pool.map(len, [b"x" * 1000000] * 20)) == 20000000
END
RUSE_MEMORY=256M in_ruse timeout 100 python3 "$T/mp.py" || die "Python's multiprocessing"
exit 0
