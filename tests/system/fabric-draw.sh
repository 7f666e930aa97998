#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse fabric draw`: well-formed SVG of each kind of fabric, the way by the tables that opensm has written, a cable that is
# pulled, loads, and names that are markup.
. "${BASH_SOURCE%/*}/lib.sh"
. "${BASH_SOURCE%/*}/fabric.inc"
command -v xmllint >/dev/null || skip "there is no xmllint here (scripts/deps --test)"
# opensm, which `ruse fabric up --sm` starts, has leaks of its own.
export "${SANITIZER_OPTIONS[@]}"

# draw NAME OPTION...: draws to $T/NAME.svg
draw() {
	local name=$1
	shift
	fabric draw -o "$T/$name.svg" "$@" || return 1
	xmllint --noout --nonet "$T/$name.svg" || die "$name.svg is not well-formed"
}

# has NAME TEXT...
has() {
	local name=$1 text
	shift
	for text; do
		grep -qF -- "$text" "$T/$name.svg" || die "$name.svg does not have: $text"
	done
}

# refused STATUS TEXT OPTION...: `ruse fabric draw` fails, says TEXT, and writes no file
refused() {
	local status=$1 text=$2 rc=0
	shift 2
	rm -f "$T/refused.svg"
	fabric draw "$@" >"$T/out" 2>"$T/err" || rc=$?
	[ $rc -eq "$status" ] || die "draw $*: status $rc"
	grep -qF -- "$text" "$T/err" || { cat "$T/err"; die "draw $* does not say: $text"; }
	[ ! -e "$T/refused.svg" ] || die "draw $* wrote a file"
	[ ! -s "$T/out" ] || die "draw $* wrote something"
}

refused 1 "no fabric is up" -o "$T/refused.svg"

for kind in "--star 40" "--fat-tree 4" "--torus 3x4x2 1" "--dragonfly 3 1 1"; do
	# shellcheck disable=SC2086 # words
	fabric up $kind || die "up $kind"
	draw kind || die "draw: $kind"
	has kind "fabric $kind: " "not active yet"
	fabric show | grep -q "^name  *${kind}\$" || die "the name is not $kind"
	fabric down
done

note "a way, and what happens to it"
fabric up --fat-tree 4 --sm >/dev/null || die "up --sm"
draw way --route H1 H16 || die "no way"
has way "way from H1 to H16: H1/1 " '→ H16<' 'class="mark"' "48 active; 4xEDR"
fabric show --route H1 H16 >"$T/route" || die "show --route"
grep -q '^result *delivered$' "$T/route" || die "show --route: $(cat "$T/route")"
# The nodes between are those that the drawing names.
while read -r node port; do
	has way "$node/$port "
done < <(sed -n '/^node /,$ { /^node /d; p }' "$T/route")
[ "$(grep -c '^\(edge\|agg\|core\)-' "$T/route")" -eq 5 ] || die "not five switches: $(cat "$T/route")"
fabric show --route H1 H16 --json | python3 -c '
import json, sys
answer = json.load(sys.stdin)
assert [h["node"] for h in answer["route"]["hops"]][0] == "H1", answer["route"]
assert len(answer["cables"]) == 48
assert all(c["state"] == "active" and c["from_bytes"] > 0 for c in answer["cables"])
assert all(("forwarding" in n) == (n["type"] == "switch") for n in answer["nodes"])
' || die "show --route --json"
draw load --load || die "--load"
has load "sent in both directions" 'class="load4"'

# Stopped, opensm finds no other way. The pulled cable is the destination's.
opensm=$(fabric sm | awk '$3 == "true" { print $2 }')
[ -n "$opensm" ] || die "no pid of opensm: $(fabric sm)"
kill -STOP "$opensm"
fabric link down H16/1
for json in '' --json; do
	# shellcheck disable=SC2086
	fabric show --route H1 H16 $json >"$T/route" && die "show --route through a pulled cable: $(cat "$T/route")"
	grep -q 'not active' "$T/route" || die "show --route $json: $(cat "$T/route")"
done
draw pulled --route H1 H16 2>"$T/err" && die "there is a way through a pulled cable"
grep -qF "there is no way from H1 to H16: a port is not active; the drawing shows where it ends" "$T/err" ||
	die "$(cat "$T/err")"
xmllint --noout --nonet "$T/pulled.svg" || die "pulled.svg is not well-formed"
has pulled "no way from H1 to H16" 'class="bad dashed"' "1 down" "47 active"
draw lost --load || die "--load"
has lost 'class="bad dashed"'
kill -CONT "$opensm"

refused 1 "there is no host H99; \`ruse fabric show\` lists the nodes" -o "$T/refused.svg" --route H1 H99
refused 1 "core-1-1 is a switch" -o "$T/refused.svg" --route core-1-1 H1
refused 2 "names of two hosts are missing" -o "$T/refused.svg" --route H1
refused 2 "names of two hosts are missing" --route H1 -o "$T/refused.svg"
refused 2 "unexpected argument '--lod'" --lod
refused 1 "$T/no/dir" -o "$T/no/dir"
fabric draw >"$T/stdout.svg" || die "standard output"
xmllint --noout "$T/stdout.svg" || die "standard output is not well-formed"
fabric down >/dev/null

note "names that are markup, with dot and without"
cat >"$T/markup" <<'END'
Switch 8 "</text><script>alert(1)</script>"
[1] "H&<1>"[1]
[2] "S2"[1]
[3] "S2"[2]

Switch 8 "S2"
[3] "]]>--><!--"[1]
[4] "--><svg onload=alert(1)>"[1]

Ca 1 "H&<1>"
Ca 1 "]]>--><!--"
Ca 2 "--><svg onload=alert(1)>"
END
fabric up "$T/markup" || die "up markup"
draw markup || die "markup"
mkdir "$T/bin"
PATH="$T/bin" "$RUSE_BUILD/ruse" fabric draw -o "$T/own.svg" || die "without dot"
# A dot that fails, one that answers nonsense, and one that never ends.
for program in 'exit 1' 'printf "node 0 x y\nnode 7777777 1 1\nstop\n"' 'while :; do :; done'; do
	printf '#!/bin/sh\n%s\n' "$program" >"$T/bin/dot"
	chmod +x "$T/bin/dot"
	timeout 60 env PATH="$T/bin" "$RUSE_BUILD/ruse" fabric draw -o "$T/bad-dot.svg" || die "dot: $program"
	cmp "$T/own.svg" "$T/bad-dot.svg" || die "another drawing with the dot: $program"
done
for name in markup own; do
	xmllint --noout --nonet "$T/$name.svg" || die "$name.svg is not well-formed"
	[ -z "$(xmllint --xpath '//*[local-name()="script" or @onload]' "$T/$name.svg" 2>/dev/null)" ] ||
		die "$name.svg has a script"
	has $name "&lt;/text&gt;&lt;script&gt;"
done
fabric down

note "1,344 nodes"
fabric up --fat-tree 16 || die "up --fat-tree 16"
draw large --load || die "large"
has large "320 switches, 1024 hosts, 3072 cables"
size=$(stat -c %s "$T/large.svg")
[ "$size" -lt 2000000 ] || die "large.svg has $size bytes"
fabric down
exit 0
