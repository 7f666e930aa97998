/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ioctls of umadN: a table with one row per ioctl command. */
#include <errno.h>
#include "abi/umad/umad_internal.h"

_Static_assert(sizeof(struct ib_user_mad_reg_req) == 28, "the kernel's size");
_Static_assert(sizeof(struct ib_user_mad_reg_req2) == 40, "the kernel's size");

struct umad_ioctl_row {
	unsigned int cmd;
	int len;	/* length of the argument */
	struct umad_answer (*fn)(struct umad_file *f, void *arg, ns_t now);
};

static struct umad_answer umad_ioctl_answer(int rc)
{
	return (struct umad_answer){ .rc = rc };
}

static int umad_file_pid(const struct umad_file *f)
{
	return f->ops->pid ? f->ops->pid(f->ctx) : 0;
}

/*
 * Creates an agent in the first free entry of umad_file.agents and writes its id to the start of arg: the requests of
 * REGISTER_AGENT and of REGISTER_AGENT2 both begin with the member id.
 */
static struct umad_answer umad_ioctl_reg(struct umad_file *f, const struct mad_reg *r, void *arg)
{
	struct mad_agent *a;
	uint32_t id = 0;
	int rc;

	while (id < UMAD_MAX_AGENTS && f->agents[id].agent)
		id++;
	if (id == UMAD_MAX_AGENTS)
		return umad_ioctl_answer(umad_refuse(f, -ENOMEM, UMAD_AGENTS, UMAD_MAX_AGENTS));
	rc = mad_agent_create(f->port->mad, r, &umad_agent_ops, &f->agents[id], &a);
	if (rc)
		return umad_ioctl_answer(rc);
	f->agents[id].agent = a;
	memcpy(arg, &id, sizeof(id));
	return (struct umad_answer){ .rc = 0, .off = 0, .len = sizeof(id) };
}

static struct umad_answer register_agent(struct umad_file *f, void *arg, ns_t now)
{
	struct ib_user_mad_reg_req u;
	struct umad_answer ans;
	struct mad_reg r;

	if (f->dead)
		return umad_ioctl_answer(-EPIPE);
	memcpy(&u, arg, sizeof(u));
	if (u.qpn > 1)
		return umad_ioctl_answer(umad_refuse(f, -EINVAL, UMAD_QPN, u.qpn));
	r = (struct mad_reg){ .qp = u.qpn, .rmpp_version = u.rmpp_version,
			      .pid = umad_file_pid(f) };
	if (u.mgmt_class) {
		r.mgmt_class = u.mgmt_class;
		r.class_version = u.mgmt_class_version;
		memcpy(r.oui, u.oui, sizeof(r.oui));
		memcpy(r.methods, u.method_mask, sizeof(r.methods));
	}
	ans = umad_ioctl_reg(f, &r, arg);
	f->used |= !ans.rc;
	return ans;
}

static struct umad_answer register_agent2(struct umad_file *f, void *arg, ns_t now)
{
	const uint32_t flags = IB_USER_MAD_REG_FLAGS_CAP;
	struct ib_user_mad_reg_req2 u;
	struct umad_answer ans;
	struct mad_reg r;
	uint32_t n = 0;

	if (f->dead)
		return umad_ioctl_answer(-EPIPE);
	memcpy(&u, arg, sizeof(u));
	if (u.qpn > 1)
		return umad_ioctl_answer(umad_refuse(f, -EINVAL, UMAD_QPN, u.qpn));
	if (u.flags & ~flags) {
		ans = umad_ioctl_answer(umad_refuse(f, -EINVAL, UMAD_FLAGS, u.flags, 0));
		ans.off = offsetof(struct ib_user_mad_reg_req2, flags);
		ans.len = sizeof(flags);
		memcpy((uint8_t *)arg + ans.off, &flags, sizeof(flags));
		return ans;
	}
	for (uint32_t i = 0; i < UMAD_MAX_AGENTS; i++)
		n += !!f->agents[i].agent;
	if (n == UMAD_MAX_AGENTS)
		return umad_ioctl_answer(umad_refuse(f, -ENOMEM, UMAD_AGENTS, UMAD_MAX_AGENTS));
	r = (struct mad_reg){ .qp = (uint8_t)u.qpn, .rmpp_version = u.rmpp_version,
			      .flags = u.flags, .pid = umad_file_pid(f) };
	if (u.mgmt_class) {
		if (u.oui & 0xff000000)
			return umad_ioctl_answer(umad_refuse(f, -EINVAL, UMAD_OUI_LONG, u.oui));
		r.mgmt_class = u.mgmt_class;
		r.class_version = u.mgmt_class_version;
		put_be24(r.oui, u.oui);
		memcpy(r.methods, u.method_mask, sizeof(r.methods));
	}
	ans = umad_ioctl_reg(f, &r, arg);
	/* REGISTER_AGENT2 implies the 64-byte header with P_Key index, without ENABLE_PKEY. */
	if (!ans.rc && !f->used)
		f->used = f->pkey_index = true;
	return ans;
}

static struct umad_answer unregister_agent(struct umad_file *f, void *arg, ns_t now)
{
	struct mad_agent *a;
	uint32_t id;

	memcpy(&id, arg, sizeof(id));
	if (id >= UMAD_MAX_AGENTS || f->dead || !f->agents[id].agent)
		return umad_ioctl_answer(umad_refuse(f, -EINVAL, UMAD_NO_AGENT, id));
	a = f->agents[id].agent;
	f->agents[id].agent = NULL;
	mad_agent_destroy(a, now);
	return umad_ioctl_answer(0);
}

static struct umad_answer enable_pkey(struct umad_file *f, void *arg, ns_t now)
{
	if (f->used)
		return umad_ioctl_answer(umad_refuse(f, -EINVAL, UMAD_PKEY_LATE));
	f->pkey_index = true;
	return umad_ioctl_answer(0);
}

static const struct umad_ioctl_row umad_ioctl_rows[] = {
	{ IB_USER_MAD_REGISTER_AGENT, sizeof(struct ib_user_mad_reg_req), register_agent },
	{ IB_USER_MAD_UNREGISTER_AGENT, sizeof(uint32_t), unregister_agent },
	{ IB_USER_MAD_ENABLE_PKEY, 0, enable_pkey },
	{ IB_USER_MAD_REGISTER_AGENT2, sizeof(struct ib_user_mad_reg_req2), register_agent2 },
};

static const struct umad_ioctl_row *umad_ioctl_row_of(unsigned int cmd)
{
	for (size_t i = 0; i < ARRAY_SIZE(umad_ioctl_rows); i++)
		if (umad_ioctl_rows[i].cmd == cmd)
			return &umad_ioctl_rows[i];
	return NULL;
}

struct umad_answer umad_ioctl(struct umad_file *f, unsigned int cmd, void *arg, ns_t now)
{
	const struct umad_ioctl_row *r = umad_ioctl_row_of(cmd);

	return r ? r->fn(f, arg, now) : umad_ioctl_answer(-ENOTTY);
}

int umad_ioctl_len(unsigned int cmd)
{
	const struct umad_ioctl_row *r = umad_ioctl_row_of(cmd);

	return r ? r->len : -1;
}
