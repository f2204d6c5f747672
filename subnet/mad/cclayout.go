package mad

import "fmt"

// packedCASize is the length of CACongestionSetting with entries of five bytes.
const packedCASize = 84

// WideSwitchPortBlock is the number of ports in one SwitchPortCongestionSetting block of devices that fill the whole data
// area with elements (CCLayout.WidePorts).
const WideSwitchPortBlock = 48

// CCLayout selects the layouts of class 0x21 for devices that deviate from IBTA vol. 1, annex A10; documents and
// devices contradict each other. The zero value is the annex as OpenSM and the management library ibis implement it.
// The bit order of Control_Map in SwitchCongestionSetting is disputed too, but needs no option: settings are written
// whole, with all bits set.
type CCLayout struct {
	// LibibmadLog means that events in the log of a channel adapter are laid out as in libibmad and ibccquery: SL and
	// service type in the byte after the local QP, and the local LID before the remote one.
	LibibmadLog bool
	// WidePorts means that a block of SwitchPortCongestionSetting holds 48 ports, as in libibmad, not 32.
	WidePorts bool
	// PackedCA means that an entry of CACongestionSetting has 5 bytes, increase first, as in the driver of old QLogic
	// adapters, not 8.
	PackedCA bool
}

// PortsPerBlock returns the number of ports in one block of SwitchPortCongestionSetting: 32 or 48.
func (l CCLayout) PortsPerBlock() int {
	if l.WidePorts {
		return WideSwitchPortBlock
	}
	return SwitchPortBlock
}

// CALog returns the log of a channel adapter in the layout.
func (l CCLayout) CALog(a *CongestionLogCA) Attribute {
	if l.LibibmadLog {
		return (*libibmadLog)(a)
	}
	return a
}

// CASetting returns the settings of a channel adapter in the layout.
func (l CCLayout) CASetting(a *CACongestionSetting) Attribute {
	if l.PackedCA {
		return (*packedCASetting)(a)
	}
	return a
}

// CASettingSize returns the length of CACongestionSetting in the layout, in bytes.
func (l CCLayout) CASettingSize() int {
	if l.PackedCA {
		return packedCASize
	}
	return CACongestionSettingSize
}

// SwitchPorts returns the elements of one block in the layout. Their number must be PortsPerBlock; otherwise every Encode
// and Decode fails.
func (l CCLayout) SwitchPorts(elements []SwitchPortElement) Attribute {
	return &switchPorts{elements, l.PortsPerBlock()}
}

// libibmadLog is the log of a channel adapter as libibmad reads it.
type libibmadLog CongestionLogCA

func (a *libibmadLog) fields(c *coder) {
	(*CongestionLogCA)(a).head(c)
	for i := range a.Events {
		e, off := &a.Events[i], 96+i*128
		field(c, "local QP", off, 24, &e.LocalQP)
		field(c, "SL", off+24, 4, &e.SL)
		field(c, "service type", off+28, 4, &e.Service)
		field(c, "remote QP", off+32, 24, &e.RemoteQP)
		field(c, "local LID", off+64, 16, &e.LocalLID)
		field(c, "remote LID", off+80, 16, &e.RemoteLID)
		field(c, "time stamp", off+96, 32, &e.TimeStamp)
	}
}

var _ Attribute = (*libibmadLog)(nil)

func (a *libibmadLog) Encode(dst []byte) error {
	c := encoding("CongestionLog", dst, CongestionLogSize)
	a.fields(&c)
	return c.err
}

func (a *libibmadLog) Decode(src []byte) error {
	c := decoding("CongestionLog", src, CongestionLogSize)
	a.fields(&c)
	return c.err
}

// packedCASetting is the settings of a channel adapter with entries of five bytes.
type packedCASetting CACongestionSetting

func (a *packedCASetting) fields(c *coder) {
	(*CACongestionSetting)(a).head(c)
	for i := range a.Entries {
		e, off := &a.Entries[i], 32+i*40
		field(c, "CCTI increase", off, 8, &e.Increase)
		field(c, "CCTI timer", off+8, 16, &e.Timer)
		field(c, "trigger threshold", off+24, 8, &e.Trigger)
		field(c, "CCTI minimum", off+32, 8, &e.Min)
	}
}

var _ Attribute = (*packedCASetting)(nil)

func (a *packedCASetting) Encode(dst []byte) error {
	c := encoding("CACongestionSetting", dst, packedCASize)
	a.fields(&c)
	return c.err
}

func (a *packedCASetting) Decode(src []byte) error {
	c := decoding("CACongestionSetting", src, packedCASize)
	a.fields(&c)
	return c.err
}

// switchPorts is one block of port elements.
type switchPorts struct {
	elements []SwitchPortElement
	want     int
}

func (a *switchPorts) fields(c *coder) { portElements(c, a.elements) }

func (a *switchPorts) check() error {
	if len(a.elements) != a.want {
		return fmt.Errorf("SwitchPortCongestionSetting: %d elements: want %d", len(a.elements), a.want)
	}
	return nil
}

var _ Attribute = (*switchPorts)(nil)

func (a *switchPorts) Encode(dst []byte) error {
	if err := a.check(); err != nil {
		return err
	}
	c := encoding("SwitchPortCongestionSetting", dst, 4*a.want)
	a.fields(&c)
	return c.err
}

func (a *switchPorts) Decode(src []byte) error {
	if err := a.check(); err != nil {
		return err
	}
	c := decoding("SwitchPortCongestionSetting", src, 4*a.want)
	a.fields(&c)
	return c.err
}
