#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Compares the diagnostics on a fabric of rused with the same tools, the same opensm and the same
# topology on ibsim:
#
#   fabric-ibsim.sh FABRIC...  words of `ruse fabric up`; FABRIC_LONG: many fabrics, all nodes
#
# Not compared:
# - ibsim's umad has no RMPP: its tools see only the first packet of a long answer of the SA. Such
#   answers are compared up to that.
# - With -G the tools ask the SA by RMPP and fail on ibsim. On ruse they are compared with the
#   same call by LID.
# - ibsim's hardware differs (other_hardware()), and so do counters of data.
# - Servers (ibping -S, ibsysstat -S) get no request from another ibsim client, and ibsim's ports
#   stay Active when ibportstate disables them; fabric.sh and fabric-sm.sh test both.
# - ibsim has PortOpRcvCounters, PortVLOpPackets and PortVLOpData, always 0, which ruse lacks.
#   ruse has PortXmitDataSL and PortRcvDataSL, AllPortSelect of HCAs, GUIDInfo of switches, and
#   routes with a LID part and a directed part, as ibportstate needs for a switch's peer.
. "${BASH_SOURCE%/*}/lib.sh"
. "${BASH_SOURCE%/*}/fabric.inc"
# Set by survey().
S='' C='' G='' SG='' CG=''
S1='' C1='' C2='' G1='' G2='' P1='' P2='' N2='' first='' second='' guid='' absent=''
command -v ibsim >/dev/null || skip "there is no ibsim here"

# at HOST CMD...: runs CMD in the current world, ruse or ibsim
at() {
	local host=$1
	shift
	if [ $world = ruse ]; then
		on "$host" "$@"
	else
		# ibsim-run creates a directory in the current one.
		(cd "$T" && SIM_HOST=$host exec ibsim-run timeout 60 "$@")
	fi
}

# start: starts opensm, which keeps running: the tools ask its SA
start() {
	local dir=$T/opensm.$world
	rm -rf "$dir"
	mkdir "$dir"
	cp "$T/guid2lid" "$dir"
	if [ $world = ruse ]; then
		fabric up "$T/topology" || die "up"
	else
		export IBSIM_SOCKNAME=ruse-$$-$RANDOM
		(cd "$T" && exec ibsim -s -n "$T/topology" </dev/null >"$T/ibsim.out" 2>&1) &
		sim=$!
		ready() { grep -q 'simulator ready' "$T/ibsim.out" 2>/dev/null; }
		wait_for 20 ready || die "ibsim: $(cat "$T/ibsim.out")"
	fi
	(
		export OSM_TMP_DIR=$dir OSM_CACHE_DIR=$dir
		cd "$dir" || exit 1
		if [ $world = ruse ]; then
			export LD_PRELOAD=$PRELOAD RUSE_HOST=$first
		else
			export LD_PRELOAD=$umad2sim SIM_HOST=$first
		fi
		exec env "${SANITIZER_OPTIONS[@]}" opensm -x -g "$guid" -f "$dir/log" >"$dir/out" 2>&1
	) &
	opensm=$!
	# opensm writes this file at the end of a sweep; its log is buffered.
	up() { [ -s "$dir/opensm-subnet.lst" ]; }
	wait_for 60 up || { cat "$dir"/*; die "$world: opensm"; }
}

stop() {
	kill $opensm
	wait $opensm 2>/dev/null
	if [ $world = ruse ]; then
		fabric down
	else
		kill "$sim"
		wait "$sim" 2>/dev/null
	fi
}

# calls: prints the tools' calls, one per line. $S... are LIDs of switches, $C... of HCA ports.
calls() {
	local l p
	cat <<-END
		ibnetdiscover
		ibnetdiscover -p
		ibnetdiscover -f
		ibnetdiscover -l
		ibnetdiscover -g
		ibhosts
		ibswitches
		ibnodes
		ibrouters
		iblinkinfo
		iblinkinfo -l
		iblinkinfo --switches-only
		iblinkinfo -D 0
		ibqueryerrors
		ibqueryerrors --details
		ibqueryerrors -k
		ibqueryerrors -K
		ibqueryerrors -s PortXmitWait
		dump_lfts
		dump_mfts
		dump_lfts -n
		sminfo
		sminfo $C1
		ibaddr
		ibaddr $C2
		ibaddr -g $C2
		ibaddr -l $C2
		ibaddr -L $C2
		ibidsverify
		ibtracert $C1 $C2
		ibtracert $C2 $C1
		ibtracert $C2 $S1
		ibtracert -G $G1 $G2
		ibtracert -m $mlid $C1 $C2
		saquery
		saquery -p
		saquery -N
		saquery -D
		saquery -g
		saquery -m
		saquery -s
		saquery -x
		saquery -c
		saquery -S
		saquery -I
		saquery CPI
		saquery NR
		saquery NR $C2
		saquery PIR
		saquery PIR $C2
		saquery PIR $S1/1
		saquery SL2VL
		saquery SL2VL $S1
		saquery PKTR
		saquery PKTR $S1/1
		saquery PKTR $C2//0
		saquery VLAR
		saquery VLAR $C2//1
		saquery IIR
		saquery LR
		saquery LR $S1
		saquery SR
		saquery PR
		saquery PR --slid $C1 --dlid $C2
		saquery --src-to-dst $C1:$C2
		saquery --sgid-to-dgid fe80:$P1-fe80:$P2
		saquery MCMR
		saquery LFTR
		saquery LFTR $S1
		saquery LFTR $S1/0
		saquery MFTR
		saquery MFTR $S1
		saquery GUIDInfoRecord $C2
		saquery SWIR
		saquery SWIR $S1
		saquery SMIR
		saquery SMIR $C1
		saquery -L $N2
		saquery -l $N2
		saquery -G $N2
		saquery -O $C2
		saquery -U $G2
	END
	for l in $S $C; do
		p=${port[l]:-1}
		cat <<-END
			smpquery nodeinfo $l
			smpquery nodedesc $l
			smpquery portinfo $l
			smpquery portinfo $l 0
			smpquery portinfo $l $p
			smpquery portinfo $l 200
			smpquery -x portinfo $l $p
			smpquery portinfoextended $l $p
			smpquery switchinfo $l
			smpquery pkeytable $l
			smpquery pkeytable $l $p
			smpquery sl2vl $l
			smpquery sl2vl $l $p
			smpquery vlarb $l
			smpquery vlarb $l $p
			smpquery guidinfo $l
			smpquery mepi $l $p
			perfquery $l
			perfquery $l $p
			perfquery -x $l $p
			perfquery -l $l
			perfquery -l -x $l $p
			perfquery $l $p-$p
			perfquery -R $l $p
			perfquery -r $l $p 0xf000
			perfquery -D $l $p
			perfquery -E $l $p
			perfquery -F $l $p
			perfquery -c $l
			perfquery -T $l $p
			perfquery --flowctlcounters $l $p
			perfquery --vlxmitflowctlerrors $l $p
			perfquery --vlxmitcounters $l $p
			perfquery --swportvlcong $l $p
			perfquery --rcvcc $l $p
			perfquery --slrcvfecn $l $p
			perfquery --slrcvbecn $l $p
			perfquery --xmitcc $l $p
			perfquery --vlxmittimecc $l $p
			ibroute $l
			ibroute -a $l
			ibroute -M $l
			ibroute -n $l
			ibroute $l 1 4
			vendstat -N $l
		END
	done
	for l in $S; do
		printf 'perfquery -a %s\nperfquery -a -x %s\n' "$l" "$l"
	done
	for l in $C; do
		echo "ibportstate $l ${port[l]}"
	done
	for l in 0 0,1 ${pick:-0,1,1 0,1,2 0,1,3}; do
		cat <<-END
			smpquery -D nodeinfo $l
			smpquery -D nodedesc $l
			smpquery -D portinfo $l 1
			smpquery -D switchinfo $l
			smpquery -D pkeys $l
			smpquery -D sl2vl $l
			smpquery -D vlarb $l
			smpquery -D guidinfo $l
			smpquery -D mepi $l 1
			ibroute -D $l
			ibportstate -D $l 1
			ibaddr -D $l
			smpdump -D $l 0x11
			smpdump -D $l 0x15 1
			smpdump -D $l 0x15 255
			smpdump -D $l 0x12
			smpdump -D $l 0x14
			smpdump -D $l 0x19
			smpdump -D $l 0x1b
		END
	done
	cat <<-END
		smpquery -D nodeinfo 0,9
		smpquery -t 100 -D nodeinfo 0,1,77
		ibping -c 1 -t 100 $C2
		ibccquery -t 100 classportinfo $S1
		smpquery -t 100 nodeinfo $absent
		perfquery -t 100 $absent 1
		ibaddr -t 100 $absent
	END
}

# ask FILE CALL...: runs a call, and once more if it failed: ibsim's clients lose answers on a
# busy machine, and opensm may get no CPU within a tool's timeout.
ask() {
	local file=$1 rc=0
	shift
	at "$second" "$@" >"$file" 2>&1 </dev/null || rc=$?
	if [ $rc != 0 ] && { [ $world = ibsim ] || grep -q 'SA failed: Connection timed out' "$file"; }; then
		rc=0
		at "$second" "$@" >"$file" 2>&1 </dev/null || rc=$?
	fi
	echo "status $rc" >>"$file"
}

# record: writes each call's output, with its status at the end, to $T/$world/NUMBER
record() {
	local n=0 call
	mkdir -p "$T/$world"
	while read -r call; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		ask "$T/$world/$n" $call
	done <"$T/calls"
	others >"$T/$world/others" 2>&1 </dev/null
}

# others: tools that need more than one call, or that send no MADs
others() {
	local dev
	rm -f "$T/cache" "$T/edited"
	echo "--- caches"
	at "$second" ibnetdiscover --cache "$T/cache"
	at "$second" ibnetdiscover --load-cache "$T/cache"
	at "$second" ibcacheedit --switchguid "$SG:0x77" --caguid "$CG:0x78" "$T/cache" "$T/edited"
	at "$second" ibnetdiscover --load-cache "$T/edited"
	at "$second" ibnetdiscover --diff "$T/edited"
	at "$second" iblinkinfo --load-cache "$T/edited"
	# On ruse each port of an HCA is a device of its own.
	echo "--- ibstat"
	dev=$(at "$second" ibstat -l 2>/dev/null | head -n 1)
	at "$second" ibstat "$dev"
	at "$second" ibstat "$dev" 1
	at "$second" ibstat -s "$dev"
	at "$second" ibstat -p | head -n 1
}

# survey: reads LIDs, GUIDs and hosts from the topology. LIDs are assigned in its order, so that
# they are the same in both worlds.
survey() {
	port=()
	eval "$(awk '
		function add(list, word) { return list == "" ? word : list " " word }
		function raw(g) {
			gsub(/..../, ":&", g)
			return g
		}
		function lid_of(g) {
			guids = add(guids, "0x" g)
			printf "0x%s 0x%04x 0x%04x\n\n", g, ++lid, lid > file
			return lid
		}
		/^switchguid=/ && !sg { sg = $0; gsub(/switchguid=|\(.*/, "", sg) }
		/^caguid=/ && !cg { cg = $0; gsub(/caguid=|\(.*/, "", cg) }
		/^Switch/ { match($0, /S-[0-9a-f]+/); S = add(S, lid_of(substr($0, RSTART + 2, 16))); ca = 0 }
		/^Ca/ { match($0, /H-[0-9a-f]+/); host = substr($0, RSTART, 18); ca = 1 }
		/^Ca/ { split($0, words, "\""); name = words[4] }
		/^\[/ && ca { match($0, /\([0-9a-f]+\)/)
			g = sprintf("%16s", substr($0, RSTART + 1, RLENGTH - 2)); gsub(/ /, "0", g)
			l = lid_of(g); C = add(C, l)
			split($0, words, /[][]/)
			printf "port[%d]=%d\n", l, words[2]
			# On ibsim the tools use the first port, on ruse one that is up.
			if (words[2] != 1) next
			C2 = l; G2 = g; second = host; N2 = name
			if (!C1) { C1 = l; G1 = g; first = host } }
		END { printf "S=\"%s\" C=\"%s\" G=\"%s\" first=%s second=%s N2=%s\n", S, C, guids, first, second, N2
			split(S, words, " ")
			printf "SG=%s CG=%s ", sg, cg
			printf "S1=%d C1=%d C2=%d G1=0x%s G2=0x%s ", words[1], C1, C2, G1, G2
			printf "P1=%s P2=%s absent=%d guid=0x%s\n", raw(G1), raw(G2), lid + 1, G1 }
		' file="$T/guid2lid" "$T/topology")"
	if [ -n "$pick" ]; then
		S=${S##* }
		C=$C2
	fi
}

# other_hardware CALL: removes what is specific to ibsim or ruse, and what differs between any two
# runs
other_hardware() {
	sed -E -e 's/^.*: line [0-9]+: +[0-9]+ (Segmentation fault).*/\1/' -e 's/ibwarn: \[[0-9]+\]/ibwarn:/' -e '/ibwarn: _do_madrpc: /d' \
		-e '/ibwarn: mad_rpc(_rmpp)?: _do_madrpc failed/d' \
		-e 's/generated on .*//' -e 's/(activity count|ActCount\.*) ?[0-9]+//' \
		-e '/^((Port)?(Xmt|Xmit|Rcv|Unicast|Multicast)[A-Za-z]*(Data|Pkts))(SL)?[0-9]*:/d' \
		-e '/Emulating AllPortSelect/d' -e 's/\(CapMask: [^)]*\)//' \
		-e "s/ = 0x[0-9a-f]+ doesn't/ doesn't/" -e '/^[[:space:]]*CapabilityMask2[:.]/d' \
		-e 's/[0-9]+ ports checked//' -e 's/\((Could be [^)]*| )\)//' -e 's/time [0-9]+ ms//' \
		-e '/^[[:space:]]*(Revision|PartCap|partition_cap|revision|LocalPort)[:.]/d' \
		-e '/^[[:space:]]*(CapMask|capability_mask|MkeyLeasePeriod|M_Key_lease)[:.]/d' \
		-e '/^[[:space:]]+Is[A-Z][A-Za-z0-9]*$/d' \
		-e '/^[[:space:]]*(LinkWidth|LinkSpeedExt|LinkSpeed)Supported[:.]/d' \
		-e '/^[[:space:]]*(MtuCap|NeighborMTU|mtu|rate)[:.]/d' \
		-e '/^[[:space:]]*(InitReply|InitType|VLHighLimit|VLArb[A-Za-z]*Cap|VLStallCount|HoqLife)[:.]/d' \
		-e '/^[[:space:]]*(GuidCap|SubnetTimeout|RespTimeVal|LocalPhysErr|OverrunErr|MaxCreditHint)[:.]/d' \
		-e '/^[[:space:]]*(PartEnforce[A-Za-z]*|InboundPartEnf|OutboundPartEnf|FilterRaw[A-Za-z]*)[:.]/d' \
		-e '/^[[:space:]]*(LinearFdbCap|LinearFDBCap|PartitionEnforcementCap|flags|LifeTime)[:.]/d' \
		-e '/^[[:space:]]*(DiagCode|RoundTrip|ClientReregister|McastPkeyTrapSuppressionEnabled)[:.]/d' \
		-e '/ibwarn: sim_connect: /d' -e "s/'?(ibsim|rxe_)[0-9]+'?/DEVICE/" \
		-e '/^[[:space:]]*(CA type|(Firm|Hard)ware version|Rate|Capability mask|Link layer):/d' \
		-e '/^(PKeyViolations|P_KeyViolations|MkeyViolations|QkeyViolations)[:.]/d'
}

# no_link FILE: for a port without a link ibsim prints less, with fewer capabilities and no prefix
no_link() {
	if grep -q '^LinkState:\.*Down' "$1"; then
		other_hardware <"$1" | grep -vE '^(GidPrefix|Link(Width|Speed|SpeedExt)Enabled):'
	else
		other_hardware <"$1"
	fi
}

# normal WORLD NUMBER CALL: prints the part of the output that must be the same
normal() {
	local file=$T/$1/$2
	case $3 in
	smpquery*pkey* | smpquery*guidinfo*)
		# Only the first line and the status are compared, as table sizes differ.
		sed -n -e '/^ *0:/p' -e '/^status/p' "$file" ;;
	smpquery*sl2vl*)
		# In both worlds the VL equals the SL, as far as there are VLs: compare these columns.
		other_hardware <"$file" | sed 's/\(| 6| 7|\).*/\1/' ;;
	smpquery*vlarb*)
		# Weights and sizes are those of the HCA or switch.
		grep -E '^(#|VL |status)' "$file" | sed 's/: .*//' ;;
	"smpdump "*)
		# NodeInfo and PortInfo are compared by smpquery; other attributes exist in only
		# one world.
		other_hardware <"$file" | sed 's/^SMP status.*//' | tail -n 1 ;;
	saquery*)
		# Only the first record is compared: the last one that ibsim's tools see is cut off.
		other_hardware <"$file" | awk '/dump:/ && n++ { exit } /^status/ { exit } { print }' ;;
	smpquery*portinfo*)
		# Port 0 of a switch has no link.
		set -- "$1" "$2" "$3 0"
		no_link "$file" | case " $S " in
		*" $(echo "$3" | sed -nE 's/.* portinfo ([0-9]+)( 0)?( 0)$/\1/p') "*) grep -v '^Link[WS]' ;;
		*) cat ;;
		esac ;;
	ibportstate*) no_link "$file" ;;
	*) other_hardware <"$file" ;;
	esac
}

# by_guid: a call by GUID (-G) must print the same as the call by LID
by_guid() {
	local lid=0 g call p bad=0
	for g in $G; do
		lid=$((lid + 1))
		p=${port[lid]:-1}
		[ -z "$pick" ] || [ $lid = "$C2" ] || [ $lid = "${S##* }" ] || continue
		for call in 'smpquery nodeinfo @' "smpquery portinfo @ $p" 'smpquery nodedesc @' \
			'smpquery guidinfo @' "perfquery -x @ $p" 'ibroute @' "ibportstate @ $p" 'ibaddr @'; do
			# shellcheck disable=SC2086
			at "$second" ${call/@/$lid} 2>&1 | other_hardware | sed 's/\(Lid\|slid\) [0-9]*//' >"$T/a"
			call=${call/@/$g}
			# shellcheck disable=SC2086
			at "$second" ${call/ / -G } 2>&1 | other_hardware | sed 's/\(Lid\|slid\) [0-9]*//' >"$T/b"
			[ -s "$T/a" ] && diff "$T/a" "$T/b" >"$T/diff" && continue
			echo "--- ${call/ / -G } (<: by LID)"
			cat "$T/diff"
			bad=1
		done
	done
	[ $bad = 0 ] || die "by GUID they get something else"
}

check() {
	local n=0 call bad=0 lines
	while read -r call; do
		n=$((n + 1))
		normal ruse $n "$call" >"$T/a"
		normal ibsim $n "$call" >"$T/b"
		case $call in
		saquery*)
			lines=$(wc -l <"$T/b")
			head -n "$lines" "$T/a" >"$T/c"
			mv "$T/c" "$T/a" ;;
		esac
		diff "$T/a" "$T/b" >"$T/diff" && continue
		bad=$((bad + 1))
		echo "--- $call (<: ruse, >: ibsim)"
		cat "$T/diff"
	done <"$T/calls"
	other_hardware <"$T/ruse/others" >"$T/a"
	other_hardware <"$T/ibsim/others" >"$T/b"
	if ! grep -q '0x0*78' "$T/a"; then
		echo "ibcacheedit has not edited: $(cat "$T/ruse/others")"
		bad=$((bad + 1))
	fi
	if ! diff "$T/a" "$T/b"; then
		echo "--- caches, ibstat (<: ruse, >: ibsim)"
		bad=$((bad + 1))
	fi
	return $bad
}

compare() {
	note "$1"
	# shellcheck disable=SC2086
	fabric up $1 || die "up $1"
	# ibsim answers Mellanox attributes for every vendor.
	fabric show --topology | sed 's/^vendid=0x0$/vendid=0x2c9/' >"$T/topology"
	fabric down
	survey
	mlid=0xc000
	calls >"$T/calls"
	world=ruse
	start
	record
	by_guid
	stop
	world=ibsim
	for _ in 1 2 3; do
		start
		record
		# libumad2sim may crash under opensm.
		lives=0
		kill -0 $opensm 2>/dev/null || lives=1
		stop 2>/dev/null
		[ $lives = 1 ] || break
	done
	check || die "$1: $? answers differ"
}

umad2sim=$(sed -n 's/^sim_so=//p' "$(command -v ibsim-run)")
pick='0,1,1'
if [ -n "${FABRIC_LONG:-}" ]; then
	pick=
	if [ $# = 0 ]; then
		set -- '--star 4' '--fat-tree 4' '--torus 3x3 1' '--dragonfly 3 1 1'
		for fabric in /usr/share/doc/ibsim-utils/net-examples/net*; do
			[ ! -f "$fabric" ] || set -- "$@" "$fabric"
		done
	fi
fi
[ $# -gt 0 ] || set -- '--star 4'
for fabric; do
	compare "$fabric"
done
exit 0
