# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# Completion of ruse for bash. lint/completion compares it with what `ruse CMD --help` prints.

# Names of the fabric's hosts, if a rused runs.
_ruse_hosts()
{
	[[ $(ruse status --json 2>/dev/null) == *'"running":false'* ]] && return
	ruse fabric show --topology 2>/dev/null | sed -n 's/^Ca.*# "\([^" ]*\).*/\1/p'
}

# The words after `ruse fault`.
_ruse_fault()
{
	local sub=${COMP_WORDS[2]:-}

	if ((COMP_CWORD == 2)); then
		echo "add list del down up freeze thaw event seed run calls --help"
		return
	fi
	case $sub in
	add)
		[ "${COMP_WORDS[COMP_CWORD - 2]}" != fail ] || { echo errno; return; }
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		add) echo "drop corrupt duplicate reorder delay rate rnr error fail complete hold hang cm" ;;
		cm) echo "reject drop delay unreachable" ;;
		reject)
			echo "CONSUMER_DEFINED NO_QP NO_RESOURCES UNSUPPORTED INVALID_SERVICE_ID INVALID_TRANSPORT_TYPE STALE_CONN" \
				"INVALID_GID INVALID_LID INVALID_SL INVALID_TRAFFIC_CLASS INVALID_HOP_LIMIT INVALID_PACKET_RATE" \
				"INVALID_MTU INVALID_RNR_RETRY DUPLICATE_LOCAL_COMM_ID INVALID_CLASS_VERSION INVALID_FLOW_LABEL" \
				"VENDOR_OPTION_NOT_SUPPORTED REJECT"
			;;
		unreachable) echo "network host route message port peer dev nth every times" ;;
		message) echo "REQ REP RTU REJ MRA DREQ DREP SIDR_REQ SIDR_REP LAP APR" ;;
		error) echo "REM_OP REM_ACCESS REM_INV_REQ PSN_SEQ LOC_PROT LOC_QP_OP" ;;
		fail)
			echo "post_send post_recv post_srq_recv open_device query_device query_port create_comp_channel alloc_pd dealloc_pd reg_mr rereg_mr dereg_mr alloc_mw dealloc_mw create_cq resize_cq req_notify_cq destroy_cq create_srq modify_srq query_srq destroy_srq create_qp modify_qp query_qp destroy_qp create_ah destroy_ah attach_mcast detach_mcast"
			;;
		errno) echo "EAGAIN EBUSY EFAULT EHOSTUNREACH EINVAL EIO EMFILE ENETUNREACH ENODATA ENOMEM ENOSYS EOPNOTSUPP EPERM ETIMEDOUT" ;;
		complete) echo "LOC_LEN_ERR LOC_QP_OP_ERR LOC_PROT_ERR BAD_RESP_ERR LOC_ACCESS_ERR REM_INV_REQ_ERR REM_ACCESS_ERR REM_OP_ERR RETRY_EXC_ERR RNR_RETRY_EXC_ERR" ;;
		hold) echo "completions" ;;
		service) echo "RC UC UD" ;;
		dir) echo "in out" ;;
		nth | every | times | op | qp | from-qp | to-qp | dev | peer | psn | size | jitter | rate | port | pid | completions) ;;
		*) echo "jitter nth every times op service qp from-qp to-qp dir dev peer psn size message port pid" ;;
		esac
		;;
	event)
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		event)
			echo "QP_FATAL QP_REQ_ERR QP_ACCESS_ERR QP_LAST_WQE_REACHED COMM_EST CQ_ERR SRQ_ERR SRQ_LIMIT_REACHED" \
				"GID_CHANGE DEVICE_FATAL LID_CHANGE PKEY_CHANGE SM_CHANGE CLIENT_REREGISTER"
			;;
		dev | qp | cq | srq | pid) ;;
		*) echo "dev qp cq srq pid" ;;
		esac
		;;
	list) echo "--json" ;;
	del | thaw) echo "all" ;;
	esac
}

# The words after `ruse fabric`.
_ruse_fabric()
{
	local sub=${COMP_WORDS[2]:-}

	if ((COMP_CWORD == 2)); then
		echo "up down show draw link node address sm --help"
		return
	fi
	case $sub in
	up) if ((COMP_CWORD > 3)); then echo "--sm"; else echo "--star --fat-tree --torus --dragonfly --sm"; fi ;;
	down) echo "--kill" ;;
	show) echo "--json --topology --route" ;;
	draw) echo "-o --route --load" ;;
	address) ((COMP_CWORD > 3)) || echo "--json" ;;
	link) ((COMP_CWORD > 3)) || echo "down up" ;;
	node) ((COMP_CWORD > 3)) || echo "off on" ;;
	esac
}

# ruse run: options, then the program and its arguments.
_ruse_run()
{
	local cur=$1 i

	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--link | --host | --dir | --netdev | --like | --expect | --fail-status | --junit | --report | --timeout | --shake-kinds | --shake-only) i=$((i + 1)) ;;
		--)
			i=$((i + 1))
			break
			;;
		-*) ;;
		*) break ;;
		esac
	done
	if ((i < COMP_CWORD)) || [[ $cur != -* && ${COMP_WORDS[COMP_CWORD - 1]} != --@(link|host|dir|netdev|like|expect|fail-status|junit|report|timeout|shake-kinds|shake-only) ]]; then
		if declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		elif ((i < COMP_CWORD)); then
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		fi
		return
	fi
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--link) mapfile -t COMPREPLY < <(compgen -W "udp" -- "$cur") ;;
	--like) mapfile -t COMPREPLY < <(compgen -W "rxe connectx-5 connectx-6 connectx-7 e810 bnxt strictest" -- "$cur") ;;
	--host) mapfile -t COMPREPLY < <(compgen -W "$(_ruse_hosts)" -- "$cur") ;;
	--dir) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	--expect)
		mapfile -t COMPREPLY < <(compgen -W "rdma bytes>= ops>= processes>= connections>= no-errors no-retries no-leaks" -- "$cur")
		;;
	--fail-status | --timeout | --shake-kinds | --shake-only) ;;
	--junit | --report) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	*)
		mapfile -t COMPREPLY < <(compgen -W "--no-cma --no-direct --no-poll-wrap --explain --check --shake --shake-kinds --shake-only --link --netdev --like --host --dir --own
			--expect --strict --fail-status --summary --junit --report --timeout --verbose --help -v -h" -- "$cur")
		;;
	esac
}

# ruse shake: options, then the program and its arguments.
_ruse_shake()
{
	local cur=$1 i

	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-n | --seeds | -j | --jobs | --seed | --kinds | --limit | --repeat | --like | --expect | --fail-if | --junit | -o | --output)
			i=$((i + 1))
			;;
		--)
			i=$((i + 1))
			break
			;;
		-*) ;;
		*) break ;;
		esac
	done
	if ((i > COMP_CWORD)); then
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		--like) mapfile -t COMPREPLY < <(compgen -W "rxe connectx-5 connectx-6 connectx-7 e810 bnxt strictest" -- "$cur") ;;
		--expect)
			mapfile -t COMPREPLY < <(compgen -W "rdma bytes>= ops>= processes>= connections>= no-errors no-retries no-leaks" -- "$cur")
			;;
		--junit) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		-o | --output) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
		esac
	elif [[ $i == "$COMP_CWORD" && $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "--seeds --jobs --seed --kinds --limit --repeat --stop --like --net --check --expect
			--fail-if --junit --output --help -n -j -o -h" -- "$cur")
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$i"
	else
		mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
	fi
}

# ruse doctor: options, then a program and its arguments.
_ruse_doctor()
{
	local cur=$1 i

	for ((i = 2; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -* ]] || break
	done
	if [[ $i == "$COMP_CWORD" && $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "--json --help -h" -- "$cur")
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$i"
	else
		mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
	fi
}

_ruse()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words=

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		words="run status capture shake explain report doctor fault fabric like stop help --help --version"
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
	fi
	case ${COMP_WORDS[1]} in
	run)
		_ruse_run "$cur"
		return
		;;
	shake)
		_ruse_shake "$cur"
		return
		;;
	status) words="--json --openmetrics --watch --help -h" ;;
	stop) words="--now --help -h" ;;
	like)
		words="list show --json --help -h"
		;;
	explain) words="last --stuck --json --help -h" ;;
	report)
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		-o | --output)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
			;;
		--seconds) return ;;
		esac
		words="--output --seconds --help -o -h"
		;;
	doctor)
		_ruse_doctor "$cur"
		return
		;;
	capture)
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		-w | --write | -r | --read | -o | --output)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
			;;
		--opcode)
			mapfile -t COMPREPLY < <(compgen -W "SEND WRITE READ ATOMIC REQUEST RESPONSE" -- "$cur")
			return
			;;
		-d | --device | -q | --qp | -p | --program | -c | --count | -s | --snaplen | --psn | --time) return ;;
		esac
		words="--ladder --output --opcode --psn --time -l -o --write --read --device --qp --program --count --snaplen --help -w -r -d -q -p -c -s -h"
		;;
	fault) words=$(_ruse_fault) ;;
	fabric) words=$(_ruse_fabric) ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	# A file for `ruse fabric up` and `ruse fault run`.
	case "${COMP_WORDS[1]} ${COMP_WORDS[2]} $COMP_CWORD" in
	"fabric up 3" | "fault run 3") mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur") ;;
	esac
}

complete -o filenames -F _ruse ruse
