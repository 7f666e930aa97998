/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Asynchronous events of the first device: runs a command of the shell, waits for an event and
 * prints its name. `events COMMAND`; events.py compares what `ruse explain` says.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && *list ? ibv_open_device(*list) : NULL;
	struct ibv_async_event ev;

	if (argc != 2 || !ctx || system(argv[1]))
		return 1;
	do {
		if (ibv_get_async_event(ctx, &ev))
			return 1;
		ibv_ack_async_event(&ev);
	} while (ev.event_type != IBV_EVENT_PORT_ERR && ev.event_type != IBV_EVENT_DEVICE_FATAL);
	puts(ibv_event_type_str(ev.event_type));
	return 0;
}
