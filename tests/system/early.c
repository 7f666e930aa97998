/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Linked to a library whose constructor and destructor touch RDMA; for early.sh. */
int early_touched(void);

int main(void)
{
	return early_touched() ? 0 : 1;
}
