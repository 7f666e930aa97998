/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The listening socket RUN/rused.sock: made by rused, or passed by a service manager. */
#ifndef RUSE_DAEMON_LIFE_LISTENER_H
#define RUSE_DAEMON_LIFE_LISTENER_H

#include "loop/loop.h"

struct place;

struct listener {
	struct loop *loop;
	struct place *place;
	/* Accepts one connection from the listening socket fd. False: none is waiting. */
	bool (*accept)(void *ctx, int fd);
	void *ctx;
	struct loop_fd sock;	/* its fd is -1: not listening */
	int given;		/* listening socket of the service manager, of which sock.fd is a copy; -1: none */
};

/*
 * Sets given to the listening socket that a service manager has passed (LISTEN_FDS), or to -1. False:
 * something else was passed.
 */
bool listener_given(struct listener *l);
/* accept, ctx: see struct listener. Call before all of the following. */
void listener_init(struct listener *l, struct loop *loop, struct place *place,
		   bool (*accept)(void *ctx, int fd), void *ctx);
/* 0 or -errno. */
int listener_open(struct listener *l);
/* Accepts what is left in the queue, then nothing more. */
void listener_stop(struct listener *l);
/* Removes RUN/rused.sock, unless it belongs to the service manager or to another rused. */
void listener_unlink(const struct listener *l);

#endif
