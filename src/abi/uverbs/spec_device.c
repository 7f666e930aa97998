/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Table of the ioctl methods of the device and of event files. */
#include "abi/uverbs/spec.h"

ATTRS(invoke_write,
      IN(CORE_IN, AT_LEAST(4)),
      OUT(CORE_OUT, AT_LEAST(0)),
      CONST_IN(WRITE_CMD),
      UHW);
ATTRS(info_handles,
      CONST_IN(INFO_OBJECT_ID),
      OUT(INFO_TOTAL_HANDLES, SIZED(4, 4)),
      OUT(INFO_HANDLES_LIST, AT_LEAST(4)));
ATTRS(query_port,
      CONST_IN(QUERY_PORT_PORT_NUM),
      OUT(QUERY_PORT_RESP, STRUCT(struct ib_uverbs_query_port_resp_ex), MANDATORY));
ATTRS(get_context,
      OUT(GET_CONTEXT_NUM_COMP_VECTORS, SIZED(4, 4)),
      OUT(GET_CONTEXT_CORE_SUPPORT, SIZED(8, 8)),
      UHW);
ATTRS(query_context,
      OUT(QUERY_CONTEXT_NUM_COMP_VECTORS, SIZED(4, 4)),
      OUT(QUERY_CONTEXT_CORE_SUPPORT, SIZED(8, 8)));
ATTRS(query_gid_table,
      CONST_IN(QUERY_GID_TABLE_ENTRY_SIZE),
      FLAGS_IN(QUERY_GID_TABLE_FLAGS),
      OUT(QUERY_GID_TABLE_RESP_ENTRIES, AT_LEAST(0), MANDATORY),
      OUT(QUERY_GID_TABLE_RESP_NUM_ENTRIES, SIZED(8, 8), MANDATORY));
ATTRS(query_gid_entry,
      CONST_IN(QUERY_GID_ENTRY_PORT),
      CONST_IN(QUERY_GID_ENTRY_GID_INDEX),
      FLAGS_IN(QUERY_GID_ENTRY_FLAGS, MANDATORY),
      OUT(QUERY_GID_ENTRY_RESP_ENTRY, STRUCT(struct ib_uverbs_gid_entry), MANDATORY));
ATTRS(async_event_alloc,
      FD(ASYNC_EVENT_ALLOC_FD_HANDLE, ASYNC_EVENT, NEW, MANDATORY));

const struct method_spec spec_device[] = {
	METHOD(DEVICE, INVOKE_WRITE, invoke_write, true, io_invoke_write),
	METHOD(DEVICE, INFO_HANDLES, info_handles, true, io_info_handles),
	METHOD(DEVICE, QUERY_PORT, query_port, true, io_query_port),
	METHOD(DEVICE, GET_CONTEXT, get_context, true, io_get_context),
	METHOD(DEVICE, QUERY_CONTEXT, query_context, true, io_query_context),
	METHOD(DEVICE, QUERY_GID_TABLE, query_gid_table, true, io_query_gid_table),
	METHOD(DEVICE, QUERY_GID_ENTRY, query_gid_entry, true, io_query_gid_entry),
	METHOD(ASYNC_EVENT, ASYNC_EVENT_ALLOC, async_event_alloc, true, io_async_event_alloc),
};
const uint32_t spec_device_count = ARRAY_SIZE(spec_device);
