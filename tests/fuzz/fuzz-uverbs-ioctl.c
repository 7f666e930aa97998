/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the uverbs ioctl methods. The input is a series of calls {row of the method tables,
 * number of attributes}, each followed by attributes {id, length, flags, value}. A value that the
 * spec treats as an address is mapped into the arena.
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include "fuzz-uverbs.h"

#define MAX_CALL_ATTRS 24
#define UHW_FLAG UVERBS_UDATA_DRIVER_DATA_FLAG
#define ASIDE 0xff
#define RAW_METHOD 0xfe	/* object and method come from data[1] */

struct call_attr {
	uint8_t id, len, flags, value[5];
};

static const struct attr_spec *spec_of(const struct method_spec *m, uint16_t id)
{
	for (int i = 0; m && i < m->nattrs; i++)
		if (m->attrs[i].id == id)
			return &m->attrs[i];
	return NULL;
}

static void put_attr(struct ib_uverbs_attr *a, const struct method_spec *m,
		     const struct call_attr *in)
{
	const struct attr_spec *s;
	uint64_t value = 0;

	memcpy(&value, in->value, sizeof(in->value));
	/* Usually an attribute that the method has. */
	if (m && !(in->flags & 0x80))
		a->attr_id = m->attrs[in->id % m->nattrs].id;
	else
		a->attr_id = (uint16_t)((in->id & 0x1f) | (in->flags & 0x40 ? UHW_FLAG : 0));
	a->len = in->len;
	a->flags = in->flags & 3;
	a->attr_data.reserved = in->flags >> 4 & 1;
	s = spec_of(m, a->attr_id);
	/* Usually the length that the spec asks for, so that the call gets further. */
	if (s && in->flags & 0x20)
		a->len = s->type == ATTR_IDR || s->type == ATTR_FD ? 0 : s->min_len;
	if (!s || s->type == ATTR_PTR_OUT || (s->type == ATTR_PTR_IN && a->len > 8))
		value = in_arena(value);
	a->data = value;
}

/* Runs one call; returns the number of bytes used. */
static size_t one_call(const uint8_t *data, size_t size)
{
	struct ib_uverbs_ioctl_hdr *hdr = (void *)(arena + 0x1000);
	size_t used = 2, n, rows = 0;
	const struct method_spec *m;
	struct call_attr in;

	if (data[0] == ASIDE) {
		fuzz_aside(data[1]);
		return used;
	}
	while (method_row((uint32_t)rows))
		rows++;
	m = data[0] == RAW_METHOD ? NULL : method_row(data[0] % (uint32_t)rows);
	memset(hdr, 0, sizeof(*hdr));
	hdr->driver_id = RDMA_DRIVER_RXE;
	hdr->object_id = m ? m->object : data[1] >> 3;
	hdr->method_id = m ? m->method : data[1] & 7;
	for (n = 0; n < (data[1] & 0x1f) && n < MAX_CALL_ATTRS && size - used >= sizeof(in); n++) {
		memcpy(&in, data + used, sizeof(in));
		used += sizeof(in);
		put_attr(&hdr->attrs[n], m, &in);
	}
	hdr->num_attrs = (uint16_t)n;
	hdr->length = (uint16_t)(sizeof(*hdr) + n * sizeof(hdr->attrs[0]));
	if (data[1] & 0x40)
		hdr->length ^= 1 << (data[1] >> 2 & 7);
	uverbs_ioctl(file, RDMA_VERBS_IOCTL, hdr);
	return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n;

	fuzz_open();
	while (size >= 2) {
		n = one_call(data, size);
		data += n;
		size -= n;
	}
	fuzz_close();
	return 0;
}
