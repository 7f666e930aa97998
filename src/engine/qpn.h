/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a QP number to what has it. For engine_internal.h, after struct engine. */
#ifndef RUSE_ENGINE_QPN_H
#define RUSE_ENGINE_QPN_H

/* The block of QP numbers. */
static inline uint32_t qpn_block(uint32_t qpn)
{
	return (qpn >> QPN_INDEX_BITS) & (QPN_BLOCKS - 1);
}

/* The device of this process that leases the block of the QP number, or NULL. */
static inline struct rdev *engine_dev_of(uint32_t qpn)
{
	return engine.block_dev[qpn_block(qpn)];
}

/* The QP of this process, or NULL. */
static inline struct qp *engine_qp(uint32_t qpn)
{
	struct rdev *dev = engine_dev_of(qpn);

	return dev ? rdev_find_qp(dev, qpn) : NULL;
}

#endif
