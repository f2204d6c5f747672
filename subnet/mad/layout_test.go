package mad_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"fairlane/subnet/mad"
)

// layout is the position of a field in the C library libibmad 44.0: the field's name there, the offset of its first
// bit and its width. The table was generated with the library's mad_set_field, so that the tests check against an
// independent decoder.
type layout struct {
	attribute, field, libibmad string
	offset, width              int
}

func TestFieldOffsetsEqualLibibmads(t *testing.T) {
	t.Parallel()
	for _, l := range libibmadLayout() {
		t.Run(l.attribute+"/"+l.libibmad, func(t *testing.T) {
			t.Parallel()
			a := newAttribute(t, l.attribute)
			setAll(t, pick(t, reflect.ValueOf(a).Elem(), l.field), l.width)
			got := make([]byte, 256)
			if err := a.Encode(got); err != nil {
				t.Fatal(err)
			}
			want := make([]byte, 256)
			for i := l.offset; i < l.offset+l.width; i++ {
				want[i/8] |= 0x80 >> (i % 8)
			}
			if fmt.Sprintf("%x", got) != fmt.Sprintf("%x", want) {
				t.Errorf("%s is encoded as\n%x\nwant bits %d:%d\n%x", l.field, got, l.offset, l.width, want)
			}
		})
	}
}

// pick resolves a path such as "Redirect.QP" or "SL.3" to a field.
func pick(t *testing.T, v reflect.Value, path string) reflect.Value {
	t.Helper()
	for name := range strings.SplitSeq(path, ".") {
		if name == "" {
			continue
		}
		if i, err := strconv.Atoi(name); err == nil {
			v = v.Index(i)
			continue
		}
		if v = v.FieldByName(name); !v.IsValid() {
			t.Fatalf("no field %s", path)
		}
	}
	return v
}

// setAll sets every bit of a field of the given width.
func setAll(t *testing.T, v reflect.Value, width int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1<<width - 1)
	default:
		t.Fatalf("field of kind %s", v.Kind())
	}
}

func newAttribute(t testing.TB, name string) mad.Attribute {
	t.Helper()
	for _, a := range attributes() {
		if a.name == name {
			return a.make()
		}
	}
	t.Fatalf("no attribute %s", name)
	return nil
}

func libibmadLayout() []layout {
	return []layout{
		{"PortInfo", "MKey", "Mkey", 0, 64},
		{"PortInfo", "GIDPrefix", "GidPrefix", 64, 64},
		{"PortInfo", "LID", "Lid", 128, 16},
		{"PortInfo", "MasterSMLID", "SMLid", 144, 16},
		{"PortInfo", "CapabilityMask", "CapMask", 160, 32},
		{"PortInfo", "DiagCode", "DiagCode", 192, 16},
		{"PortInfo", "MKeyLeasePeriod", "MkeyLeasePeriod", 208, 16},
		{"PortInfo", "LocalPort", "LocalPort", 224, 8},
		{"PortInfo", "LinkWidthEnabled", "LinkWidthEnabled", 232, 8},
		{"PortInfo", "LinkWidthSupported", "LinkWidthSupported", 240, 8},
		{"PortInfo", "LinkWidthActive", "LinkWidthActive", 248, 8},
		{"PortInfo", "LinkSpeedSupported", "LinkSpeedSupported", 256, 4},
		{"PortInfo", "State", "LinkState", 260, 4},
		{"PortInfo", "PhysState", "PhysLinkState", 264, 4},
		{"PortInfo", "LinkDownDefaultState", "LinkDownDefState", 268, 4},
		{"PortInfo", "MKeyProtect", "ProtectBits", 272, 2},
		{"PortInfo", "LMC", "LMC", 277, 3},
		{"PortInfo", "LinkSpeedActive", "LinkSpeedActive", 280, 4},
		{"PortInfo", "LinkSpeedEnabled", "LinkSpeedEnabled", 284, 4},
		{"PortInfo", "NeighborMTU", "NeighborMTU", 288, 4},
		{"PortInfo", "MasterSMSL", "SMSL", 292, 4},
		{"PortInfo", "VLCap", "VLCap", 296, 4},
		{"PortInfo", "InitType", "InitType", 300, 4},
		{"PortInfo", "VLHighLimit", "VLHighLimit", 304, 8},
		{"PortInfo", "VLArbHighCap", "VLArbHighCap", 312, 8},
		{"PortInfo", "VLArbLowCap", "VLArbLowCap", 320, 8},
		{"PortInfo", "InitTypeReply", "InitReply", 328, 4},
		{"PortInfo", "MTUCap", "MtuCap", 332, 4},
		{"PortInfo", "VLStallCount", "VLStallCount", 336, 3},
		{"PortInfo", "HOQLife", "HoqLife", 339, 5},
		{"PortInfo", "OperationalVLs", "OperVLs", 344, 4},
		{"PortInfo", "PartEnforceIn", "PartEnforceInb", 348, 1},
		{"PortInfo", "PartEnforceOut", "PartEnforceOutb", 349, 1},
		{"PortInfo", "FilterRawIn", "FilterRawInb", 350, 1},
		{"PortInfo", "FilterRawOut", "FilterRawOutb", 351, 1},
		{"PortInfo", "MKeyViolations", "MkeyViolations", 352, 16},
		{"PortInfo", "PKeyViolations", "PkeyViolations", 368, 16},
		{"PortInfo", "QKeyViolations", "QkeyViolations", 384, 16},
		{"PortInfo", "GUIDCap", "GuidCap", 400, 8},
		{"PortInfo", "ClientReregister", "ClientReregister", 408, 1},
		{"PortInfo", "McastPKeySuppress", "McastPkeyTrapSuppressionEnabled", 409, 2},
		{"PortInfo", "SubnetTimeout", "SubnetTimeout", 411, 5},
		{"PortInfo", "RespTimeValue", "RespTimeVal", 419, 5},
		{"PortInfo", "LocalPhyErrors", "LocalPhysErr", 424, 4},
		{"PortInfo", "OverrunErrors", "OverrunErr", 428, 4},
		{"PortInfo", "MaxCreditHint", "MaxCreditHint", 432, 16},
		{"PortInfo", "LinkRoundTrip", "RoundTrip", 456, 24},
		{"NodeInfo", "BaseVersion", "BaseVers", 0, 8},
		{"NodeInfo", "ClassVersion", "ClassVers", 8, 8},
		{"NodeInfo", "NodeType", "NodeType", 16, 8},
		{"NodeInfo", "NumPorts", "NumPorts", 24, 8},
		{"NodeInfo", "SystemGUID", "SystemGuid", 32, 64},
		{"NodeInfo", "NodeGUID", "Guid", 96, 64},
		{"NodeInfo", "PortGUID", "PortGuid", 160, 64},
		{"NodeInfo", "PartitionCap", "PartCap", 224, 16},
		{"NodeInfo", "DeviceID", "DevId", 240, 16},
		{"NodeInfo", "Revision", "Revision", 256, 32},
		{"NodeInfo", "LocalPort", "LocalPort", 288, 8},
		{"NodeInfo", "VendorID", "VendorId", 296, 24},
		{"SwitchInfo", "LinearFDBCap", "LinearFdbCap", 0, 16},
		{"SwitchInfo", "RandomFDBCap", "RandomFdbCap", 16, 16},
		{"SwitchInfo", "MulticastFDBCap", "McastFdbCap", 32, 16},
		{"SwitchInfo", "LinearFDBTop", "LinearFdbTop", 48, 16},
		{"SwitchInfo", "DefaultPort", "DefPort", 64, 8},
		{"SwitchInfo", "DefaultMcastPri", "DefMcastPrimPort", 72, 8},
		{"SwitchInfo", "DefaultMcastNotPri", "DefMcastNotPrimPort", 80, 8},
		{"SwitchInfo", "LifeTimeValue", "LifeTime", 88, 5},
		{"SwitchInfo", "PortStateChange", "StateChange", 93, 1},
		{"SwitchInfo", "OptimizedSLtoVL", "OptSLtoVLMapping", 94, 2},
		{"SwitchInfo", "LIDsPerPort", "LidsPerPort", 96, 16},
		{"SwitchInfo", "PartEnforceCap", "PartEnforceCap", 112, 16},
		{"SwitchInfo", "InboundEnforceCap", "InboundPartEnf", 128, 1},
		{"SwitchInfo", "OutboundEnforceCap", "OutboundPartEnf", 129, 1},
		{"SwitchInfo", "FilterRawInCap", "FilterRawInbound", 130, 1},
		{"SwitchInfo", "FilterRawOutCap", "FilterRawOutbound", 131, 1},
		{"SwitchInfo", "EnhancedPort0", "EnhancedPort0", 132, 1},
		{"SwitchInfo", "MulticastFDBTop", "MulticastFDBTop", 144, 16},
		{"Notice", "Generic", "NoticeIsGeneric", 0, 1},
		{"Notice", "Type", "NoticeType", 1, 7},
		{"Notice", "Producer", "NoticeProducerType", 8, 24},
		{"Notice", "TrapNumber", "NoticeTrapNumber", 32, 16},
		{"Notice", "IssuerLID", "NoticeIssuerLID", 48, 16},
		{"Notice", "Toggle", "NoticeToggle", 64, 1},
		{"PortCounters", "PortSelect", "PortSelect", 8, 8},
		{"PortCounters", "CounterSelect", "CounterSelect", 16, 16},
		{"PortCounters", "SymbolErrors", "SymbolErrorCounter", 32, 16},
		{"PortCounters", "LinkErrorRecovery", "LinkErrorRecoveryCounter", 48, 8},
		{"PortCounters", "LinkDowned", "LinkDownedCounter", 56, 8},
		{"PortCounters", "RcvErrors", "PortRcvErrors", 64, 16},
		{"PortCounters", "RcvRemotePhysical", "PortRcvRemotePhysicalErrors", 80, 16},
		{"PortCounters", "RcvSwitchRelay", "PortRcvSwitchRelayErrors", 96, 16},
		{"PortCounters", "XmitDiscards", "PortXmitDiscards", 112, 16},
		{"PortCounters", "XmitConstraint", "PortXmitConstraintErrors", 128, 8},
		{"PortCounters", "RcvConstraint", "PortRcvConstraintErrors", 136, 8},
		{"PortCounters", "CounterSelect2", "CounterSelect2", 144, 8},
		{"PortCounters", "LocalLinkIntegrity", "LocalLinkIntegrityErrors", 152, 4},
		{"PortCounters", "BufferOverrun", "ExcessiveBufferOverrunErrors", 156, 4},
		{"PortCounters", "VL15Dropped", "VL15Dropped", 176, 16},
		{"PortCounters", "XmitData", "PortXmitData", 192, 32},
		{"PortCounters", "RcvData", "PortRcvData", 224, 32},
		{"PortCounters", "XmitPkts", "PortXmitPkts", 256, 32},
		{"PortCounters", "RcvPkts", "PortRcvPkts", 288, 32},
		{"PortCounters", "XmitWait", "PortXmitWait", 320, 32},
		{"SMInfo", "GUID", "SmInfoGuid", 0, 64},
		{"SMInfo", "SMKey", "SmInfoKey", 64, 64},
		{"SMInfo", "ActCount", "SmActivity", 128, 32},
		{"SMInfo", "Priority", "SmPriority", 160, 4},
		{"SMInfo", "State", "SmState", 164, 4},
		{"PathRecord", "DLID", "PathRecDLid", 320, 16},
		{"PathRecord", "SLID", "PathRecSLid", 336, 16},
		{"PathRecord", "NumbPath", "PathRecNumPath", 393, 7},
		{"PathRecord", "SL", "PathRecSL", 428, 4},
		{"PortCountersExtended", "PortSelect", "PortSelect", 8, 8},
		{"PortCountersExtended", "CounterSelect", "CounterSelect", 16, 16},
		{"PortCountersExtended", "XmitData", "PortXmitData", 64, 64},
		{"PortCountersExtended", "RcvData", "PortRcvData", 128, 64},
		{"PortCountersExtended", "XmitPkts", "PortXmitPkts", 192, 64},
		{"PortCountersExtended", "RcvPkts", "PortRcvPkts", 256, 64},
		{"PortCountersExtended", "UnicastXmit", "PortUnicastXmitPkts", 320, 64},
		{"PortCountersExtended", "UnicastRcv", "PortUnicastRcvPkts", 384, 64},
		{"PortCountersExtended", "MulticastXmit", "PortMulticastXmitPkts", 448, 64},
		{"PortCountersExtended", "MulticastRcv", "PortMulticastRcvPkts", 512, 64},
		{"ClassPortInfo", "BaseVersion", "BaseVersion", 0, 8},
		{"ClassPortInfo", "ClassVersion", "ClassVersion", 8, 8},
		{"ClassPortInfo", "CapabilityMask", "CapabilityMask", 16, 16},
		{"ClassPortInfo", "CapabilityMask2", "CapabilityMask2", 32, 27},
		{"ClassPortInfo", "RespTimeValue", "RespTimeVal", 59, 5},
		{"ClassPortInfo", "Redirect.TClass", "RedirectTC", 192, 8},
		{"ClassPortInfo", "Redirect.SL", "RedirectSL", 200, 4},
		{"ClassPortInfo", "Redirect.LID", "RedirectLID", 224, 16},
		{"ClassPortInfo", "Redirect.PKey", "RedirectPKey", 240, 16},
		{"ClassPortInfo", "Redirect.QP", "RedirectQP", 264, 24},
		{"ClassPortInfo", "Redirect.QKey", "RedirectQKey", 288, 32},
		{"ClassPortInfo", "Trap.TClass", "TrapTC", 448, 8},
		{"ClassPortInfo", "Trap.SL", "TrapSL", 456, 4},
		{"ClassPortInfo", "Trap.LID", "TrapLID", 480, 16},
		{"ClassPortInfo", "Trap.PKey", "TrapPKey", 496, 16},
		{"ClassPortInfo", "TrapHopLimit", "TrapHL", 512, 8},
		{"ClassPortInfo", "Trap.QP", "TrapQP", 520, 24},
		{"ClassPortInfo", "Trap.QKey", "TrapQKey", 544, 32},
		{"PortSLCounters", "SL.0", "XmtDataSL0", 32, 32},
		{"PortSLCounters", "SL.1", "XmtDataSL1", 64, 32},
		{"PortSLCounters", "SL.2", "XmtDataSL2", 96, 32},
		{"PortSLCounters", "SL.3", "XmtDataSL3", 128, 32},
		{"PortSLCounters", "SL.4", "XmtDataSL4", 160, 32},
		{"PortSLCounters", "SL.5", "XmtDataSL5", 192, 32},
		{"PortSLCounters", "SL.6", "XmtDataSL6", 224, 32},
		{"PortSLCounters", "SL.7", "XmtDataSL7", 256, 32},
		{"PortSLCounters", "SL.8", "XmtDataSL8", 288, 32},
		{"PortSLCounters", "SL.9", "XmtDataSL9", 320, 32},
		{"PortSLCounters", "SL.10", "XmtDataSL10", 352, 32},
		{"PortSLCounters", "SL.11", "XmtDataSL11", 384, 32},
		{"PortSLCounters", "SL.12", "XmtDataSL12", 416, 32},
		{"PortSLCounters", "SL.13", "XmtDataSL13", 448, 32},
		{"PortSLCounters", "SL.14", "XmtDataSL14", 480, 32},
		{"PortSLCounters", "SL.15", "XmtDataSL15", 512, 32},
		{"PortVLXmitTimeCong", "VL.0", "PortVLXmitTimeCong0", 32, 32},
		{"PortVLXmitTimeCong", "VL.1", "PortVLXmitTimeCong1", 64, 32},
		{"PortVLXmitTimeCong", "VL.2", "PortVLXmitTimeCong2", 96, 32},
		{"PortVLXmitTimeCong", "VL.3", "PortVLXmitTimeCong3", 128, 32},
		{"PortVLXmitTimeCong", "VL.4", "PortVLXmitTimeCong4", 160, 32},
		{"PortVLXmitTimeCong", "VL.5", "PortVLXmitTimeCong5", 192, 32},
		{"PortVLXmitTimeCong", "VL.6", "PortVLXmitTimeCong6", 224, 32},
		{"PortVLXmitTimeCong", "VL.7", "PortVLXmitTimeCong7", 256, 32},
		{"PortVLXmitTimeCong", "VL.8", "PortVLXmitTimeCong8", 288, 32},
		{"PortVLXmitTimeCong", "VL.9", "PortVLXmitTimeCong9", 320, 32},
		{"PortVLXmitTimeCong", "VL.10", "PortVLXmitTimeCong10", 352, 32},
		{"PortVLXmitTimeCong", "VL.11", "PortVLXmitTimeCong11", 384, 32},
		{"PortVLXmitTimeCong", "VL.12", "PortVLXmitTimeCong12", 416, 32},
		{"PortVLXmitTimeCong", "VL.13", "PortVLXmitTimeCong13", 448, 32},
		{"PortVLXmitTimeCong", "VL.14", "PortVLXmitTimeCong14", 480, 32},
		{"PortRcvConCtrl", "PktRcvFECN", "PortPktRcvFECN", 32, 32},
		{"PortRcvConCtrl", "PktRcvBECN", "PortPktRcvBECN", 64, 32},
		{"PortXmitConCtrl", "XmitTimeCong", "PortXmitTimeCong", 32, 32},
		{"CongestionInfo", "Info", "CongestionInfo", 0, 16},
		{"CongestionInfo", "ControlTableCap", "ControlTableCap", 16, 8},
		{"CongestionKeyInfo", "CCKey", "CC_Key", 0, 64},
		{"CongestionKeyInfo", "Protect", "CC_KeyProtectBit", 64, 1},
		{"CongestionKeyInfo", "LeasePeriod", "CC_KeyLeasePeriod", 80, 16},
		{"CongestionKeyInfo", "Violations", "CC_KeyViolations", 96, 16},
		{"CongestionLogSwitch", "LogType", "LogType", 0, 8},
		{"CongestionLogSwitch", "EventsCounter", "LogEventsCounter", 16, 16},
		{"CongestionLogSwitch", "CurrentTime", "CurrentTimeStamp", 32, 32},
		{"CongestionLogCA", "EventsCounter", "ThresholdEventCounter", 16, 16},
		{"CongestionLogCA", "EventMap", "ThresholdCongestionEventMap", 32, 16},
		{"CongestionLogCA", "CurrentTime", "CurrentTimeStamp", 64, 32},
		{"SwitchCongestionSetting", "ControlMap", "Control_Map", 0, 32},
		{"SwitchCongestionSetting", "Threshold", "Threshold", 544, 4},
		{"SwitchCongestionSetting", "PacketSize", "Packet_Size", 552, 8},
		{"SwitchCongestionSetting", "CSThreshold", "CS_Threshold", 560, 4},
		{"SwitchCongestionSetting", "MarkingRate", "Marking_Rate", 592, 16},
		{"CACongestionSetting", "PortControl", "Port_Control", 0, 16},
		{"CACongestionSetting", "ControlMap", "Control_Map", 16, 16},
		{"CongestionControlTable", "Limit", "CCTI_Limit", 0, 16},
		{"MlnxExtPortInfo", "StateChangeEnable", "StateChangeEnable", 24, 8},
		{"MlnxExtPortInfo", "LinkSpeedSupported", "LinkSpeedSupported", 56, 8},
		{"MlnxExtPortInfo", "LinkSpeedEnabled", "LinkSpeedEnabled", 88, 8},
		{"MlnxExtPortInfo", "LinkSpeedActive", "LinkSpeedActive", 120, 8},
		{"TimeStamp", ".", "Timestamp", 0, 32},
	}
}
