/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Linked to early_lib.c, a library whose constructor and destructor use RDMA; for early.sh. Status
 * 0: the constructor has opened the device.
 */
int early_touched(void);

int main(void)
{
	return early_touched() ? 0 : 1;
}
