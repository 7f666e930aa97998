/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Directed-route SMPs. Hop pointer and hop count tell where on its route an SMP is (enum place).
 * Requests and responses have the same places. They differ in the direction in which the hop
 * pointer counts, in the path used (initial or return path), and in the LID to which the SMP is
 * routed after its directed part (DrDLID or DrSLID).
 */
#include "mad/smi.h"

enum place {
	AT_START,	/* before the first hop */
	ON_THE_WAY,	/* in a switch between two hops */
	AT_END,		/* after the last hop */
	BEYOND,		/* after smi_end(): for this node */
	NOWHERE,	/* invalid hop pointer or count */
};

static uint8_t *smi_ptr_of(uint8_t *smp)
{
	return smp + MAD_O_CLASS_SPECIFIC;
}

static uint8_t smi_count_of(const uint8_t *smp)
{
	return smp[MAD_O_CLASS_SPECIFIC + 1];
}

static enum place smi_place_of(uint8_t *smp)
{
	unsigned int ptr = *smi_ptr_of(smp), count = smi_count_of(smp);

	if (count >= SMI_MAX_HOPS || ptr > count + 1)
		return NOWHERE;
	if (smi_returns(smp)) {
		if (count && ptr == count + 1)
			return AT_START;
		return ptr == 0 ? BEYOND : ptr == 1 ? AT_END : ON_THE_WAY;
	}
	if (count && ptr == 0)
		return AT_START;
	return ptr == count + 1 ? BEYOND : ptr == count ? AT_END : ON_THE_WAY;
}

/* Counts a hop; true if port is the one in the path for this hop. */
static bool smi_hop(uint8_t *smp, uint8_t port)
{
	uint8_t *ptr = smi_ptr_of(smp);

	if (smi_returns(smp))
		return smp[SMP_O_RETURN_PATH + --*ptr] == port;
	return smp[SMP_O_INITIAL_PATH + ++*ptr] == port;
}

/* Handles an SMP after the last hop: it is for this node, or a switch forwards it by LID. */
static enum smi_way smi_end(const struct smi_node *n, uint8_t *smp)
{
	if (smi_lid(smp) != LID_PERMISSIVE && !n->is_switch)
		return SMI_DISCARD;
	*smi_ptr_of(smp) += smi_returns(smp) ? -1 : 1;
	return smi_lid(smp) == LID_PERMISSIVE ? SMI_LOCAL : SMI_LID;
}

enum smi_way smi_send(const struct smi_node *n, uint8_t smp[MAD_LEN])
{
	switch (smi_place_of(smp)) {
	case AT_START:
		return smi_hop(smp, n->port) ? SMI_WIRE : SMI_DISCARD;
	case ON_THE_WAY:
		return n->is_switch && smi_hop(smp, n->port) ? SMI_WIRE : SMI_DISCARD;
	case AT_END:
		return smi_end(n, smp);
	case BEYOND:
		return SMI_LOCAL;
	case NOWHERE:
		break;
	}
	return SMI_DISCARD;
}

/* A received request. Each receiver enters its port in the return path. */
static enum smi_way smi_input_request(const struct smi_node *n, uint8_t *smp, uint8_t *out)
{
	uint8_t ptr = *smi_ptr_of(smp);

	switch (smi_place_of(smp)) {
	case AT_START:
		/* Valid only at a switch that the SMP has reached by LID. */
		*out = smp[SMP_O_INITIAL_PATH + 1];
		return n->is_switch && !smi_starts(smp) && *out <= n->nports ? SMI_WIRE :
									       SMI_DISCARD;
	case ON_THE_WAY:
		if (!n->is_switch)
			return SMI_DISCARD;
		smp[SMP_O_RETURN_PATH + ptr] = n->port;
		*out = smp[SMP_O_INITIAL_PATH + ptr + 1];
		return *out <= n->nports ? SMI_WIRE : SMI_DISCARD;
	case AT_END:
		if (ptr)
			smp[SMP_O_RETURN_PATH + ptr] = n->port;
		return smi_end(n, smp);
	case BEYOND:
		return SMI_LOCAL;
	case NOWHERE:
		break;
	}
	return SMI_DISCARD;
}

static enum smi_way smi_input_response(const struct smi_node *n, uint8_t *smp, uint8_t *out)
{
	switch (smi_place_of(smp)) {
	case AT_START:
		*out = smp[SMP_O_RETURN_PATH + smi_count_of(smp)];
		if (n->is_switch)
			return !smi_starts(smp) && *out <= n->nports ? SMI_WIRE : SMI_DISCARD;
		return smi_hop(smp, n->port) ? SMI_LOCAL : SMI_DISCARD;
	case ON_THE_WAY:
		*out = smp[SMP_O_RETURN_PATH + *smi_ptr_of(smp) - 1];
		return n->is_switch && *out <= n->nports ? SMI_WIRE : SMI_DISCARD;
	case AT_END:
		return smi_end(n, smp);
	case BEYOND:
		return SMI_LOCAL;
	case NOWHERE:
		break;
	}
	return SMI_DISCARD;
}

enum smi_way smi_input(const struct smi_node *n, uint8_t smp[MAD_LEN], uint8_t *out)
{
	return smi_returns(smp) ? smi_input_response(n, smp, out) : smi_input_request(n, smp, out);
}
