package ibmad

import (
	"context"
	"errors"
	"fmt"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/subnet/mad"
)

// switchState is what a switch holds, as its attributes say it.
type switchState struct {
	setting mad.SwitchCongestionSetting
	// blocks covers ports 0 to the last one, 32 to a block; nil when the switch does not have
	// the attribute.
	blocks []mad.SwitchPortCongestionSetting
}

func (d *Driver) readSwitch(ctx context.Context, dev driver.Device) (*switchState, error) {
	s := &switchState{}
	if err := d.get(ctx, dev, mad.AttrSwitchCongestionSetting, 0, &s.setting); err != nil {
		return nil, err
	}
	blocks := make([]mad.SwitchPortCongestionSetting, dev.Ports/mad.SwitchPortBlock+1)
	for b := range blocks {
		err := d.get(ctx, dev, mad.AttrSwitchPortCongestionSetting, uint32(b), &blocks[b])
		if b == 0 && errors.Is(err, driver.ErrUnsupported) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
	}
	s.blocks = blocks
	return s, nil
}

func (s *switchState) settings(ports int) *driver.SwitchState {
	out := &driver.SwitchState{
		Defaults: ibcc.SwitchSettings{
			VictimMask: ibcc.PortMask(s.setting.VictimMask), CreditMask: ibcc.PortMask(s.setting.CreditMask),
			Threshold: s.setting.Threshold, PacketSize: s.setting.PacketSize, CSThreshold: s.setting.CSThreshold,
			CSReturnDelay: ibcc.Entry(s.setting.CSReturnDelay), MarkingRate: s.setting.MarkingRate,
		},
		Ports: make([]ibcc.PortMarking, ports+1),
	}
	if s.blocks != nil {
		for p := range out.Ports {
			out.Ports[p] = portMarking(s.blocks[p/mad.SwitchPortBlock][p%mad.SwitchPortBlock])
		}
	}
	return out
}

// portMarking drops the fields that mean nothing in an element, so that the result can be
// written back.
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
		return driver.Receipt{}, err
	}
	if err := d.checkSwitch(ctx, dev, have, want); err != nil {
		return driver.Receipt{}, err
	}
	w := &writer{ctx: ctx, d: d, dev: dev}
	setting := wantedDefaults(&want.Defaults)
	now := have.settings(dev.Ports)
	w.write("switch.defaults", !want.Defaults.Equal(&now.Defaults), mad.AttrSwitchCongestionSetting, 0, setting)
	for b := range have.blocks {
		block, differs := wantedPorts(&have.blocks[b], want.Ports, b)
		first := b * mad.SwitchPortBlock
		field := fmt.Sprintf("switch.ports[%d..%d]", first, first+mad.SwitchPortBlock-1)
		w.write(field, differs, mad.AttrSwitchPortCongestionSetting, uint32(b), block)
	}
	return w.receipt, w.err
}

// checkSwitch refuses, before anything is sent, what the switch says it does not have.
func (d *Driver) checkSwitch(ctx context.Context, dev driver.Device, have *switchState, want *driver.SwitchState) error {
	starve := -1
	for p, m := range want.Ports {
		if m.Valid && have.blocks == nil {
			return fmt.Errorf("%w: nothing was sent: %s has no SwitchPortCongestionSetting, wanted for port %d", driver.ErrUnsupported, dev, p)
		}
		if m.Valid && m.CreditStarvation && starve < 0 {
			starve = p
		}
	}
	now := have.settings(dev.Ports)
	if starve >= 0 && now.Ports[starve].Equal(want.Ports[starve]) {
		starve = -1 // it is in force, so it is supported
	}
	if starve < 0 && (want.Defaults.CreditMask == ibcc.PortMask{} || want.Defaults.CreditMask == now.Defaults.CreditMask) {
		return nil
	}
	var info mad.CongestionInfo
	if err := d.get(ctx, dev, mad.AttrCongestionInfo, 0, &info); err != nil {
		return err
	}
	if info.Info&1 == 0 {
		return fmt.Errorf("%w: nothing was sent: %s has no credit starvation", driver.ErrUnsupported, dev)
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

// wantedPorts is block b of the port elements to write. Elements beyond the last port stay as
// they were read.
func wantedPorts(have *mad.SwitchPortCongestionSetting, want []ibcc.PortMarking, b int) (_ *mad.SwitchPortCongestionSetting, differs bool) {
	block := *have
	for k := range block {
		p := b*mad.SwitchPortBlock + k
		if p >= len(want) {
			break
		}
		if !want[p].Equal(portMarking(have[k])) {
			differs = true
		}
		block[k] = mad.SwitchPortElement(want[p])
	}
	return &block, differs
}
