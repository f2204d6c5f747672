package mad

import "fmt"

// AttrID is an attribute identifier. The same number means different attributes in
// different classes; AttrName gives the name within a class.
type AttrID uint16

// Attributes common to several classes (IBTA vol. 1, 13.4.8).
const (
	AttrClassPortInfo AttrID = 0x0001
	AttrNotice        AttrID = 0x0002
)

// Attributes of subnet management (IBTA vol. 1, 14.2.5).
const (
	AttrNodeDescription          AttrID = 0x0010
	AttrNodeInfo                 AttrID = 0x0011
	AttrSwitchInfo               AttrID = 0x0012
	AttrGUIDInfo                 AttrID = 0x0014
	AttrPortInfo                 AttrID = 0x0015
	AttrPKeyTable                AttrID = 0x0016
	AttrSLToVLTable              AttrID = 0x0017
	AttrVLArbitration            AttrID = 0x0018
	AttrLinearForwardingTable    AttrID = 0x0019
	AttrRandomForwardingTable    AttrID = 0x001a
	AttrMulticastForwardingTable AttrID = 0x001b
	AttrSMInfo                   AttrID = 0x0020
	AttrVendorDiag               AttrID = 0x0030
	AttrLedInfo                  AttrID = 0x0031
)

// Attributes of subnet administration (IBTA vol. 1, 15.2.5).
const (
	AttrNodeRecord AttrID = 0x0011
	AttrPathRecord AttrID = 0x0035
)

// Attributes of performance management (IBTA vol. 1, 16.1.3 and 16.1.4; annex A10 for
// 0x31 to 0x35).
const (
	AttrPortCounters         AttrID = 0x0012
	AttrPortCountersExtended AttrID = 0x001d
	AttrPortRcvConCtrl       AttrID = 0x0031
	AttrPortSLRcvFECN        AttrID = 0x0032
	AttrPortSLRcvBECN        AttrID = 0x0033
	AttrPortXmitConCtrl      AttrID = 0x0034
	AttrPortVLXmitTimeCong   AttrID = 0x0035
	AttrPortXmitDataSL       AttrID = 0x0036
	AttrPortRcvDataSL        AttrID = 0x0037
)

// Attributes of congestion control (IBTA vol. 1, annex A10).
const (
	AttrCongestionInfo              AttrID = 0x0011
	AttrCongestionKeyInfo           AttrID = 0x0012
	AttrCongestionLog               AttrID = 0x0013
	AttrSwitchCongestionSetting     AttrID = 0x0014
	AttrSwitchPortCongestionSetting AttrID = 0x0015
	AttrCACongestionSetting         AttrID = 0x0016
	AttrCongestionControlTable      AttrID = 0x0017
	AttrTimeStamp                   AttrID = 0x0018
)

// AttrName returns the name of an attribute within its class: "PortInfo". An unknown attribute or class is formatted
// as "attribute 0x00ff".
func AttrName(c Class, a AttrID) string {
	name := ""
	switch c {
	case ClassSubnLID, ClassSubnDR:
		name = smpAttrName(a)
	case ClassSubnAdm:
		name = saAttrName(a)
	case ClassPerf:
		name = perfAttrName(a)
	case ClassCongestion:
		name = ccAttrName(a)
	}
	if name == "" {
		name = fmt.Sprintf("attribute 0x%04x", uint16(a))
	}
	return name
}

func smpAttrName(a AttrID) string {
	switch a {
	case AttrNotice:
		return "Notice"
	case AttrNodeDescription:
		return "NodeDescription"
	case AttrNodeInfo:
		return "NodeInfo"
	case AttrSwitchInfo:
		return "SwitchInfo"
	case AttrGUIDInfo:
		return "GUIDInfo"
	case AttrPortInfo:
		return "PortInfo"
	case AttrPKeyTable:
		return "P_KeyTable"
	case AttrSLToVLTable:
		return "SLtoVLMappingTable"
	case AttrVLArbitration:
		return "VLArbitrationTable"
	case AttrLinearForwardingTable:
		return "LinearForwardingTable"
	case AttrRandomForwardingTable:
		return "RandomForwardingTable"
	case AttrMulticastForwardingTable:
		return "MulticastForwardingTable"
	case AttrSMInfo:
		return "SMInfo"
	case AttrVendorDiag:
		return "VendorDiag"
	case AttrLedInfo:
		return "LedInfo"
	case AttrMlnxExtPortInfo:
		return "ExtendedPortInfo (Mellanox)"
	}
	return ""
}

func saAttrName(a AttrID) string {
	switch a {
	case AttrClassPortInfo:
		return "ClassPortInfo"
	case AttrNotice:
		return "Notice"
	case AttrNodeRecord:
		return "NodeRecord"
	case AttrPathRecord:
		return "PathRecord"
	}
	return ""
}

func perfAttrName(a AttrID) string {
	switch a {
	case AttrClassPortInfo:
		return "ClassPortInfo"
	case AttrPortCounters:
		return "PortCounters"
	case AttrPortCountersExtended:
		return "PortCountersExtended"
	case AttrPortRcvConCtrl:
		return "PortRcvConCtrl"
	case AttrPortSLRcvFECN:
		return "PortSLRcvFECN"
	case AttrPortSLRcvBECN:
		return "PortSLRcvBECN"
	case AttrPortXmitConCtrl:
		return "PortXmitConCtrl"
	case AttrPortVLXmitTimeCong:
		return "PortVLXmitTimeCong"
	case AttrPortXmitDataSL:
		return "PortXmitDataSL"
	case AttrPortRcvDataSL:
		return "PortRcvDataSL"
	}
	return ""
}

func ccAttrName(a AttrID) string {
	switch a {
	case AttrClassPortInfo:
		return "ClassPortInfo"
	case AttrNotice:
		return "Notice"
	case AttrCongestionInfo:
		return "CongestionInfo"
	case AttrCongestionKeyInfo:
		return "CongestionKeyInfo"
	case AttrCongestionLog:
		return "CongestionLog"
	case AttrSwitchCongestionSetting:
		return "SwitchCongestionSetting"
	case AttrSwitchPortCongestionSetting:
		return "SwitchPortCongestionSetting"
	case AttrCACongestionSetting:
		return "CACongestionSetting"
	case AttrCongestionControlTable:
		return "CongestionControlTable"
	case AttrTimeStamp:
		return "TimeStamp"
	}
	return ""
}

// String names the class: "congestion control (0x21)".
func (c Class) String() string {
	name := "class"
	switch c {
	case ClassSubnLID:
		name = "subnet management"
	case ClassSubnDR:
		name = "subnet management, directed route"
	case ClassSubnAdm:
		name = "subnet administration"
	case ClassPerf:
		name = "performance management"
	case ClassCongestion:
		name = "congestion control"
	}
	return fmt.Sprintf("%s (0x%02x)", name, uint8(c))
}

// Version returns the class version a MAD of this class carries: 2 for subnet
// administration and congestion control, 1 for every other class.
func (c Class) Version() uint8 {
	if c == ClassSubnAdm || c == ClassCongestion {
		return 2
	}
	return 1
}

// IsSMP reports whether packets of the class travel between QP0s on VL15.
func (c Class) IsSMP() bool { return c == ClassSubnLID || c == ClassSubnDR }

// QPN returns the queue pair that packets of the class are sent to: 0 for subnet
// management packets, 1 for all others.
func (c Class) QPN() uint32 {
	if c.IsSMP() {
		return 0
	}
	return 1
}
