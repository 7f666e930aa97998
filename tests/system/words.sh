#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The commands of rused that consist of words, `fabric` and `fault`, with too few, too many, empty,
# very long and meaningless words. rused must answer each command, and must be the same process with
# the same fabric at the end.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

here=$(dirname "$(readlink -f "$0")")
export RUN=$RUSE_DIR

fabric() { "$RUSE_BUILD/ruse" fabric "$@"; }
fault() { "$RUSE_BUILD/ruse" fault "$@"; }

fabric up --star 3 >/dev/null || die "fabric up"
pid=$(rused_pid) || die "no rused"

# By the program `ruse`: each of these commands fails with a message that gives the reason.
for words in link node 'link up' 'node on' 'link up H1' 'node on NOSUCH' up 'up --star' \
	'up --torus' 'up --dragonfly 1' 'address x' 'down x' nothing; do
	# shellcheck disable=SC2086
	if fabric $words >"$T/out" 2>&1; then die "fabric $words: accepted"; fi
	grep -q '^ruse fabric: ' "$T/out" || { cat "$T/out"; die "fabric $words: no reason"; }
done

# By the socket: messages that the program would not send.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here timeout 250 python3 - <<'PY' || die "see above"
import json
from rused_client import *

ANSWERS = 0

def ask(kind, body):
    global s, ANSWERS
    text = b""
    s.send(message(kind, body))
    while True:
        reply = s.recv(16384)
        assert reply, ("closed at", kind, body[:80])
        flags, err = struct.unpack("<4xH6xi", reply[:16])
        assert not err, (err, body[:80])
        text += reply[16:]
        if not flags & 2:
            break
    ANSWERS += 1
    answer = json.loads(text.decode(errors="replace"))
    assert isinstance(answer, dict), text
    return answer

s = connect()
assert call(s, HELLO, hello_body(os.getpid(), b"words", b""))[0] == 0

odd = [b"", b"/", b"H1/", b"/1", b"H1/99999999999999999999", b"-1", b"0", b"%s%n", b"x" * 200,
       b"x" * 4200, b"\xff\xfe", b"--star", b"on", b"up", b"1/1/1", b"::/0", b"1.2.3.4/33", b"nan",
       b"0x", b"1.2.3.4/", b"xxx", b"all", b"1e400%", b"%", b"..", b"5ms"]

fabric = [b"link", b"node", b"show", b"address", b"", b"nothing", b"up"]
kinds = [b"--star", b"--fat-tree", b"--torus", b"--dragonfly", b"/dev/null", b"/", b"-"]
for name in fabric:
    ask(FABRIC, name + b"\0")
    ask(FABRIC, name)                               # without its NUL
    for n in (2, 3, 15, 16, 17, 40):
        ask(FABRIC, (name + b"\0") * n)
    for a in odd + kinds:
        ask(FABRIC, name + b"\0" + a + b"\0")
        for b in odd:
            ask(FABRIC, name + b"\0" + a + b"\0" + b + b"\0")
    for length in (4351, 4352, 4353, 16000):
        ask(FABRIC, name + b"\0" * length)
        ask(FABRIC, name + b"\0" + b"x" * length + b"\0")
ask(FABRIC, b"")

# Fabrics of every kind with sizes that are mostly impossible; then the first fabric again.
topology = ask(FABRIC, b"show\0--topology\0")["topology"]
assert "error" not in ask(FABRIC, b"down\0")
sizes = [b"0", b"1", b"3", b"65536", b"65537", b"-1", b"", b"x", b"9" * 30]
for kind in kinds:
    for n in range(5):
        for size in sizes:
            body = b"\0".join([b"up", kind] + [size] * n) + b"\0"
            answer = ask(FABRIC, body)
            if "error" not in answer:
                ask(FABRIC, b"down\0")
for dims in (b"x", b"xx", b"0x0", b"65536x65536x65536x65536", b"1x1x1x1x1x1x1x1x1x1", b"-1x4", b"4x"):
    assert "error" in ask(FABRIC, b"up\0--torus\0" + dims + b"\0") or ask(FABRIC, b"down\0") == {}
assert "error" not in ask(FABRIC, b"up\0--star\0" b"3\0")
assert ask(FABRIC, b"show\0--topology\0")["topology"] == topology

faults = [b"add", b"del", b"list", b"seed", b"down", b"up", b"freeze", b"thaw", b"nothing"]
words = [b"drop", b"corrupt", b"duplicate", b"reorder", b"delay", b"rate", b"rnr", b"error", b"freeze",
         b"nth", b"every", b"times", b"op", b"service", b"qp", b"from-qp", b"to-qp", b"dir", b"dev",
         b"peer", b"psn", b"size", b"jitter"]
for line in [b"", b" ", b"\0", b"\n", b"add\0drop", b"x" * 255, b"x" * 256, b"x" * 16000,
             b" ".join([b"a"] * 128), b" ".join([b"add"] * 41), b"\xff"]:
    ask(FAULT, line)
for name in faults:
    ask(FAULT, name)
    for a in words + odd:
        ask(FAULT, b" ".join([name, a]))
        for b in odd:
            ask(FAULT, b" ".join([name, a, b]))
            if a in words:
                ask(FAULT, b" ".join([name, b"drop", a, b]))
ask(FAULT, b"del all")

# Capture requests with a socket name that is empty, does not exist, or has no terminating NUL.
for sock in (b"", b"x" * 32, b"\xff" * 32, b"nothing"):
    c = connect()
    assert call(c, HELLO, hello_body(os.getpid(), b"words", b""))[0] == 0
    try:
        call(c, CAPTURE, (sock + bytes(40))[:32] + bytes(8))
    except (EOFError, ConnectionResetError):
        pass                                        # such a client is disconnected
    c.close()
ask(FAULT, b"list")
print("#", ANSWERS, "answers")
PY
[ "$(rused_pid)" = "$pid" ] || die "another rused: the first is gone"
fabric show >/dev/null || die "the fabric is gone"

# Scripts with a line longer than any buffer: the tail of a comment is not taken for a command, and a long
# command is refused with its line number.
{
	printf '# %0300d' 0
	echo ' add drop 1%'
	printf '#%0253d' 0	# the command would begin where a buffer of 256 bytes ends
	echo 'add drop 1%'
} >"$T/script"
fault run "$T/script" || die "comments are refused"
printf 'add drop 1%%%0300d\nadd drop 2%%\n' 0 >"$T/script2"
if fault run "$T/script2" 2>"$T/err"; then die "a long line is accepted"; fi
grep -q 'line 1 of' "$T/err" || { cat "$T/err"; die "the wrong line is blamed"; }
for wait in 'wait nans' 'wait 1e300s' 'wait -1s' 'wait infs' 'wait' 'wait 5'; do
	echo "$wait" >"$T/script3"
	if timeout 20 "$RUSE_BUILD/ruse" fault run "$T/script3" 2>/dev/null; then die "$wait: accepted"; fi
done
if fault list | grep -q drop; then die "a rule from a comment"; fi
# shellcheck disable=SC2046
if fault $(printf 'x%.0s ' {1..200}) 2>/dev/null; then die "a long command is accepted"; fi
exit 0
