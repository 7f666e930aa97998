#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Large objects, threads, forks, children, mapped files and garbage: what it prints is the same in each run."""
import gc
import hashlib
import mmap
import os
import subprocess
import sys
import tempfile
import threading
import zlib


def blob(seed, size):
    return hashlib.shake_128(str(seed).encode()).digest(size)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def churn(seed, out):
    kept = []
    for i in range(30):
        kept.append(bytearray(blob(seed * 1000 + i, 40000 * (1 + i % 9))))
        kept[-1] += b"grown" * 50000
        if len(kept) > 8:
            del kept[i % 7]
    out[seed] = digest(b"".join(bytes(k) for k in kept))


def in_child(data, check):
    """Forks; the child has the data as it is, and changes its copy."""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(r)
        before = digest(data)
        data[:] = b"\0" * len(data)
        more = bytearray(blob(5, 3000000))
        os.write(w, f"{before} {digest(data)} {digest(more)}".encode())
        os._exit(0)
    os.close(w)
    data[check] ^= 1
    with os.fdopen(r) as f:
        said = f.read()
    assert os.waitpid(pid, 0)[1] == 0
    return said


def mapped(size):
    with tempfile.TemporaryFile() as f:
        f.write(blob(9, size))
        f.flush()
        private = mmap.mmap(f.fileno(), size, flags=mmap.MAP_PRIVATE,
                            prot=mmap.PROT_READ | mmap.PROT_WRITE)
        shared = mmap.mmap(f.fileno(), size)
        anon = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        shared[100000:100100] = b"x" * 100
        private[0:100] = b"y" * 100
        anon[:] = private[:]
        anon.resize(2 * size)
        result = digest(private), digest(shared), digest(anon)
        for m in (private, shared, anon):
            m.close()
    return result


def main():
    out = {}
    threads = [threading.Thread(target=churn, args=(i, out)) for i in range(4)]
    for t in threads:
        t.start()
    data = bytearray(blob(1, 4000000))
    print("fork", [in_child(data, i) for i in range(4)])
    for t in threads:
        t.join()
    print("threads", sorted(out.items()))
    print("own", digest(data))
    print("mapped", mapped(3 << 20))
    packed = zlib.compress(bytes(data) * 3)
    print("zlib", digest(zlib.decompress(packed)))
    said = subprocess.run([sys.executable, "-c", "print(len(bytes(5000000)))"], input=bytes(data),
                          stdout=subprocess.PIPE, check=True).stdout
    print("program", said)
    cycles = []
    for i in range(50):
        a = [bytearray(200000)]
        a.append(a)
        cycles.append(a)
        cycles[:] = cycles[-5:]
    print("garbage", gc.collect() >= 0)
    with open("/proc/self/maps", encoding="utf-8") as f:
        print("ruse-memory", sum("/memfd:ruse-memory" in line for line in f), file=sys.stderr)


main()
