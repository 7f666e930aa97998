#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The programs of examples/ compile without a warning, pass `ruse run --strict`, print what doc/examples.md says, and say
# what is wrong if there is no device. The race of race.c shows with a rule of `ruse fault`, and is mended in race-fixed.
# Each answer to an exercise of doc/examples.md is what the changed program or `ruse explain` prints. Numbers may differ.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"
command -v make >/dev/null || skip "no make"

PORT=18515	# a constant of the programs; this network namespace has no other user
LIMIT=200
top=$(readlink -f "${BASH_SOURCE%/*}/../..")
document=$top/doc/examples.md
ruse=$(readlink -f "$RUSE_BUILD")/ruse
export "${SANITIZER_OPTIONS[@]}"
unset GITHUB_STEP_SUMMARY
mkdir "$T/all"
cp "$top"/examples/* "$T/all"
cd "$T/all" || die "no directory"
make -s -B CFLAGS="-O2 -Wall -Wextra -Werror" || die "it does not compile"
for file in "$top"/examples/*.[chp]*; do
	lines=$(wc -l <"$file")
	[ "$lines" -le 150 ] || die "$file has $lines lines"
done

# plain: with N in place of each number
plain() { sed -E 's/0x[0-9a-f]+/N/g; s/[0-9]+(\.[0-9]+)?/N/g'; }
# told FILE: each line of the file is output in the document
told() {
	local line
	while read -r line; do
		plain <"$document" | grep -qxF -- "    $line" || die "not in $document: $line"
	done < <(plain <"$1")
}

ready() { listening "$PORT" || { [ "$1" = cm ] && cm_listening "$PORT"; }; }

# both STATUS PROGRAM [ADDRESS]: both ends under --strict. Output in server.out and client.out. STATUS: of both
both() {
	local want=$1 program=$2 server status=0
	timeout $LIMIT "$ruse" run --strict "./$program" >server.out 2>&1 </dev/null &
	server=$!
	wait_for 60 ready "$program" || die "$program does not listen: $(cat server.out)"
	timeout $LIMIT "$ruse" run --strict "./$program" localhost >client.out 2>&1 </dev/null || status=$?
	[ $status = "$want" ] || die "$program localhost: status $status: $(cat client.out server.out)"
	wait $server || status=$?
	[ $status = "$want" ] || die "$program: status $status: $(cat server.out)"
}

# Not race: without a rule it rarely fails.
for program in pingpong write events ud cm race-fixed; do
	note $program
	both 0 $program
	case $program in
	pingpong) [ "$(cat server.out client.out | grep -c '^1000 round trips')" = 2 ] || die "$(cat ./*.out)" ;;
	*) told server.out; told client.out ;;
	esac
done
if /usr/bin/python3 -c 'import pyverbs' 2>/dev/null; then
	note loopback.py
	timeout $LIMIT "$ruse" run --strict ./loopback.py >server.out 2>&1 || die "loopback.py: $(cat server.out)"
	told server.out
fi

note "the race"
"$ruse" fault add delay 5ms op WRITE >/dev/null || die "fault add"
both 1 race
grep -qE '^[1-9][0-9]* of 100 records were stale' server.out || die "race: $(cat server.out)"
told server.out
! "$ruse" explain last | grep -q 'RX-' || die "the race is a failure of RDMA: $("$ruse" explain last)"
both 0 race-fixed
told server.out
"$ruse" fault del all >/dev/null

# fewer than the client tries to send one
note "lost datagrams"
"$ruse" fault add drop nth 1 times 3 service UD >/dev/null || die "fault add"
both 0 ud
grep -qE '^100 answers, [1-9]' client.out || die "ud: $(cat client.out)"
told client.out
"$ruse" fault del all >/dev/null

# answer N: an exercise's answer in the document
answer() { sed -n '/^### Answers/,$p' "$document" | sed -n "s/^$1\. \`\(.*\)\`\$/\1/p" | tr "'" '`' | plain; }
# asked N: the answer is in the output of the programs or of `ruse explain`
asked() {
	local text
	text=$(answer "$1")
	[ -n "$text" ] || die "exercise $1 has no answer"
	{ "$ruse" explain last; cat ./*.out; } >all.txt
	tr "'" '`' <all.txt | plain | grep -qF -- "$text" || { cat all.txt >&2; die "exercise $1: not '$text'"; }
	note "exercise $1: $text"
}
n=0
while read -r -u 3 change; do
	n=$((n + 1))
	mapfile -t files < <(grep -o '[a-z]*\.c' <<<"$change")
	program=${files[0]%.c}
	cp "$top"/examples/* .
	bash -c "$change" || die "exercise $n: $change"
	cat "${files[@]}" >changed
	(cd "$top/examples" && cat "${files[@]}") | cmp -s - changed && die "exercise $n changes nothing: $change"
	make -s -B "$program" CFLAGS="-O2 -Wall -Werror" || die "exercise $n does not compile"
	timeout $LIMIT "$ruse" run --strict "./$program" >server.out 2>&1 </dev/null &
	wait_for 60 ready "$program" || die "exercise $n: it does not listen: $(cat server.out)"
	timeout $LIMIT "$ruse" run --strict "./$program" localhost >client.out 2>&1 </dev/null &&
		die "exercise $n succeeds: $(cat client.out)"
	wait
	asked $n
done 3< <(sed -n "s/^[0-9]*\. \`\(sed -i .*\)\`\$/\1/p" "$document")
[ $n = 8 ] || die "$n exercises were found"
rm -f server.out
"$ruse" run ./cm localhost >client.out 2>&1 && die "cm connects to nothing"
asked 9

[ ! -e /sys/class/infiniband ] || exit 0
for program in pingpong write; do
	"./$program" >none.out 2>&1 && die "$program works without ruse"
	grep -q "^$program: no device" none.out || die "without ruse: $(cat none.out)"
done
exit 0
