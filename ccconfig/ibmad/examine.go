package ibmad

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/prereq"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

var _ driver.Examiner = (*Driver)(nil)

// Examine implements driver.Examiner. It reads CongestionInfo and CongestionKeyInfo from the congestion-control agent, and,
// from the subnet management agent, the VLs of the ports by which tenants' traffic leaves. It does not use the settings.
func (d *Driver) Examine(ctx context.Context, dev driver.Device, _ driver.Settings, n prereq.Needs) ([]prereq.Item, error) {
	if n.InfiniBand == nil {
		return nil, nil
	}
	agent, err := d.agent(ctx, dev)
	if err != nil {
		return nil, err
	}
	items := n.InfiniBand.Agent(agent, dev.Kind != subnet.KindSwitch)
	for i := range n.InfiniBand.Lanes {
		l := &n.InfiniBand.Lanes[i]
		items = append(items, l.Judge(d.vls(ctx, dev, l))...)
	}
	return items, ctx.Err()
}

// agent reads the state of a device's congestion-control agent. It returns an error if no agent of the device answers.
func (d *Driver) agent(ctx context.Context, dev driver.Device) (a prereq.Agent, err error) {
	var info mad.CongestionInfo
	switch err := d.get(ctx, dev, mad.AttrCongestionInfo, &info); {
	case errors.Is(err, driver.ErrUnsupported):
		return prereq.Agent{Absent: true}, nil
	case errors.Is(err, driver.ErrUnreachable) && ctx.Err() == nil:
		var node mad.NodeInfo
		if d.smp(ctx, dev, mad.AttrNodeInfo, 0, &node) != nil {
			return a, err
		}
		return prereq.Agent{Silent: true}, nil
	case err != nil:
		return a, err
	}
	a.Entries, a.Key = int(info.ControlTableCap)*mad.CCTBlockEntries, prereq.KeyAccepted
	switch k := d.readKey(ctx, dev, []mad.Key{d.o.CCKey}, new(atomic.Int32)); {
	case k.Err != nil:
		a.Key, a.Reason = prereq.KeyUnread, k.Err.Error()
	case k.Holder == KeyOther:
		a.Key = prereq.KeyOther
	}
	return a, nil
}

// smp reads an attribute of the subnet management agent.
func (d *Driver) smp(ctx context.Context, dev driver.Device, id mad.AttrID, modifier uint32, into mad.Attribute) error {
	req := mad.NewSMP(mad.MethodGet, id, modifier)
	resp, err := d.exchange(ctx, dev, &req)
	if err != nil {
		return err
	}
	return into.Decode(resp.Data())
}

// vls reads a port's mapping of service levels. A port with one VL has no table.
func (d *Driver) vls(ctx context.Context, dev driver.Device, l *prereq.Lane) (v prereq.VLs) {
	var info mad.PortInfo
	if v.Err = d.smp(ctx, dev, mad.AttrPortInfo, uint32(l.Out), &info); v.Err != nil {
		return v
	}
	switch v.Operational = mad.VLsFromCode(info.OperationalVLs); v.Operational {
	case 0:
		v.Err = fmt.Errorf("PortInfo of %s: OperationalVLs %d, want 1 to 5", dev, info.OperationalVLs)
		return v
	case 1:
		return v
	}
	modifiers := []uint32{0}
	if dev.Kind == subnet.KindSwitch {
		modifiers = modifiers[:0]
		for _, in := range l.In {
			modifiers = append(modifiers, mad.SLToVLModifier(ident.PortNum(in), ident.PortNum(l.Out)))
		}
	}
	for _, m := range modifiers {
		var table mad.SLToVLTable
		if v.Err = d.smp(ctx, dev, mad.AttrSLToVLTable, m, &table); v.Err != nil {
			return v
		}
		var vls prereq.SLToVL
		for sl, vl := range table {
			vls[sl] = uint8(vl)
		}
		v.Tables = append(v.Tables, vls)
	}
	return v
}
