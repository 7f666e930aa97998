/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "core/check.h"

const struct check_ops *check_ops;
