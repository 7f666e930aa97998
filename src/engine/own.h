/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors of the engine: its own, and those that it makes for the program. The caller
 * holds the engine lock.
 */
#ifndef RUSE_ENGINE_OWN_H
#define RUSE_ENGINE_OWN_H

struct event_file;
struct uverbs_file;

/*
 * own.c: move fd to a high number and hide it from the program by engine_ops.own_fd (engine.h).
 * Returns the new number; a negative fd is returned as it is.
 */
int own_fd(int fd);
/* A dup of fd for the engine, or -errno. */
int own_dup(int fd);
/* Close a descriptor of the engine. Does nothing if fd is negative. */
void own_close(int fd);

/* files.c */
void efile_event_uninstall(struct uverbs_file *f, struct event_file *ev, int fd);
int efile_event_install(struct uverbs_file *f, struct event_file *ev);
/*
 * Gives the event file a new descriptor, which is returned, or -errno. Its unread events are in it. The engine's end of
 * the old one is closed.
 */
int efile_event_renew(struct event_file *ev);
/* An event was queued; an event was read. */
void efile_event_raise(struct event_file *f);
void efile_event_more(struct event_file *f);
extern const struct event_file_ops efile_event_ops;
struct event_file *efile_event_lookup(struct uverbs_file *f, int fd);
/* Update what `ruse status` shows of this process. */
void own_page_update(void);

#endif
