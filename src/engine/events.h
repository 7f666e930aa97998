/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events of `ruse fault event` in this process. The caller holds the engine lock. */
#ifndef RUSE_ENGINE_EVENTS_H
#define RUSE_ENGINE_EVENTS_H

/* This process has attached to rused: events from before are not for it. */
void events_begin(void);
/* Raise the events that rused has put into the host page. Cheap if there is none. */
void events_look(void);

#endif
