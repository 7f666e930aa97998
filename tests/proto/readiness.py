#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A model of the readiness byte of src/ipc/inbox.c: all interleavings of rused and several readers.

One step per access to shared memory or to the socket. rused may withdraw a message that it has just
added. A reader may be killed, and may give up its wait for rused to finish. The faults:

- a lost wake-up: rused has nothing to do, all living readers wait in poll(), a message can be read,
  and the socket has no byte;
- a false byte: rused has nothing to do, all readers wait in poll(), none was killed, and the number
  of bytes is not that which `shown` says. A byte too many would stay for ever;
- a false poll(): the only reader, which is patient, has returned to the program, there is no
  message, and the socket has a byte. A program that reads after poll() would block.

Each step of the protocol is then left out in turn, and a step is added that removes a byte which
looks like a surplus one: the search must find a fault in each of these variants.
"""
import sys
from typing import NamedTuple

MESSAGES = 3

# Variants: the protocol without a step.
VARIANTS = {
    "second look": "a reader that has cleared shown does not look at the ring again",
    "restore": "its second look finds a message, and it removes its byte nevertheless",
    "filling": "a reader does not look whether rused is adding messages",
    "last": "rused looks at shown before it adds the message",
    "look": "rused does not look whether a message is there before it sends the byte",
    "surplus": "a reader that was woken in vain removes a byte if shown is not set",
}


class State(NamedTuple):
    ready: int          # messages that can be read
    held: int           # the socket's bytes
    shown: int
    filling: bool
    rused: str          # its next step
    seen: int           # what rused has read of shown: only in the variant "last"
    left: int           # messages to come
    killed: bool
    readers: tuple      # of (next step, has waited in vain)


def rused(s, without):
    step = s.rused
    if step == "idle" and s.left:
        yield s._replace(filling=True, rused="peek" if without == "last" else "add")
    elif step == "peek":
        yield s._replace(seen=s.shown, rused="add")
    elif step == "add":
        after = s._replace(left=s.left - 1, rused="shown" if without == "look" else "look")
        yield after._replace(ready=s.ready + 1)
        yield after
    elif step == "look":
        yield s._replace(rused="shown" if s.ready else "filled")
    elif step == "shown":
        shown = s.seen if without == "last" else s.shown
        yield s._replace(shown=1, rused="filled" if shown else "send")
    elif step == "send":
        yield s._replace(held=s.held + 1, rused="filled")
    elif step == "filled":
        yield s._replace(filling=False, rused="idle")


def settle(s, step, without, patient):
    """(next step or "out", changes)"""
    if step == "any":
        yield ("filling1" if s.shown or s.filling else "out"), {}
    elif step in ("filling1", "filling2"):
        if not s.filling or without == "filling":
            yield step.replace("filling", "look"), {}
        elif not patient:
            yield ("out" if step == "filling1" else "restore"), {}
    elif step == "look1":
        yield ("out" if s.ready else "clear"), {}
    elif step == "clear":
        after = "remove" if without == "second look" else "filling2"
        yield (after if s.shown else "out"), {"shown": 0}
    elif step == "look2":
        yield ("restore" if s.ready else "remove"), {}
    elif step == "restore":
        if s.shown or without == "restore":
            yield "remove", {}
        else:
            yield "out", {"shown": 1}
    elif step == "remove":
        yield "out", {"held": max(0, s.held - 1)}


def reader(s, i, without, patient):
    step, vain = s.readers[i]

    def to(step, vain=vain, **changes):
        readers = s.readers[:i] + ((step, vain),) + s.readers[i + 1:]
        return s._replace(readers=readers, **changes)

    if step == "look":
        yield to("any:taken", vain=False, ready=s.ready - 1) if s.ready else to("any:wait")
    elif step == "taken":       # the program reads on, or never again
        yield to("look")
        yield to("gone")
    elif step == "wait" and s.held:
        yield to("look", vain=True)
    elif step == "surplus":
        yield to("wait" if s.shown or s.filling else "drop")
    elif step == "drop":
        yield to("wait", held=max(0, s.held - 1))
    elif ":" in step:
        at, out = step.split(":")
        if out == "wait" and without == "surplus" and vain:
            out = "surplus"
        for after, changes in settle(s, at, without, patient):
            yield to(out if after == "out" else f"{after}:{step.split(':')[1]}", **changes)
        if i == 0 and not patient and at != "any":
            yield to("gone", killed=True)


def fault(s, patient):
    living = {r[0] for r in s.readers} - {"gone"}
    if patient and living <= {"taken", "wait"} and s.held and not s.ready:
        return "false poll()"
    if s.rused != "idle" or s.left or living != {"wait"}:
        return None
    if s.ready and not s.held:
        return "lost wake-up"
    if not s.killed and s.held != s.shown:
        return "false byte"
    return None


def search(readers, without=None, patient=False):
    """The number of states, and a fault or None."""
    first = State(0, 0, 0, False, "idle", 0, MESSAGES, False, (("look", False),) * readers)
    seen, todo = {first}, [first]
    while todo:
        s = todo.pop()
        if fault(s, patient):
            return len(seen), fault(s, patient)
        after = list(rused(s, without))
        for i in range(readers):
            after += reader(s, i, without, patient)
        new = set(after) - seen
        seen |= new
        todo += new
    return len(seen), None


def main():
    bad = 0
    cases = ((1, True), (1, False), (2, False))
    for readers, patient in cases:
        states, found = search(readers, None, patient)
        print(f"{readers} readers, patient: {patient}: {states} states, {found or 'no fault'}")
        bad += bool(found)
    for without, text in VARIANTS.items():
        found = [search(readers, without, patient)[1] for readers, patient in cases]
        print(f"{text}: {', '.join(sorted(set(found) - {None})) or 'NO FAULT FOUND'}")
        bad += not any(found)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
