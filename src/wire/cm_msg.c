/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "wire/bits.h"
#include "wire/cm_msg.h"
#include "wire/mad.h"
#include "wire/text.h"

_Static_assert(CM_HDR_LEN == MAD_HDR_LEN && CM_MAD_LEN == MAD_LEN, "CM MADs are MADs");

static const struct field {
	struct bits bits;
	const char *name;
} fields[CM_FIELD_COUNT] = {
#define X(name, byte, bit, width) [CM_##name] = { { CM_HDR_LEN + (byte), bit, width }, #name },
	CM_FIELDS(X)
#undef X
};

static const char *const attr_names[] = {
	"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR",
};
_Static_assert(ARRAY_SIZE(attr_names) == CM_ATTR_COUNT, "a name for each message");

/* Private data and fields of each message. The fields of a message are adjacent in CM_FIELDS. */
static const struct msg {
	uint8_t data_off, data_len;
	enum cm_field first, last;
} msgs[] = {
#define MSG(m, first, last)                                                                        \
	[CM_ATTR_##m - CM_ATTR_REQ] = { CM_OFF_##m##_PRIVATE_DATA, CM_LEN_##m##_PRIVATE_DATA,      \
					CM_##m##_##first, CM_##m##_##last }
	MSG(REQ, LOCAL_COMM_ID, SAP_SUPPORTED),
	MSG(MRA, LOCAL_COMM_ID, SERVICE_TIMEOUT),
	MSG(REJ, LOCAL_COMM_ID, REASON),
	MSG(REP, LOCAL_COMM_ID, LOCAL_CA_GUID),
	MSG(RTU, LOCAL_COMM_ID, REMOTE_COMM_ID),
	MSG(DREQ, LOCAL_COMM_ID, REMOTE_QPN_EECN),
	MSG(DREP, LOCAL_COMM_ID, REMOTE_COMM_ID),
	MSG(SIDR_REQ, REQUESTID, SERVICEID),
	MSG(SIDR_REP, REQUESTID, Q_KEY),
	MSG(LAP, LOCAL_COMM_ID, ALTERNATE_LOCAL_ACK_TIMEOUT),
	MSG(APR, LOCAL_COMM_ID, AR_STATUS),
};
_Static_assert(ARRAY_SIZE(msgs) == CM_ATTR_COUNT, "a row for each message");

static const struct msg *cm_msg_of(uint16_t attr)
{
	return attr >= CM_ATTR_REQ && attr < CM_ATTR_END ? &msgs[attr - CM_ATTR_REQ] : NULL;
}

void cm_msg_init(uint8_t mad[CM_MAD_LEN], const struct cm_hdr *h)
{
	memset(mad, 0, CM_MAD_LEN);
	mad[MAD_O_BASE_VERSION] = MAD_BASE_VERSION;
	mad[MAD_O_CLASS] = MAD_CLASS_CM;
	mad[MAD_O_CLASS_VERSION] = CM_CLASS_VERSION;
	mad[MAD_O_METHOD] = MAD_SEND;
	put_be64(mad + MAD_O_TID, h->tid);
	put_be16(mad + MAD_O_ATTR, h->attr);
	put_be32(mad + MAD_O_ATTR_MOD, h->attr_mod);
}

bool cm_msg_hdr(const uint8_t mad[CM_MAD_LEN], struct cm_hdr *h)
{
	h->tid = mad_tid(mad);
	h->attr = mad_attr(mad);
	h->attr_mod = get_be32(mad + MAD_O_ATTR_MOD);
	return mad[MAD_O_BASE_VERSION] == MAD_BASE_VERSION && mad[MAD_O_CLASS] == MAD_CLASS_CM &&
	       mad[MAD_O_CLASS_VERSION] == CM_CLASS_VERSION && mad[MAD_O_METHOD] == MAD_SEND;
}

/*
 * Every field lies within the eight bytes that begin with its first byte, so one 64-bit load covers
 * it. Where these eight bytes would extend beyond the MAD, bits_get() reads the field byte by byte.
 */
uint64_t cm_get(const uint8_t mad[CM_MAD_LEN], enum cm_field field)
{
	const struct bits *f = &fields[field].bits;

	if (f->byte > CM_MAD_LEN - 8)
		return bits_get(mad, f);
	return get_be64(mad + f->byte) << f->bit >> (64 - f->width);
}

void cm_set(uint8_t mad[CM_MAD_LEN], enum cm_field field, uint64_t v)
{
	const struct bits *f = &fields[field].bits;
	uint32_t shift = 64u - f->bit - f->width;
	uint64_t mask = ~0ull >> (64 - f->width) << shift;

	if (f->byte > CM_MAD_LEN - 8) {
		bits_put(mad, f, v);
		return;
	}
	put_be64(mad + f->byte, (get_be64(mad + f->byte) & ~mask) | (v << shift & mask));
}

const char *cm_attr_name(uint16_t attr)
{
	return cm_msg_of(attr) ? attr_names[attr - CM_ATTR_REQ] : "?";
}

const uint8_t *cm_msg_private_data(const uint8_t mad[CM_MAD_LEN], uint16_t attr, uint32_t *len)
{
	const struct msg *m = cm_msg_of(attr);

	*len = m ? m->data_len : 0;
	return m ? mad + m->data_off : NULL;
}

int cm_msg_print(const uint8_t mad[CM_MAD_LEN], char *buf, size_t size)
{
	const struct msg *m;
	struct text t;
	struct cm_hdr h;
	uint64_t v;
	uint32_t f;

	text_init(&t, buf, size);
	if (!cm_msg_hdr(mad, &h)) {
		text_add(&t, "CM ?");
		return (int)t.len;
	}
	m = cm_msg_of(h.attr);
	if (!m) {
		text_add(&t, "CM attribute %#x tid=%#llx", h.attr, (unsigned long long)h.tid);
		return (int)t.len;
	}
	text_add(&t, "CM %s tid=%#llx", cm_attr_name(h.attr), (unsigned long long)h.tid);
	for (f = m->first; f <= (uint32_t)m->last; f++) {
		v = cm_get(mad, (enum cm_field)f);
		/*
		 * Print the field's name without the message's name: "REQ_LOCAL_QPN" as
		 * "LOCAL_QPN".
		 */
		if (v)
			text_add(&t, " %s=%#llx", fields[f].name + strlen(cm_attr_name(h.attr)) + 1,
				 (unsigned long long)v);
	}
	return (int)t.len;
}
