#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A model of the readiness byte: all interleavings of rused and several readers.

The two protocols are those of src/ipc/bell.h (umad) and src/ipc/ucma_shm.c (rdma_cm), one step per
access to shared memory or to the socket. A lost wake-up is a state in which rused has nothing to
do, something can be read, all living readers wait in poll(), and the socket has no byte. Reader 0
may be killed between its two steps. A third variant, in which a reader also removes a byte that it
takes for a surplus one, must lose wake-ups: it shows that the search finds them.

State: (to read, bytes in the socket, shown, filling, step of rused, owed bytes, events to come,
readers). Reader: (step, has waited in vain). Steps of a reader: look, have taken, settle (S0 ..)
after it took something (t) or before it waits (w), wait.
"""
import sys

EVENTS = 3


class Bell:
    """rused sets shown before and after it makes something readable, then sends the bytes."""

    @staticmethod
    def rused(n, b, shown, _filling, step, owed, left):
        if step == 0 and left:
            yield n, b, 1, 0, 1, owed + (not shown), left
        if step == 1:
            yield n + 1, b, shown, 0, 2, owed, left - 1
        if step == 2:
            yield n, b, 1, 0, 3, owed + (not shown), left
        if step == 3:
            yield (n, b + 1, shown, 0, 3, owed - 1, left) if owed else (n, b, shown, 0, 0, 0, left)

    @staticmethod
    def settle(step, n, b, shown, _filling):
        """(next step or "out", bytes, shown)"""
        if step == "S0":
            yield ("S1" if shown and not n else "out"), b, shown
        if step == "S1":
            yield ("S2", b, 0) if shown else ("out", b, shown)
        if step in ("S2", "S5"):
            yield ("out", b, 1) if n and not shown else ("S3" if step == "S2" else "S6", b, shown)
        if step == "S3":
            yield ("out", b - 1, shown) if b else ("S4", b, shown)
        if step == "S4" and b:
            yield "S5", b, shown
        if step == "S6":
            yield "out", max(0, b - 1), shown


class Ucma:
    """rused makes something readable, then sends a byte and sets shown, unless it is set.
    While it does so (filling), readers wait, and give up after a while.
    """

    @staticmethod
    def rused(n, b, shown, filling, step, _owed, left):
        if step == 0 and left:
            yield n, b, shown, 1, 1, 0, left
        if step == 1:
            yield n + 1, b, shown, 1, 2, 0, left - 1
        if step == 2:
            yield (n, b, 2, 1, 3, 0, left) if n and not shown else (n, b, shown, 1, 5, 0, left)
        if step == 3:
            yield n, b + 1, shown, 1, 4, 0, left
        if step == 4:
            yield n, b, 1, 1, 5, 0, left
        if step == 5:
            yield n, b, shown, 0, 0, 0, left

    @staticmethod
    def settle(step, n, b, shown, filling):
        if step == "S0":
            yield ("S1" if shown or filling else "out"), b, shown
        if step == "S1":
            yield ("out" if filling or n else "S2"), b, shown
        if step == "S2":
            yield ("S3", b, 0) if shown == 1 else ("out", b, shown)
        if step == "S3":
            if filling or n:
                yield ("S4", b, shown) if shown else ("out", b, 1)
            else:
                yield "S4", b, shown
        if step == "S4":
            yield "out", max(0, b - 1), shown


def reader(protocol, state, i, surplus):
    n, b, shown, filling, *rused, readers = state
    step, vain = readers[i]

    def to(step, n=n, b=b, shown=shown, vain=vain):
        return (n, b, shown, filling, *rused, readers[:i] + ((step, vain),) + readers[i + 1:])

    if step == "look":
        yield to("S0t", n=n - 1, vain=False) if n else to("S0w")
    elif step == "taken":       # the program reads on, or never again
        yield to("look")
        yield to("gone")
    elif step == "wait" and b:
        yield to("look", vain=True)
    elif step == "surplus":
        yield to("remove" if not shown and not filling else "wait")
    elif step == "remove":
        yield to("wait", b=max(0, b - 1))
    elif step[0] == "S":
        out = "taken" if step[2] == "t" else "surplus" if surplus and vain else "wait"
        for after, b2, shown2 in protocol.settle(step[:2], n, b, shown, filling):
            yield to(out if after == "out" else after + step[2], b=b2, shown=shown2)
        if i == 0 and step[:2] not in ("S0", "S1"):
            yield to("gone")


def lost(state):
    n, b, _, _, step, _, left, readers = state
    living = [r[0] for r in readers if r[0] != "gone"]
    return n and not b and not step and not left and living and set(living) == {"wait"}


def search(protocol, readers, surplus=False):
    """The number of states, and whether one of them is a lost wake-up."""
    first = (0, 0, 0, 0, 0, 0, EVENTS, (("look", False),) * readers)
    seen, todo = {first}, [first]
    while todo:
        state = todo.pop()
        if lost(state):
            return len(seen), True
        after = [r + state[7:] for r in protocol.rused(*state[:7])]
        for i in range(readers):
            after += reader(protocol, state, i, surplus)
        new = set(after) - seen
        seen |= new
        todo += new
    return len(seen), False


def main():
    bad = 0
    for protocol in (Bell, Ucma):
        for readers, surplus in ((1, False), (2, False), (2, True)):
            states, found = search(protocol, readers, surplus)
            print(f"{protocol.__name__}, {readers} readers, remove surplus bytes: {surplus}: "
                  f"{states} states, {'a' if found else 'no'} lost wake-up")
            bad += found != surplus
    return 1 if bad else 0


sys.exit(main())
