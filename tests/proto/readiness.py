#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Models of two wake-up protocols: all interleavings.

The bell of src/shared/bell.h: a sleeper and several wakers. One step per access to shared memory. A
store that no barrier follows may reach the others after later loads of the same side. The fault:

- a lost wake-up: all wakers have finished, the sleeper sleeps, there is something to do, and no
  wake-up is on its way.

The readiness byte of src/ipc/inbox.c: rused and several readers.

One step per access to shared memory or to the socket. rused may withdraw a message that it has just
added. A reader may be killed, and may give up its wait for rused to finish. The faults:

- a lost wake-up: rused has nothing to do, all living readers wait in poll(), a message can be read,
  and the socket has no byte;
- a false byte: rused has nothing to do, all readers wait in poll(), none was killed, and the number
  of bytes is not that which `shown` says. A byte too many would stay for ever;
- a false poll(): the only reader, which is patient, has returned to the program, there is no
  message, and the socket has a byte. A program that reads after poll() would block.

Each step of a protocol is then left out in turn, and for the byte a step is added that removes one
which looks like a surplus one: the search must find a fault in each of these variants.
"""
import sys
from typing import NamedTuple

MESSAGES = 3

# The bell without a step.
BELL_VARIANTS = {
    "look again": "the sleeper does not look again after bell_want()",
    "want first": "the sleeper looks, and then calls bell_want()",
    "post first": "a waker calls bell_take(), and then adds something to do",
    "sleeper's barrier": "bell_want() has no barrier",
    "waker's barrier": "a waker has no barrier before bell_take()",
    "hush last": "the sleeper calls bell_hush() between bell_want() and its look",
}


class Bell(NamedTuple):
    posted: int         # things to do
    want: bool
    rings: int          # wake-ups on their way; an eventfd merges them
    sleeper: str        # its next step
    taken: int          # what it has done of `posted`
    late: bool          # its store of want has not reached the others
    wakers: tuple       # of (next step, posts left, posts that have not reached the others)


def bell_sleeper(s, without):
    def to(step, **changes):
        return s._replace(sleeper=step, **changes)

    first = "look" if without == "want first" else "want"
    if s.late:                  # the store arrives at any time
        yield s._replace(late=False, want=True)
    if s.sleeper == "work":     # awake: does what there is to do, then means to sleep
        yield to("work", taken=s.posted) if s.taken != s.posted else to(first)
    elif s.sleeper == "want":
        after = "sleep" if without in ("want first", "look again") else "look"
        if without == "hush last":
            yield to("hush first")
        elif without == "sleeper's barrier":
            yield to(after, late=True)
        else:
            yield to(after, want=True)
    elif s.sleeper == "look":
        after = "want" if without == "want first" else "sleep"
        yield to("hush") if s.taken != s.posted else to(after)
    elif s.sleeper == "hush first":     # the variant "hush last"
        yield to("look", want=False)
    elif s.sleeper == "sleep" and s.rings:
        yield to("hush", rings=0)
    elif s.sleeper == "hush":
        yield to("work", want=False, late=False)


def bell_waker(s, i, without):
    step, left, late = s.wakers[i]

    def to(step, left=left, late=late, **changes):
        return s._replace(wakers=s.wakers[:i] + ((step, left, late),) + s.wakers[i + 1:], **changes)

    first, then = ("take", "post") if without == "post first" else ("post", "take")
    if late:
        yield to(step, late=0, posted=s.posted + late)
    if step == "idle" and left:
        yield to(first, left=left - 1)
    elif step == "post":
        after = "idle" if first == "take" else then
        if without == "waker's barrier":
            yield to(after, late=late + 1)
        else:
            yield to(after, posted=s.posted + 1)
    elif step == "take":        # a load, then an exchange
        yield to("xchg" if s.want else ("post" if first == "take" else "idle"))
    elif step == "xchg":
        after = "post" if first == "take" else "idle"
        # An exchange is a full barrier: stores before it have arrived.
        yield to("ring", want=False, late=0, posted=s.posted + late) if s.want else to(after)
    elif step == "ring":
        yield to("post" if first == "take" else "idle", rings=s.rings + 1)


def bell_search(wakers, without=None):
    """The number of states, and a fault or None."""
    first = Bell(0, False, 0, "work", 0, False, (("idle", 2, 0),) * wakers)
    seen, todo = {first}, [first]
    while todo:
        s = todo.pop()
        after = list(bell_sleeper(s, without))
        for i in range(wakers):
            after += bell_waker(s, i, without)
        if not after and s.taken != s.posted:
            return len(seen), "lost wake-up"
        new = set(after) - seen
        seen |= new
        todo += new
    return len(seen), None


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
    for wakers in (1, 2, 3):
        states, found = bell_search(wakers)
        print(f"bell, {wakers} wakers: {states} states, {found or 'no fault'}")
        bad += bool(found)
    for without, text in BELL_VARIANTS.items():
        found = [bell_search(wakers, without)[1] for wakers in (1, 2)]
        print(f"{text}: {', '.join(sorted(set(found) - {None})) or 'NO FAULT FOUND'}")
        bad += not any(found)
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
