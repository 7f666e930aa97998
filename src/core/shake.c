/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "core/shake.h"

const struct shake_ops *shake_ops;
