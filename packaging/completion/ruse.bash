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
		echo "add list del down up freeze thaw seed run --help"
		return
	fi
	case $sub in
	add)
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		add) echo "drop corrupt duplicate reorder delay rate rnr error" ;;
		error) echo "REM_OP REM_ACCESS REM_INV_REQ PSN_SEQ LOC_PROT LOC_QP_OP" ;;
		service) echo "RC UC UD" ;;
		dir) echo "in out" ;;
		nth | every | times | op | qp | from-qp | to-qp | dev | peer | psn | size | jitter | rate) ;;
		*) echo "jitter nth every times op service qp from-qp to-qp dir dev peer psn size" ;;
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
		echo "up down show link node address --help"
		return
	fi
	case $sub in
	up) ((COMP_CWORD > 3)) || echo "--star --fat-tree --torus --dragonfly" ;;
	show) echo "--json --topology" ;;
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
		--link | --host | --dir | --netdev) i=$((i + 1)) ;;
		--)
			i=$((i + 1))
			break
			;;
		-*) ;;
		*) break ;;
		esac
	done
	if ((i < COMP_CWORD)) || [[ $cur != -* && ${COMP_WORDS[COMP_CWORD - 1]} != --@(link|host|dir|netdev) ]]; then
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
	--host) mapfile -t COMPREPLY < <(compgen -W "$(_ruse_hosts)" -- "$cur") ;;
	--dir) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	*)
		mapfile -t COMPREPLY < <(compgen -W "--no-cma --no-direct --no-poll-wrap --explain --link --netdev --host --dir --own
			--verbose --help -v -h" -- "$cur")
		;;
	esac
}

_ruse()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words=

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		words="run status capture explain doctor fault fabric stop help --help --version"
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
	fi
	case ${COMP_WORDS[1]} in
	run)
		_ruse_run "$cur"
		return
		;;
	status) words="--json --watch --help -h" ;;
	stop) words="--now --help -h" ;;
	explain) words="last --stuck --json --help -h" ;;
	doctor) words="--json --help -h" ;;
	capture)
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		-w | --write | -r | --read)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
			;;
		-d | --device | -q | --qp | -p | --program | -c | --count | -s | --snaplen) return ;;
		esac
		words="--write --read --device --qp --program --count --snaplen --help -w -r -d -q -p -c -s -h"
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
