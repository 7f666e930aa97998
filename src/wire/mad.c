/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wire/cm_msg.h"
#include "wire/mad.h"
#include "wire/text.h"

bool mad_is_response(const uint8_t *mad)
{
	return mad[MAD_O_METHOD] & MAD_RESP || mad[MAD_O_METHOD] == MAD_TRAP_REPRESS ||
	       (mad[MAD_O_CLASS] == MAD_CLASS_BM &&
		get_be32(mad + MAD_O_ATTR_MOD) & MAD_BM_ATTR_MOD_RESP);
}

bool mad_class_has_oui(uint8_t mgmt_class)
{
	return mgmt_class >= MAD_CLASS_VENDOR_2 && mgmt_class <= MAD_CLASS_VENDOR_2_END;
}

bool mad_class_has_rmpp(uint8_t mgmt_class)
{
	return mgmt_class == MAD_CLASS_SUBN_ADM || mgmt_class == MAD_CLASS_DEVICE ||
	       mgmt_class == MAD_CLASS_DEVICE_ADM || mgmt_class == MAD_CLASS_BIS ||
	       mad_class_has_oui(mgmt_class);
}

uint32_t mad_hdr_len(uint8_t mgmt_class)
{
	if (mgmt_class == MAD_CLASS_SUBN_ADM)
		return SA_HDR_LEN;
	if (mad_class_has_oui(mgmt_class))
		return VENDOR_HDR_LEN;
	return mad_class_has_rmpp(mgmt_class) ? DEV_HDR_LEN : MAD_HDR_LEN;
}

static void mad_print_name(struct text *t, const char *name, const char *what, uint32_t value)
{
	if (name)
		text_add(t, "%s", name);
	else
		text_add(t, "%s 0x%x", what, value);
}

static void mad_print_rmpp(struct text *t, const uint8_t *mad)
{
	uint8_t type = mad[RMPP_O_TYPE], st = mad[RMPP_O_STATUS], fl = mad[RMPP_O_RTIME_FLAGS];

	text_add(t, " rmpp ");
	mad_print_name(t, rmpp_type_name(type), "type", type);
	text_add(t, " seg %u %s %u%s%s", get_be32(mad + RMPP_O_SEG), type == RMPP_ACK ? "win" : "len",
		 get_be32(mad + RMPP_O_LEN_WIN), fl & RMPP_F_FIRST ? " first" : "",
		 fl & RMPP_F_LAST ? " last" : "");
	if (st) {
		text_add(t, " status %u", st);
		if (rmpp_status_name(st))
			text_add(t, " (%s)", rmpp_status_name(st));
	}
}

static void mad_print_path(struct text *t, const uint8_t *mad)
{
	uint16_t hops = get_be16(mad + MAD_O_CLASS_SPECIFIC);
	uint8_t count = hops & 0xff, ptr = hops >> 8;

	text_add(t, " hop %u/%u path 0", ptr, count);
	for (uint8_t i = 1; i <= count && i < SMP_O_RETURN_PATH - SMP_O_INITIAL_PATH; i++)
		text_add(t, ",%u", mad[SMP_O_INITIAL_PATH + i]);
	if (get_be16(mad + MAD_O_STATUS) & SMP_DIRECTION)
		text_add(t, " return");
}

static void mad_print_hdr(struct text *t, const uint8_t *mad)
{
	uint8_t c = mad[MAD_O_CLASS];
	uint16_t status = get_be16(mad + MAD_O_STATUS);
	uint32_t mod = get_be32(mad + MAD_O_ATTR_MOD);

	mad_print_name(t, mad_class_name(c), "class", c);
	text_add(t, " ");
	mad_print_name(t, mad_method_name(c, mad[MAD_O_METHOD]), "method", mad[MAD_O_METHOD]);
	text_add(t, " ");
	mad_print_name(t, mad_attr_name(c, mad_attr(mad)), "attr", mad_attr(mad));
	text_add(t, " tid 0x%llx", (unsigned long long)mad_tid(mad));
	if (mod)
		text_add(t, " mod 0x%x", mod);
	if (c == MAD_CLASS_SUBN_DR)
		status &= (uint16_t)~SMP_DIRECTION;
	if (status)
		text_add(t, " status 0x%04x", status);
}

int mad_print(const void *buf, size_t len, char *out, size_t size)
{
	const uint8_t *mad = buf;
	struct cm_hdr cm;
	struct text t;

	text_init(&t, out, size);
	if (len < MAD_LEN) {
		text_add(&t, "MAD of %zu bytes", len);
		return (int)t.len;
	}
	if (mad[MAD_O_BASE_VERSION] != MAD_BASE_VERSION) {
		text_add(&t, "MAD of base version %u", mad[MAD_O_BASE_VERSION]);
		return (int)t.len;
	}
	/*
	 * cm_msg_print() prints CM messages. Other MADs of the CM class are printed below, with the
	 * general header.
	 */
	if (cm_msg_hdr(mad, &cm) && cm.attr >= CM_ATTR_REQ && cm.attr < CM_ATTR_END)
		return cm_msg_print(mad, out, size);
	mad_print_hdr(&t, mad);
	if (mad[MAD_O_CLASS] == MAD_CLASS_SUBN_DR)
		mad_print_path(&t, mad);
	if (mad_class_has_oui(mad[MAD_O_CLASS]))
		text_add(&t, " oui %06x", get_be24(mad + VENDOR_O_OUI));
	if (mad_class_has_rmpp(mad[MAD_O_CLASS]) && mad[RMPP_O_RTIME_FLAGS] & RMPP_F_ACTIVE)
		mad_print_rmpp(&t, mad);
	return (int)t.len;
}
