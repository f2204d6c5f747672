package mad

// AttrMlnxExtPortInfo is the vendor attribute of Mellanox devices that distinguishes FDR10 from QDR; PortInfo reports
// both with QDR's code. The modifier is the port.
const AttrMlnxExtPortInfo AttrID = 0xff90

// MellanoxVendorID is the vendor ID of devices that answer AttrMlnxExtPortInfo.
const MellanoxVendorID uint32 = 0x0002c9

// MlnxExtPortInfoSize is the length of MlnxExtPortInfo in bytes.
const MlnxExtPortInfoSize = 16

// MlnxSpeedFDR10 is the bit of FDR10 in the speed fields of MlnxExtPortInfo.
const MlnxSpeedFDR10 uint8 = 1

// MlnxExtPortInfo is the ExtendedPortInfo of Mellanox devices, laid out as libibmad 44.0
// reads it.
type MlnxExtPortInfo struct {
	StateChangeEnable  uint8
	LinkSpeedSupported uint8
	LinkSpeedEnabled   uint8
	LinkSpeedActive    uint8 // MlnxSpeedFDR10 or 0
}

func (a *MlnxExtPortInfo) fields(c *coder) {
	field(c, "state change enable", 24, 8, &a.StateChangeEnable)
	field(c, "link speed supported", 56, 8, &a.LinkSpeedSupported)
	field(c, "link speed enabled", 88, 8, &a.LinkSpeedEnabled)
	field(c, "link speed active", 120, 8, &a.LinkSpeedActive)
}

var _ Attribute = (*MlnxExtPortInfo)(nil)

func (a *MlnxExtPortInfo) Encode(dst []byte) error {
	c := encoding("ExtendedPortInfo", dst, MlnxExtPortInfoSize)
	a.fields(&c)
	return c.err
}

func (a *MlnxExtPortInfo) Decode(src []byte) error {
	c := decoding("ExtendedPortInfo", src, MlnxExtPortInfoSize)
	a.fields(&c)
	return c.err
}
