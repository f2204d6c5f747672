package ibmad

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/subnet/mad"
)

// switchState is the state of a switch in its attributes.
type switchState struct {
	layout  mad.CCLayout
	setting mad.SwitchCongestionSetting
	// blocks covers ports 0 to the last one; nil if the switch does not support the attribute.
	blocks []portBlock

	settingData [mad.SwitchCongestionSettingSize]byte // as answered, for the reserved bits
}

// portBlock is one block of port elements, and the data of its answer.
type portBlock struct {
	elements []mad.SwitchPortElement // as many as a block of the layout has
	data     []byte
}

func (d *Driver) readSwitch(ctx context.Context, dev driver.Device) (*switchState, error) {
	s := &switchState{layout: d.layout(dev)}
	resp, err := d.read(ctx, dev, mad.AttrSwitchCongestionSetting, 0, &s.setting)
	if err != nil {
		return nil, err
	}
	s.settingData = [mad.SwitchCongestionSettingSize]byte(resp.Data())
	per := s.layout.PortsPerBlock()
	blocks := make([]portBlock, dev.Ports/per+1)
	for b := range blocks {
		elements := make([]mad.SwitchPortElement, per)
		resp, err := d.read(ctx, dev, mad.AttrSwitchPortCongestionSetting, uint32(b), s.layout.SwitchPorts(elements))
		if b == 0 && errors.Is(err, driver.ErrUnsupported) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		blocks[b] = portBlock{elements, bytes.Clone(resp.Data()[:per*portElementSize])}
	}
	s.blocks = blocks
	return s, nil
}

// portElementSize is the length of one port element in bytes.
const portElementSize = mad.SwitchPortCongestionSettingSize / mad.SwitchPortBlock

func (s *switchState) settings(ports int) *driver.SwitchState {
	out := &driver.SwitchState{
		Defaults: ibcc.SwitchSettings{
			VictimMask: ibcc.PortMask(s.setting.VictimMask), CreditMask: ibcc.PortMask(s.setting.CreditMask),
			Threshold: s.setting.Threshold, PacketSize: s.setting.PacketSize, CSThreshold: s.setting.CSThreshold,
			CSReturnDelay: ibcc.Entry(s.setting.CSReturnDelay), MarkingRate: s.setting.MarkingRate,
		},
		Ports: make([]ibcc.PortMarking, ports+1),
	}
	if per := s.layout.PortsPerBlock(); s.blocks != nil {
		for p := range out.Ports {
			out.Ports[p] = portMarking(s.blocks[p/per].elements[p%per])
		}
	}
	return out
}

// portMarking drops the unused fields of an element, so that the result can be written back.
func portMarking(e mad.SwitchPortElement) ibcc.PortMarking {
	m := ibcc.PortMarking(e)
	if m.Valid && m.CreditStarvation {
		m.PacketSize, m.MarkingRate = 0, 0
	}
	return m
}

func (d *Driver) applySwitch(ctx context.Context, dev driver.Device, want *driver.SwitchState) (driver.Receipt, error) {
	have, err := d.readSwitch(ctx, dev)
	if err != nil {
		return driver.Receipt{}, driver.Unsent(err)
	}
	now := have.settings(dev.Ports)
	if err := d.checkSwitch(ctx, dev, now, want, have.blocks != nil); err != nil {
		return driver.Receipt{}, err
	}
	w := &writer{ctx: ctx, d: d, dev: dev}
	setting := wantedDefaults(&want.Defaults)
	w.write("switch.defaults", !want.Defaults.Equal(&now.Defaults), mad.AttrSwitchCongestionSetting, 0, have.settingData[:], setting)
	for b, block := range have.blocks {
		first := b * len(block.elements)
		elements, differs := wantedPorts(block.elements, want.Ports, first)
		field := fmt.Sprintf("switch.ports[%d..%d]", first, first+len(elements)-1)
		w.write(field, differs, mad.AttrSwitchPortCongestionSetting, uint32(b), block.data, have.layout.SwitchPorts(elements))
	}
	return w.receipt, w.err
}

// checkSwitch returns an error, before anything is sent, for settings that the switch does not support. byPort
// reports whether its ports can have individual settings.
func (d *Driver) checkSwitch(ctx context.Context, dev driver.Device, now, want *driver.SwitchState, byPort bool) error {
	starve := -1
	for p, m := range want.Ports {
		if m.Valid && !byPort {
			return driver.Refusef(driver.ErrUnsupported, "%s has no SwitchPortCongestionSetting, wanted for port %d", dev, p)
		}
		if m.Valid && m.CreditStarvation && starve < 0 {
			starve = p
		}
	}
	if starve >= 0 && now.Ports[starve].Equal(want.Ports[starve]) {
		starve = -1 // it is set, so it is supported
	}
	if starve < 0 && (want.Defaults.CreditMask == ibcc.PortMask{} || want.Defaults.CreditMask == now.Defaults.CreditMask) {
		return nil
	}
	var info mad.CongestionInfo
	if err := d.get(ctx, dev, mad.AttrCongestionInfo, &info); err != nil {
		return driver.Unsent(err)
	}
	if info.Info&1 == 0 {
		return driver.Refusef(driver.ErrUnsupported, "%s has no credit starvation", dev)
	}
	return nil
}

func wantedDefaults(s *ibcc.SwitchSettings) *mad.SwitchCongestionSetting {
	return &mad.SwitchCongestionSetting{
		ControlMap: mad.ControlMapAll,
		VictimMask: mad.PortMask(s.VictimMask), CreditMask: mad.PortMask(s.CreditMask),
		Threshold: s.Threshold, PacketSize: s.PacketSize, CSThreshold: s.CSThreshold,
		CSReturnDelay: mad.CCTEntry(s.CSReturnDelay), MarkingRate: s.MarkingRate,
	}
}

// wantedPorts returns the block of port elements to write that starts with port first. Elements beyond the last port keep their
// read values.
func wantedPorts(have []mad.SwitchPortElement, want []ibcc.PortMarking, first int) (_ []mad.SwitchPortElement, differs bool) {
	block := slices.Clone(have)
	for k := range block {
		p := first + k
		if p >= len(want) {
			break
		}
		if !want[p].Equal(portMarking(have[k])) {
			differs = true
		}
		block[k] = mad.SwitchPortElement(want[p])
	}
	return block, differs
}
