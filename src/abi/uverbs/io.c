/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies between the program's memory and a command. ABI structs grow, so lengths may differ
 * from the struct known here. A shorter request is completed with zeros; the rest of a longer
 * one must be zero (EOPNOTSUPP). A response is cut to the program's buffer; the rest of a
 * longer buffer is cleared.
 */
#include <limits.h>
#include "abi/uverbs/uverbs_internal.h"

#define CHUNK 256

int user_get(void *dst, uint64_t addr, size_t len)
{
	return len ? umem_copy(dst, (const void *)(uintptr_t)addr, len) : 0;
}

int user_put(uint64_t addr, const void *src, size_t len)
{
	return len ? umem_copy((void *)(uintptr_t)addr, src, len) : 0;
}

int user_clear(uint64_t addr, size_t len)
{
	static const char zero[CHUNK];
	size_t n;

	for (; len; addr += n, len -= n) {
		n = min(len, (size_t)CHUNK);
		if (user_put(addr, zero, n))
			return -EFAULT;
	}
	return 0;
}

/* True if all bytes are zero. False also if they are unreadable, as in the kernel's ib_is_buffer_cleared(). */
bool user_is_zero(uint64_t addr, size_t len)
{
	char buf[CHUNK];
	size_t n, i;

	for (; len; addr += n, len -= n) {
		n = min(len, sizeof(buf));
		if (user_get(buf, addr, n))
			return false;
		for (i = 0; i < n; i++)
			if (buf[i])
				return false;
	}
	return true;
}

int req_get(struct uverbs_req *r, void *cmd, size_t len)
{
	size_t n = min(r->in.len, len);

	if (user_get(cmd, r->in.addr, n))
		return -EFAULT;
	memset((char *)cmd + n, 0, len - n);
	if (r->in.len > len && !user_is_zero(r->in.addr + len, r->in.len - len))
		return -EOPNOTSUPP;
	return 0;
}

int req_put(struct uverbs_req *r, const void *resp, size_t len)
{
	if (r->m && attr_find(r, UVERBS_ATTR_CORE_OUT))
		return attr_put_struct(r, UVERBS_ATTR_CORE_OUT, resp, len);
	if (user_put(r->out.addr, resp, min(r->out.len, len)))
		return -EFAULT;
	if (r->out.len > len)
		return user_clear(r->out.addr + len, r->out.len - len);
	return 0;
}

/* Number of bytes of the response that req_put() will write: response_length. */
uint32_t req_response_length(const struct uverbs_req *r, size_t len)
{
	return (uint32_t)min(r->out.len, len);
}

const struct attr_val *attr_find(const struct uverbs_req *r, uint16_t id)
{
	uint32_t i;

	for (i = 0; i < r->m->nattrs; i++)
		if (r->m->attrs[i].id == id)
			return r->attr[i].present ? &r->attr[i] : NULL;
	return NULL;
}

/* Values of up to 8 bytes are in the attribute itself. */
int attr_get(const struct uverbs_req *r, uint16_t id, void *dst, size_t len)
{
	const struct attr_val *a = attr_find(r, id);
	size_t n;

	if (!a)
		return -ENOENT;
	n = min(len, (size_t)a->len);
	memset((char *)dst + n, 0, len - n);
	if (a->len <= sizeof(a->data)) {
		memcpy(dst, &a->data, n);
		return 0;
	}
	return user_get(dst, a->data, n);
}

int attr_const(const struct uverbs_req *r, uint16_t id, uint64_t max, uint64_t *v)
{
	const struct attr_val *a = attr_find(r, id);

	if (!a)
		return -ENOENT;
	if (a->data > max)
		return -EINVAL;
	*v = a->data;
	return 0;
}

int attr_flags(const struct uverbs_req *r, uint16_t id, uint64_t allowed, uint32_t *v)
{
	const struct attr_val *a = attr_find(r, id);
	uint64_t flags;

	*v = 0;
	if (!a)
		return 0;
	if (a->len != 4 && a->len != 8)
		return -EINVAL;
	flags = a->len == 8 ? a->data : (uint32_t)a->data;
	if (flags & ~allowed || flags > UINT32_MAX)
		return -EINVAL;
	*v = (uint32_t)flags;
	return 0;
}

int attr_set_output(struct uverbs_req *r, const struct attr_val *a)
{
	uint16_t flags = a->flags | UVERBS_ATTR_F_VALID_OUTPUT;

	return user_put((uintptr_t)&r->uattrs[a->index].flags, &flags, sizeof(flags));
}

int attr_put(struct uverbs_req *r, uint16_t id, const void *src, size_t len)
{
	const struct attr_val *a = attr_find(r, id);

	if (!a)
		return -ENOENT;
	if (user_put(a->data, src, min(len, (size_t)a->len)))
		return -EFAULT;
	return attr_set_output(r, a);
}

int attr_put_struct(struct uverbs_req *r, uint16_t id, const void *src, size_t len)
{
	const struct attr_val *a = attr_find(r, id);

	if (a && a->len > len && user_clear(a->data + len, a->len - len))
		return -EFAULT;
	return attr_put(r, id, src, len);
}

struct ubuf attr_buf(struct uverbs_req *r, uint16_t id, bool in)
{
	const struct attr_val *a = attr_find(r, id);

	if (!a)
		return (struct ubuf){ 0, 0 };
	if (in && a->len <= sizeof(a->data))
		return (struct ubuf){ (uintptr_t)&r->uattrs[a->index].data, a->len };
	return (struct ubuf){ a->data, a->len };
}
