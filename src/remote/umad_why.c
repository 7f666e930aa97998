/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Failures of umadN in the log of this process, with the names of the functions of libibumad. */
#include <errno.h>
#include <rdma/ib_user_mad.h>
#include <string.h>
#include "engine/explain.h"
#include "remote/umad_local.h"

const char *remote_umad_ioctl_call(unsigned long cmd)
{
	switch (cmd) {
	case IB_USER_MAD_REGISTER_AGENT:
		return "umad_register";
	case IB_USER_MAD_REGISTER_AGENT2:
		return "umad_register2";
	case IB_USER_MAD_UNREGISTER_AGENT:
		return "umad_unregister";
	case IB_USER_MAD_ENABLE_PKEY:
		return "umad_open_port";
	}
	return "umad ioctl";
}

/*
 * Answers that are no failures: there is no packet (EAGAIN), a signal has come (EINTR), and the buffer is too small
 * for a long message, whose length the program learns so (ENOSPC).
 */
static bool umad_is_answer(ssize_t ret)
{
	return ret >= 0 || ret == -EAGAIN || ret == -EINTR || ret == -ENOSPC;
}

noinline __cold ssize_t remote_umad_failed(const char *call, ssize_t ret, const struct why *why)
{
	struct why_rec r = { .error = (uint16_t)-ret };

	if (umad_is_answer(ret))
		return ret;
	if (why && why_row(why->id))
		r.why = *why;
	else if (ret == -EIO || ret == -EPIPE)
		why_set(&r.why, UMAD_GONE);
	else
		why_set(&r.why, COMMAND, (uint64_t)-ret);
	strncpy(r.call, call, sizeof(r.call) - 1);
	explain_failed(NULL, &r);
	return ret;
}
