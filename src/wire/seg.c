/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wire/seg.h"

const char *seg_service_name(uint8_t service)
{
	static const char *const names[] = {
		[SEG_RC] = "RC",
		[SEG_UC] = "UC",
		[SEG_UD] = "UD",
	};

	return service < ARRAY_SIZE(names) && names[service] ? names[service] : "?";
}
