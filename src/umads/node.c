/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* umad devices and their numbers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/sysfs/sysfs.h"
#include "base/log.h"
#include "umads/umads_internal.h"
#include "loop/loop.h"

void umads_init(struct umads *us, struct loop *l, int run, uint32_t generation)
{
	us->loop = l;
	us->generation = generation;
	us->view.run = run;
	idtable_init(&us->ids, UMAD_MAX_FILES);
}

void umads_fini(struct umads *us)
{
	idtable_fini(&us->ids);
}

static int umad_node_show(struct umad_node *n)
{
	int rc = sysfs_mad(n->view->run, n->number, n->ibdev, n->desc.port);

	if (rc)
		log_warn("cannot create the sysfs tree of umad%u: %s", n->number, strerror(-rc));
	return rc;
}

int umad_node_add(struct umads *us, struct umad_view *v, const struct umad_desc *d,
		  struct umad_node **out)
{
	uint32_t number = 0;
	struct umad_node *n;
	int rc;

	while (number < UMAD_MAX_NODES && v->node[number])
		number++;
	if (number == UMAD_MAX_NODES)
		return -ENOSPC;
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->us = us;
	n->view = v;
	n->number = number;
	n->desc = *d;
	snprintf(n->ibdev, sizeof(n->ibdev), "%s", d->ibdev);
	n->desc.ibdev = n->ibdev;
	n->port = (struct umad_port){ .mad = d->mad, .ops = d->ops, .ctx = d->ctx };
	umad_port_init(&n->port);
	rc = umad_node_show(n);
	if (rc) {
		sysfs_mad(v->run, number, n->ibdev, 0);
		free(n);
		return rc;
	}
	v->node[number] = n;
	*out = n;
	return 0;
}

uint32_t umad_node_number(const struct umad_node *n)
{
	return n->number;
}

void umad_node_rename(struct umad_node *n, const char *ibdev)
{
	snprintf(n->ibdev, sizeof(n->ibdev), "%s", ibdev);
	umad_node_show(n);
}

void umad_node_del(struct umad_node *n)
{
	if (!n)
		return;
	sysfs_mad(n->view->run, n->number, n->ibdev, 0);
	n->view->node[n->number] = NULL;
	umad_port_remove(&n->port, n->us->loop->now);
	umad_close_node(n);
	free(n);
}
