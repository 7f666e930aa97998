/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptors in the engine: its own, and those that it makes for the program. Under the engine's lock. */
#ifndef RUSE_ENGINE_OWN_H
#define RUSE_ENGINE_OWN_H

struct event_file;
struct uverbs_file;

/* own.c: fd, or -errno as it came, with a number out of the program's way, hidden from it. */
int own_fd(int fd);
/* A dup of fd for us. -errno. */
int own_dup(int fd);
void own_close(int fd);

/* files.c */
void efile_event_uninstall(struct uverbs_file *f, struct event_file *ev, int fd);
int efile_event_install(struct uverbs_file *f, struct event_file *ev);
struct event_file *efile_event_lookup(struct uverbs_file *f, int fd);
void page_update(void);

#endif
