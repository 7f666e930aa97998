/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DEVICE methods INVOKE_WRITE, INFO_HANDLES, QUERY_GID_TABLE and QUERY_GID_ENTRY. */
#include "abi/uverbs/handlers.h"

/* struct ib_uverbs_gid_entry.gid_type */
#define GID_TYPE_IB 0
#define GID_TYPE_ROCE_V1 1
#define GID_TYPE_ROCE_V2 2

/* Runs a write() command whose buffers are attributes of the ioctl. */
int io_invoke_write(struct uverbs_req *r)
{
	const struct write_row *row;
	uint64_t cmd;
	bool ex;
	int ret;

	ret = attr_const(r, UVERBS_ATTR_WRITE_CMD, UINT32_MAX, &cmd);
	if (!ret)
		ret = write_find((uint32_t)cmd, &ex, &row);
	if (ret)
		return ret;
	if (!row)
		return -EOPNOTSUPP;
	r->name = row->name;
	r->in = attr_buf(r, UVERBS_ATTR_CORE_IN, true);
	r->out = attr_buf(r, UVERBS_ATTR_CORE_OUT, false);
	if (!ex && (r->in.len < row->req_size || r->out.len < row->resp_size))
		return -ENOSPC;
	return write_run(r, row);
}

/* Lists the ids of one kind, newest first. Event files have no id: 0, as in the kernel. */
int io_info_handles(struct uverbs_req *r)
{
	const struct attr_val *list = attr_find(r, UVERBS_ATTR_INFO_HANDLES_LIST);
	struct uverbs_file *f = r->f;
	uint32_t count = 0, room, i, id;
	uint64_t kind;
	struct uobj *o;
	int ret;

	if (!list || !list->len || list->len % sizeof(uint32_t))
		return -EINVAL;
	room = list->len / sizeof(uint32_t);
	ret = attr_const(r, UVERBS_ATTR_INFO_OBJECT_ID, UINT16_MAX, &kind);
	if (ret)
		return ret;
	if (kind == UINT16_MAX)
		return -ENOMSG;
	if (!uverbs_kind_enabled((uint16_t)kind))
		return -ENOENT;
	list_for_each_entry(o, &f->objs, entry) {
		if (o->kind != kind || !o->obj || count == room)
			continue;
		id = o->id;
		if (user_put(list->data + count++ * sizeof(id), &id, sizeof(id)))
			return -EFAULT;
	}
	for (i = 0, id = 0; i < f->nevs; i++) {
		if (kind != (f->evs[i]->is_async ? UVERBS_OBJECT_ASYNC_EVENT :
						   UVERBS_OBJECT_COMP_CHANNEL))
			continue;
		if (count == room || !ev_has_descriptor(f, f->evs[i]))
			continue;
		if (user_put(list->data + count++ * sizeof(id), &id, sizeof(id)))
			return -EFAULT;
	}
	ret = attr_set_output(r, list);
	return ret ? ret : attr_put(r, UVERBS_ATTR_INFO_TOTAL_HANDLES, &count, sizeof(count));
}

static void gid_entry_fill(const struct rdev *dev, uint32_t index, struct ib_uverbs_gid_entry *e)
{
	memset(e, 0, sizeof(*e));
	memcpy(e->gid, dev->gid[index].raw, sizeof(e->gid));
	e->gid_index = index;
	e->port_num = DEV_PORT;
	e->gid_type = dev->port.ib	 ? GID_TYPE_IB :
		      dev->gid[index].v1 ? GID_TYPE_ROCE_V1 :
					   GID_TYPE_ROCE_V2;
	e->netdev_ifindex = dev->gid[index].ifindex;
}

static int gid_entry_put(uint64_t addr, const struct ib_uverbs_gid_entry *e, size_t size)
{
	if (user_put(addr, e, min(size, sizeof(*e))))
		return -EFAULT;
	return size > sizeof(*e) ? user_clear(addr + sizeof(*e), size - sizeof(*e)) : 0;
}

int io_query_gid_table(struct uverbs_req *r)
{
	const struct attr_val *out = attr_find(r, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
	const struct rdev *dev = r->f->uctx->dev;
	struct ib_uverbs_gid_entry e;
	uint64_t size, room, n = 0;
	uint32_t flags, i;
	int ret;

	ret = attr_flags(r, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 0, &flags);
	if (!ret)
		ret = attr_const(r, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, UINT64_MAX, &size);
	if (ret)
		return ret;
	if (!out || !size || out->len % size || !out->len)
		return -EINVAL;
	room = out->len / size;
	ret = uverbs_check_context(r->f);
	if (ret)
		return ret;
	for (i = 0; i < rdev_gid_len(dev); i++)
		if (!gid_is_zero(&dev->gid[i]) && ++n > room)
			return -EINVAL;
	for (i = 0, n = 0; i < rdev_gid_len(dev) && n < room; i++) {
		if (gid_is_zero(&dev->gid[i]))
			continue;
		gid_entry_fill(dev, i, &e);
		if (gid_entry_put(out->data + n++ * size, &e, size))
			return -EFAULT;
	}
	ret = attr_set_output(r, out);
	return ret ? ret : attr_put(r, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &n, sizeof(n));
}

int io_query_gid_entry(struct uverbs_req *r)
{
	const struct rdev *dev = r->f->uctx->dev;
	struct ib_uverbs_gid_entry e;
	uint64_t port, index;
	uint32_t flags;
	int ret;

	ret = attr_flags(r, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0, &flags);
	if (!ret)
		ret = attr_const(r, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, UINT32_MAX, &port);
	if (!ret)
		ret = attr_const(r, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, UINT32_MAX, &index);
	if (!ret)
		ret = uverbs_check_context(r->f);
	if (ret)
		return ret;
	if (!port_valid((uint32_t)port) || index >= rdev_gid_len(dev))
		return -EINVAL;
	if (gid_is_zero(&dev->gid[index]))
		return -ENODATA;
	gid_entry_fill(dev, (uint32_t)index, &e);
	return attr_put_struct(r, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &e, sizeof(e));
}
