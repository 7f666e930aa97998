/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ioctl methods: one parser for all, driven by the tables in spec_*.c. Attributes are
 * processed in the program's order, and the first wrong one gives the errno. If the method fails,
 * ioctl_finish() destroys its new objects and frees their ids.
 *
 * EPROTONOSUPPORT means an unknown method or mandatory attribute; libibverbs then does not call the
 * method again. Therefore this error of a handler is returned as EINVAL.
 */
#include <sys/ioctl.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include "abi/uverbs/spec.h"

#define LENGTH_MAX 4096
#define ATTRS_MAX \
	((LENGTH_MAX - sizeof(struct ib_uverbs_ioctl_hdr)) / sizeof(struct ib_uverbs_attr))

const struct method_spec *method_row(uint32_t i)
{
	if (i < spec_device_count)
		return &spec_device[i];
	i -= spec_device_count;
	return i < spec_verbs_count ? &spec_verbs[i] : NULL;
}

/* Kinds of objects that this device has. */
bool uverbs_kind_enabled(uint16_t kind)
{
	static const uint32_t have =
		1u << UVERBS_OBJECT_DEVICE | 1u << UVERBS_OBJECT_PD |
		1u << UVERBS_OBJECT_COMP_CHANNEL | 1u << UVERBS_OBJECT_CQ | 1u << UVERBS_OBJECT_QP |
		1u << UVERBS_OBJECT_AH | 1u << UVERBS_OBJECT_MR | 1u << UVERBS_OBJECT_MW |
		1u << UVERBS_OBJECT_SRQ | 1u << UVERBS_OBJECT_ASYNC_EVENT;

	return kind < 32 && have >> kind & 1;
}

static const struct method_spec *method_find(uint16_t object, uint16_t method)
{
	const struct method_spec *m;
	uint32_t i;

	for (i = 0; (m = method_row(i)); i++)
		if (m->object == object && m->method == method)
			return m->enabled ? m : NULL;
	return NULL;
}

/* Checks that the data beyond its first len bytes is zero. */
static bool attr_tail_is_zero(const struct ib_uverbs_attr *ua, uint16_t len)
{
	uint64_t tail;

	if (ua->len > sizeof(ua->data))
		return user_is_zero(ua->data + len, ua->len - len);
	tail = len < sizeof(ua->data) ? ua->data >> (8 * len) : 0;
	return !(ua->len < sizeof(ua->data) ? tail & ((1ull << (8 * (ua->len - len))) - 1) : tail);
}

/* Checks that the data is readable. The kernel copies it at this point; here the handler does so later. */
static bool ioctl_readable(const struct ib_uverbs_attr *ua)
{
	char buf[256];
	size_t off, n;

	if (ua->len <= sizeof(ua->data))
		return true;
	for (off = 0; off < ua->len; off += n) {
		n = min(sizeof(buf), ua->len - off);
		if (user_get(buf, ua->data + off, n))
			return false;
	}
	return true;
}

static int attr_parse_ptr(const struct attr_spec *s, const struct ib_uverbs_attr *ua)
{
	if (s->type == ATTR_PTR_IN && s->zero_tail && ua->len > s->max_len &&
	    !attr_tail_is_zero(ua, s->max_len))
		return -EOPNOTSUPP;
	if (ua->len < s->min_len || (!s->zero_tail && ua->len > s->max_len))
		return -EINVAL;
	if (ua->attr_data.reserved)
		return -EINVAL;
	return s->copied && !ioctl_readable(ua) ? -EFAULT : 0;
}

static int attr_parse_idr(struct uverbs_req *r, const struct attr_spec *s,
			  const struct ib_uverbs_attr *ua, struct attr_val *a)
{
	uint64_t id;
	int ret;

	if (ua->attr_data.reserved || ua->len)
		return -EINVAL;
	if (s->access != ACC_NEW)
		return uobj_lookup(r->f, s->kind, ua->data_s64, s->access == ACC_DESTROY, &a->obj);
	ret = uobj_alloc(r->f, s->kind, &a->obj);
	if (ret)
		return ret;
	id = a->obj->id;
	return user_put((uintptr_t)&r->uattrs[a->index].data, &id, sizeof(id));
}

static int attr_parse_fd(struct uverbs_req *r, const struct attr_spec *s,
			 const struct ib_uverbs_attr *ua, struct attr_val *a)
{
	if (ua->attr_data.reserved || ua->len)
		return -EINVAL;
	if (s->access == ACC_NEW)
		return uverbs_check_context(r->f);
	return ev_lookup(r->f, s->kind == UVERBS_OBJECT_ASYNC_EVENT, ua->data_s64, &a->ev);
}

static int attr_parse(struct uverbs_req *r, const struct ib_uverbs_attr *ua, uint16_t index)
{
	const struct attr_spec *s;
	struct attr_val *a;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < r->m->nattrs && r->m->attrs[i].id != ua->attr_id; i++)
		;
	if (i == r->m->nattrs)
		return ua->flags & UVERBS_ATTR_F_MANDATORY ? -EPROTONOSUPPORT : 0;
	s = &r->m->attrs[i];
	a = &r->attr[i];
	if (a->present)
		return -EINVAL;
	a->index = index;
	a->flags = ua->flags;
	a->len = ua->len;
	a->data = ua->data;
	switch ((enum attr_type)s->type) {
	case ATTR_PTR_IN:
	case ATTR_PTR_OUT:
		ret = attr_parse_ptr(s, ua);
		break;
	case ATTR_IDR:
		ret = attr_parse_idr(r, s, ua, a);
		break;
	case ATTR_FD:
		ret = attr_parse_fd(r, s, ua, a);
		break;
	}
	a->present = !ret;
	return ret;
}

/* Provider data (UHW). */
static void ioctl_fill_udata(struct uverbs_req *r)
{
	const struct attr_val *in = attr_find(r, UVERBS_ATTR_UHW_IN);
	const struct attr_val *out = attr_find(r, UVERBS_ATTR_UHW_OUT);

	if (in)
		r->drv_in = (struct ubuf){ in->len <= sizeof(in->data) ?
			(uintptr_t)&r->uattrs[in->index].data : in->data, in->len };
	if (out)
		r->drv_out = (struct ubuf){ out->data, out->len };
}

/* Destroys the object of a destroy method; the handler then finds its event counts in r->gone. */
static int ioctl_destroy_first(struct uverbs_req *r)
{
	uint32_t i;
	int ret;

	for (i = 0; i < r->m->nattrs; i++) {
		if (r->m->attrs[i].access != ACC_DESTROY)
			continue;
		ret = uobj_destroy(r->f, r->attr[i].obj, &r->gone);
		if (ret)
			return ret;
		r->attr[i].obj = &r->gone;
	}
	return 0;
}

static int method_run(struct uverbs_req *r, uint16_t num)
{
	struct ib_uverbs_attr ua[ATTRS_MAX];
	const struct attr_val *out;
	uint32_t i;
	int ret;

	if (user_get(ua, (uintptr_t)r->uattrs, num * sizeof(ua[0])))
		return -EFAULT;
	for (i = 0; i < num; i++) {
		ret = attr_parse(r, &ua[i], (uint16_t)i);
		if (ret)
			return ret;
	}
	for (i = 0; i < r->m->nattrs; i++)
		if (r->m->attrs[i].mandatory && !r->attr[i].present)
			return -EINVAL;
	ioctl_fill_udata(r);
	ret = uverbs_fault(r, r->m->name);
	if (!ret)
		ret = ioctl_destroy_first(r);
	if (!ret && r->m->handler)
		ret = r->m->handler(r);
	out = attr_find(r, UVERBS_ATTR_UHW_OUT);
	if (!ret && out)
		ret = attr_set_output(r, out);
	return ret == -EPROTONOSUPPORT ? -EINVAL : ret;
}

/* Commits the new objects, or destroys them after an error. */
static void ioctl_finish(struct uverbs_req *r, bool commit)
{
	uint32_t i;

	for (i = 0; i < r->m->nattrs; i++) {
		if (r->m->attrs[i].type != ATTR_IDR || r->m->attrs[i].access != ACC_NEW ||
		    !r->attr[i].obj)
			continue;
		if (commit)
			uobj_commit(r->f, r->attr[i].obj);
		else
			uobj_abort(r->f, r->attr[i].obj);
	}
}

/* *name: the method, once it is known. */
static int ioctl_run(struct uverbs_file *f, void *arg, const char **name)
{
	struct ib_uverbs_ioctl_hdr hdr;
	struct uverbs_req r;
	int ret;

	if (user_get(&hdr, (uintptr_t)arg, sizeof(hdr)))
		return -EFAULT;
	if (hdr.length > LENGTH_MAX ||
	    hdr.length != sizeof(hdr) + hdr.num_attrs * sizeof(struct ib_uverbs_attr))
		return -EINVAL;
	if (hdr.reserved1 || hdr.reserved2)
		return -EPROTONOSUPPORT;
	if (hdr.driver_id != RDMA_DRIVER_RXE)
		return -EINVAL;
	memset(&r, 0, sizeof(r));
	r.f = f;
	r.m = method_find(hdr.object_id, hdr.method_id);
	if (!r.m)
		return -EPROTONOSUPPORT;
	r.name = r.m->name;
	r.uattrs = ((struct ib_uverbs_ioctl_hdr *)arg)->attrs;
	ret = method_run(&r, hdr.num_attrs);
	ioctl_finish(&r, ret == 0);
	*name = r.name;
	return ret;
}

int uverbs_ioctl(struct uverbs_file *f, unsigned long cmd, void *arg)
{
	const char *name = "";
	int ret;

	if ((uint32_t)cmd != RDMA_VERBS_IOCTL)
		return -ENOTTY;
	uverbs_no_reason(f);
	ret = ioctl_run(f, arg, &name);
	return ret ? uverbs_refused(f, name, ret) : 0;
}
