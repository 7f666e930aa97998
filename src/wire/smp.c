/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "base/log.h"
#include "wire/bits.h"
#include "wire/smp.h"

static const struct bits ib_smp_bits[SMP_FIELD_COUNT] = {
#define X(name, byte, bit, width) [name] = { byte, bit, width },
	SMP_FIELDS(X)
};

static const struct bits perf_bits[PERF_FIELD_COUNT] = {
	PERF_FIELDS(X)
#undef X
};

#define X(name, byte, bit, width) \
	_Static_assert((bit) + (width) <= 64 && (byte) * 8 + (bit) + (width) <= 8 * SMP_DATA_LEN, \
		       #name);
SMP_FIELDS(X)
#undef X

uint64_t ib_smp_get(const uint8_t *data, enum ib_smp_field f)
{
	return bits_get(data, &ib_smp_bits[f]);
}

void ib_smp_put(uint8_t *data, enum ib_smp_field f, uint64_t v)
{
	bits_put(data, &ib_smp_bits[f], v);
}

uint64_t perf_get(const uint8_t *data, enum perf_field f)
{
	return bits_get(data, &perf_bits[f]);
}

void perf_put(uint8_t *data, enum perf_field f, uint64_t v)
{
	bits_put(data, &perf_bits[f], v);
}

uint8_t perf_width(enum perf_field f)
{
	return perf_bits[f].width;
}

void ib_smp_init(uint8_t smp[MAD_LEN], uint8_t mgmt_class, uint8_t method, uint16_t attr,
		 uint32_t mod,
		 uint64_t tid)
{
	memset(smp, 0, MAD_LEN);
	smp[MAD_O_BASE_VERSION] = MAD_BASE_VERSION;
	smp[MAD_O_CLASS] = mgmt_class;
	smp[MAD_O_CLASS_VERSION] = 1;
	smp[MAD_O_METHOD] = method;
	put_be64(smp + MAD_O_TID, tid);
	put_be16(smp + MAD_O_ATTR, attr);
	put_be32(smp + MAD_O_ATTR_MOD, mod);
}
