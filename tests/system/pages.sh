#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# page.py and valid, with which other tests look at pages and drawings: each page of pages/ has one fault, which must be
# found, and no other; good.html and good.svg have none.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
export TMPDIR=$T
here=$(realpath "${BASH_SOURCE%/*}")
RUSE_DIRS=("$T/none")

# page STATUS FILE OPTION...: opens the page; what is found is in $T/json
page() {
	local want=$1 file=$2 status=0
	shift 2
	/usr/bin/python3 -B "$here/page.py" --timeout 100 "$here/pages/$file" "$@" >"$T/json" 2>"$T/err" || status=$?
	[ $status = 77 ] && skip "$(cat "$T/json")"
	[ $status = "$want" ] || die "page.py $file $*: status $status, not $want: $(cat "$T/json" "$T/err")"
}
# found EXPRESSION: is it true of what was found, p?
found() {
	/usr/bin/python3 -c 'import json, sys; p = json.load(open(sys.argv[1])); sys.exit(not eval("(" + sys.argv[2] + ")"))' \
		"$T/json" "$1" || die "not true: $1: $(cat "$T/json")"
}
# faulty FILE PROBLEMS EXPRESSION OPTION...: the page has these problems and no others
faulty() {
	local file=$1 problems=$2 expression=$3
	shift 3
	page 1 "$file" --check "$@"
	found "p['problems'] == '$problems'.split()"
	found "$expression"
}

page 0 good.html --check --light --screenshot "$T/light.png" --text "$T/text"
found "len(p['scripts']) == 1 and p['elements'] > 10 and p['load_ms'] > 0"
for line in 'A page without faults' 'Names with markup: <img src=x onerror="hacked = 1">' 'It is light.' \
	'second line' 'its script has run'; do
	grep -qxF "$line" "$T/text" || die "the text of good.html lacks: $line: $(cat "$T/text")"
done
grep -q 'dark\|hidden' "$T/text" && die "good.html has text that is not seen: $(cat "$T/text")"
page 0 good.html --check --dark --width 400 --screenshot "$T/dark.png"
found "'It is dark.' in p['text'] and 'It is light.' not in p['text']"
file_size() { /usr/bin/python3 -c 'import struct, sys; print(*struct.unpack(">8x8x2I", open(sys.argv[1], "rb").read(24)))' "$1"; }
[ "$(file_size "$T/light.png") $(file_size "$T/dark.png")" = "1280 800 400 800" ] || die "the screenshots have another size"
page 0 good.svg --check
found "'a text' in p['text']"

faulty request.html "errors requests" "set(p['requests']) == {'http://image.example/x.png', 'https://fetch.example/',
	'wss://socket.example/', 'https://ahead.example/'}"
faulty worker.html requests "p['requests'] == ['https://worker.example/'] and len(p['scripts']) == 2"
faulty console.html errors "p['errors'][0] == 'this is wrong' and 'undefined_function' in p['errors'][1]"
faulty csp.html errors "'Content Security Policy' in p['errors'][0] and not p['scripts']"
faulty handler.html hacked "p['hacked'] == ['1'] and p['scripts'][0]['text'] == 'window.hacked = 1'"
faulty dialog.html hacked "p['hacked'] == ['alert: 2']"
faulty overlap.html "overlaps clipped" "p['overlaps'] == [['the first text', 'the second text']] and
	p['clipped'] == ['the cut text']"
faulty wide.html wide "p['wide'] == ['<p> 600 pixels']" --width 400
page 0 wide.html --check
page 1 hang.html --timeout 5
grep -q 'did not answer in time' "$T/err" || die "hang.html: $(cat "$T/err")"
page 1 none.html
# No process of a browser is left, not even of one that was ended.
browsers() { grep -lz -- "--user-data-dir=$T/" /proc/[0-9]*/cmdline 2>/dev/null; }
wait_for 20 eval '! browsers' || die "left: $(browsers)"

# valid STATUS KIND FILE
valid() {
	local want=$1 status=0
	shift
	"$here/valid" "$1" "$here/pages/$2" >"$T/out" 2>&1 || status=$?
	[ $status = 77 ] && skip "$(cat "$T/out")"
	[ $status = "$want" ] || die "valid $*: status $status, not $want: $(cat "$T/out")"
}
valid 0 html good.html
valid 0 html overlap.html
valid 1 html invalid.html
grep -q 'anchor "x" already defined' "$T/out" || die "invalid.html: $(cat "$T/out")"
valid 0 svg good.svg
valid 1 svg invalid.svg
grep -q 'attribute high of element rect' "$T/out" || die "invalid.svg: $(cat "$T/out")"
sed 's/ viewBox=/ high=/' "$here/pages/good.html" >"$T/drawing.html"
"$here/valid" html "$T/drawing.html" >"$T/out" && die "a wrong drawing in a page is valid"
grep -q 'drawing 1: xmllint' "$T/out" || die "drawing.html: $(cat "$T/out")"
# What the rooms and scripts draw.
drawings=0
for file in "$here"/../../src/*/golden/*.svg "$here"/../bench/golden/*.svg "$here"/../../doc/pictures/*.svg; do
	"$here/valid" svg "$file" >"$T/out" || die "$(cat "$T/out")"
	drawings=$((drawings + 1))
done
[ $drawings -ge 14 ] || die "only $drawings drawings"
exit 0
