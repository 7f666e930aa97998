/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of management classes, methods, attributes and RMPP codes, as in the
 * specification. One table per class, searched linearly: the names are for printing.
 */
#include "wire/mad.h"

struct name {
	uint16_t value;
	const char *name;
};

static const char *mad_name_of(const struct name *t, size_t n, uint16_t value)
{
	for (size_t i = 0; i < n; i++)
		if (t[i].value == value)
			return t[i].name;
	return NULL;
}

#define NAME_OF(table, value) mad_name_of(table, ARRAY_SIZE(table), value)

static const struct name classes[] = {
	{ MAD_CLASS_SUBN_LID, "SMP" },
	{ MAD_CLASS_SUBN_ADM, "SA" },
	{ MAD_CLASS_PERF, "Perf" },
	{ MAD_CLASS_BM, "BM" },
	{ MAD_CLASS_DEVICE, "DevMgt" },
	{ MAD_CLASS_CM, "CM" },
	{ MAD_CLASS_SNMP, "SNMP" },
	{ MAD_CLASS_DEVICE_ADM, "DevAdm" },
	{ MAD_CLASS_BOOT, "BootMgt" },
	{ MAD_CLASS_BIS, "BIS" },
	{ MAD_CLASS_CC, "CC" },
	{ MAD_CLASS_SUBN_DR, "SMP-DR" },
};

static const struct name methods[] = {
	{ MAD_GET, "Get" },
	{ MAD_SET, "Set" },
	{ MAD_GET | MAD_RESP, "GetResp" },
	{ MAD_SEND, "Send" },
	{ MAD_TRAP, "Trap" },
	{ MAD_REPORT, "Report" },
	{ MAD_REPORT | MAD_RESP, "ReportResp" },
	{ MAD_TRAP_REPRESS, "TrapRepress" },
};

/* IBA 15.2.2 */
static const struct name sa_methods[] = {
	{ MAD_GET_TABLE, "GetTable" },
	{ MAD_GET_TABLE | MAD_RESP, "GetTableResp" },
	{ MAD_GET_TRACE_TABLE, "GetTraceTable" },
	{ MAD_GET_MULTI, "GetMulti" },
	{ MAD_GET_MULTI | MAD_RESP, "GetMultiResp" },
	{ MAD_DELETE, "Delete" },
	{ MAD_DELETE | MAD_RESP, "DeleteResp" },
};

/* IBA 13.4.8: attributes common to all classes */
static const struct name common_attrs[] = {
	{ MAD_ATTR_CLASS_PORT_INFO, "ClassPortInfo" },
	{ 0x0002, "Notice" },
	{ 0x0003, "InformInfo" },
};

/* IBA 14.2.5; SMPs have no ClassPortInfo and no InformInfo */
static const struct name ib_smp_attrs[] = {
	{ 0x0002, "Notice" },
	{ 0x0010, "NodeDescription" },
	{ 0x0011, "NodeInfo" },
	{ 0x0012, "SwitchInfo" },
	{ 0x0014, "GUIDInfo" },
	{ 0x0015, "PortInfo" },
	{ 0x0016, "P_KeyTable" },
	{ 0x0017, "SLtoVLMappingTable" },
	{ 0x0018, "VLArbitrationTable" },
	{ 0x0019, "LinearForwardingTable" },
	{ 0x001a, "RandomForwardingTable" },
	{ 0x001b, "MulticastForwardingTable" },
	{ 0x001d, "VendorSpecificMadsTable" },
	{ 0x0020, "SMInfo" },
	{ 0x0030, "VendorDiag" },
	{ 0x0031, "LedInfo" },
	{ 0x0033, "CableInfo" },
	{ 0x0034, "PortInfoExtended" },
	{ 0xff90, "MlnxExtendedPortInfo" },
};

/* IBA 15.2.5 */
static const struct name sa_attrs[] = {
	{ 0x0011, "NodeRecord" },
	{ 0x0012, "PortInfoRecord" },
	{ 0x0013, "SLtoVLMappingTableRecord" },
	{ 0x0014, "SwitchInfoRecord" },
	{ 0x0015, "LinearForwardingTableRecord" },
	{ 0x0016, "RandomForwardingTableRecord" },
	{ 0x0017, "MulticastForwardingTableRecord" },
	{ 0x0018, "SMInfoRecord" },
	{ 0x0019, "LinkSpeedWidthPairsTableRecord" },
	{ 0x0020, "LinkRecord" },
	{ 0x0030, "GuidInfoRecord" },
	{ 0x0031, "ServiceRecord" },
	{ 0x0033, "P_KeyTableRecord" },
	{ 0x0035, "PathRecord" },
	{ 0x0036, "VLArbitrationTableRecord" },
	{ 0x0038, "MCMemberRecord" },
	{ 0x0039, "TraceRecord" },
	{ 0x003a, "MultiPathRecord" },
	{ 0x003b, "ServiceAssociationRecord" },
	{ 0x00f3, "InformInfoRecord" },
};

/* IBA 16.1.3 */
static const struct name perf_attrs[] = {
	{ 0x0010, "PortSamplesControl" },
	{ 0x0011, "PortSamplesResult" },
	{ 0x0012, "PortCounters" },
	{ 0x0015, "PortRcvErrorDetails" },
	{ 0x0016, "PortXmitDiscardDetails" },
	{ 0x0017, "PortOpRcvCounters" },
	{ 0x0018, "PortFlowCtlCounters" },
	{ 0x0019, "PortVLOpPackets" },
	{ 0x001a, "PortVLOpData" },
	{ 0x001b, "PortVLXmitFlowCtlUpdateErrors" },
	{ 0x001c, "PortVLXmitWaitCounters" },
	{ 0x001d, "PortCountersExtended" },
	{ 0x001e, "PortSamplesResultExtended" },
	{ 0x001f, "PortExtendedSpeedsCounters" },
	{ 0x0030, "SwPortVLCongestion" },
	{ 0x0031, "PortRcvConCtrl" },
	{ 0x0032, "PortSLRcvFECN" },
	{ 0x0033, "PortSLRcvBECN" },
	{ 0x0034, "PortXmitConCtrl" },
	{ 0x0035, "PortVLXmitTimeCong" },
	{ 0x0036, "PortXmitDataSL" },
	{ 0x0037, "PortRcvDataSL" },
};

/* IBA 12.6 */
static const struct name cm_attrs[] = {
	{ 0x0010, "ConnectRequest" },
	{ 0x0011, "MsgRcptAck" },
	{ 0x0012, "ConnectReject" },
	{ 0x0013, "ConnectReply" },
	{ 0x0014, "ReadyToUse" },
	{ 0x0015, "DisconnectRequest" },
	{ 0x0016, "DisconnectReply" },
	{ 0x0017, "ServiceIDResReq" },
	{ 0x0018, "ServiceIDResReqResp" },
	{ 0x0019, "LoadAlternatePath" },
	{ 0x001a, "AlternatePathResponse" },
};

/* IBA 16.3.3 */
static const struct name device_attrs[] = {
	{ 0x0010, "IOUnitInfo" },
	{ 0x0011, "IOControllerProfile" },
	{ 0x0012, "ServiceEntries" },
	{ 0x0020, "DiagnosticTimeout" },
	{ 0x0021, "PrepareToTest" },
	{ 0x0022, "TestDeviceOnce" },
	{ 0x0023, "TestDeviceLoop" },
	{ 0x0024, "DiagCode" },
};

/* IBA annex A10 */
static const struct name cc_attrs[] = {
	{ 0x0011, "CongestionInfo" },
	{ 0x0012, "CongestionKeyInfo" },
	{ 0x0013, "CongestionLog" },
	{ 0x0014, "SwitchCongestionSetting" },
	{ 0x0015, "SwitchPortCongestionSetting" },
	{ 0x0016, "CACongestionSetting" },
	{ 0x0017, "CongestionControlTable" },
	{ 0x0018, "TimeStamp" },
};

static const char *const rmpp_types[] = {
	[RMPP_NONE] = "NONE", [RMPP_DATA] = "DATA",   [RMPP_ACK] = "ACK",
	[RMPP_STOP] = "STOP", [RMPP_ABORT] = "ABORT",
};

static const struct name rmpp_statuses[] = {
	{ RMPP_ST_OK, "normal" },
	{ RMPP_ST_RESX, "resources exhausted" },
	{ RMPP_ST_T2L, "total time too long" },
	{ RMPP_ST_BAD_LEN, "inconsistent last and payload length" },
	{ RMPP_ST_BAD_SEG, "inconsistent first and segment number" },
	{ RMPP_ST_BADT, "bad RMPP type" },
	{ RMPP_ST_W2S, "new window last too small" },
	{ RMPP_ST_S2B, "segment number too big" },
	{ RMPP_ST_BAD_STATUS, "illegal status" },
	{ RMPP_ST_UNV, "unsupported version" },
	{ RMPP_ST_TMR, "too many retries" },
	{ RMPP_ST_UNSPEC, "unspecified" },
};

const char *mad_class_name(uint8_t mgmt_class)
{
	if (mad_class_has_oui(mgmt_class) ||
	    (mgmt_class >= MAD_CLASS_VENDOR_1 && mgmt_class < MAD_CLASS_DEVICE_ADM))
		return "Vendor";
	return NAME_OF(classes, mgmt_class);
}

const char *mad_method_name(uint8_t mgmt_class, uint8_t method)
{
	const char *s = mgmt_class == MAD_CLASS_SUBN_ADM ? NAME_OF(sa_methods, method) : NULL;

	return s ? s : NAME_OF(methods, method);
}

const char *mad_attr_name(uint8_t mgmt_class, uint16_t attr)
{
	const char *s = NULL;

	switch (mgmt_class) {
	case MAD_CLASS_SUBN_LID:
	case MAD_CLASS_SUBN_DR:
		return NAME_OF(ib_smp_attrs, attr);
	case MAD_CLASS_SUBN_ADM:
		s = NAME_OF(sa_attrs, attr);
		break;
	case MAD_CLASS_PERF:
		s = NAME_OF(perf_attrs, attr);
		break;
	case MAD_CLASS_CM:
		s = NAME_OF(cm_attrs, attr);
		break;
	case MAD_CLASS_DEVICE:
		s = NAME_OF(device_attrs, attr);
		break;
	case MAD_CLASS_CC:
		s = NAME_OF(cc_attrs, attr);
		break;
	}
	return s ? s : NAME_OF(common_attrs, attr);
}

const char *rmpp_type_name(uint8_t type)
{
	return type < ARRAY_SIZE(rmpp_types) ? rmpp_types[type] : NULL;
}

const char *rmpp_status_name(uint8_t status)
{
	return NAME_OF(rmpp_statuses, status);
}
