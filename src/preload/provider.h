/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A libibverbs that finds a device and no provider for it lists no device, and says nothing: this makes a reason of it. */
#ifndef RUSE_PRELOAD_PROVIDER_H
#define RUSE_PRELOAD_PROVIDER_H

/* The program has asked which devices there are. */
void provider_listed(void);
/* The program opens a device, so it has a provider. */
void provider_found(void);
/* Makes the reason, once. Call at the end of the process, when the list of devices must be complete. */
void provider_check(void);

#endif
