/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands and methods for the context, and queries of device and port. */
#include "abi/uverbs/handlers.h"

bool port_valid(uint32_t port)
{
	return port == DEV_PORT;
}

/*
 * The response is written twice. The kernel first reserves the descriptor's number, then writes
 * the response, then checks whether there is a context already. Here the number is known only
 * when the descriptor exists. The first write, without it, makes EFAULT precede the other errors
 * and leave no descriptor behind; the second one adds the number.
 */
int do_get_context(struct uverbs_req *r)
{
	struct uverbs_file *f = r->f;
	struct ib_uverbs_get_context_resp resp = { .async_fd = UINT32_MAX };
	struct ib_uverbs_get_context cmd;
	int fd, ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	ret = uverbs_check_gone(f);
	if (ret)
		return ret;
	resp.num_comp_vectors = f->uctx->dev->num_comp_vectors;
	ret = req_put(r, &resp, sizeof(resp));
	if (ret)
		return ret;
	if (f->has_context)
		return -EINVAL;
	ret = ev_install(f, true, &fd);
	if (ret)
		return ret;
	f->has_context = true;
	resp.async_fd = (uint32_t)fd;
	ret = req_put(r, &resp, sizeof(resp));
	if (ret) {
		ev_uninstall(f, fd);
		f->has_context = false;
	}
	return ret;
}

static int device_put_core_support(struct uverbs_req *r, uint16_t vectors_id, uint16_t support_id)
{
	uint32_t vectors = r->f->uctx->dev->num_comp_vectors;
	uint64_t support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	int ret;

	ret = attr_put(r, vectors_id, &vectors, sizeof(vectors));
	if (ret && ret != -ENOENT)
		return ret;
	ret = attr_put(r, support_id, &support, sizeof(support));
	return ret == -ENOENT ? 0 : ret;
}

int io_get_context(struct uverbs_req *r)
{
	int ret;

	ret = device_put_core_support(r, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
				      UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT);
	if (ret)
		return ret;
	ret = uverbs_check_gone(r->f);
	if (ret)
		return ret;
	if (r->f->has_context)
		return -EINVAL;
	r->f->has_context = true;
	return 0;
}

/* The kernel's rxe has no query_ucontext. On a file with a context the method returns -EOPNOTSUPP. */
int io_query_context(struct uverbs_req *r)
{
	int ret;

	ret = uverbs_check_context(r->f);
	return ret ? ret : -EOPNOTSUPP;
}

int do_query_device(struct uverbs_req *r)
{
	struct ib_uverbs_query_device_resp resp;
	struct ib_uverbs_query_device cmd;
	int ret;

	ret = uverbs_check_context(r->f);
	if (!ret)
		ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	memset(&resp, 0, sizeof(resp));
	rdev_query(r->f->uctx->dev, &resp);
	return req_put(r, &resp, sizeof(resp));
}

int do_ex_query_device(struct uverbs_req *r)
{
	struct ib_uverbs_ex_query_device_resp resp;
	struct ib_uverbs_ex_query_device cmd;
	int ret;

	ret = uverbs_check_context(r->f);
	if (!ret)
		ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (cmd.comp_mask || cmd.reserved)
		return -EINVAL;
	if (r->drv_in.len || r->drv_out.len)
		return -EINVAL;
	memset(&resp, 0, sizeof(resp));
	rdev_query_ex(r->f->uctx->dev, &resp);
	resp.response_length = req_response_length(r, sizeof(resp));
	return req_put(r, &resp, sizeof(resp));
}

int do_query_port(struct uverbs_req *r)
{
	struct ib_uverbs_query_port_resp_ex resp;
	struct ib_uverbs_query_port cmd;
	int ret;

	ret = uverbs_check_context(r->f);
	if (!ret)
		ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (!port_valid(cmd.port_num))
		return -EINVAL;
	memset(&resp, 0, sizeof(resp));
	rdev_query_port(r->f->uctx->dev, &resp);
	return req_put(r, &resp.legacy_resp, sizeof(resp.legacy_resp));
}

int io_query_port(struct uverbs_req *r)
{
	struct ib_uverbs_query_port_resp_ex resp;
	uint64_t port;
	int ret;

	ret = uverbs_check_context(r->f);
	if (!ret)
		ret = attr_const(r, UVERBS_ATTR_QUERY_PORT_PORT_NUM, UINT8_MAX, &port);
	if (ret)
		return ret;
	if (!port_valid((uint32_t)port))
		return -EINVAL;
	memset(&resp, 0, sizeof(resp));
	rdev_query_port(r->f->uctx->dev, &resp);
	return attr_put_struct(r, UVERBS_ATTR_QUERY_PORT_RESP, &resp, sizeof(resp));
}
