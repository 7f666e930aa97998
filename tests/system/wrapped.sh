#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# wrapped.c: which function pointers of libibverbs are replaced, by the environment.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

setters=(wr_set_inline_data_list wr_set_sge wr_set_sge_list)
polls=(poll_cq start_poll)
posts=(post_send post_recv post_srq_recv wr_complete)

in_ruse timeout 60 "$RUSE_TESTBIN/wrapped" "${setters[@]}" "${polls[@]}" || die "by default"
RUSE_NO_POLL_WRAP=1 in_ruse timeout 60 "$RUSE_TESTBIN/wrapped" "${setters[@]}" || die "polling not wrapped"
RUSE_EXPLAIN=1 in_ruse timeout 60 "$RUSE_TESTBIN/wrapped" "${setters[@]}" "${polls[@]}" "${posts[@]}" ||
	die "RUSE_EXPLAIN"
RUSE_EXPLAIN=1 RUSE_NO_POLL_WRAP=1 in_ruse timeout 60 "$RUSE_TESTBIN/wrapped" "${setters[@]}" "${posts[@]}" ||
	die "RUSE_EXPLAIN, polling not wrapped"
