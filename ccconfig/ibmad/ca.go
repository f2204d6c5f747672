package ibmad

import (
	"context"
	"fmt"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/subnet/mad"
)

// maxBlocks is the largest ControlTableCap. It limits the reads from a device with an invalid CCTI_Limit.
const maxBlocks = ibcc.MaxTableEntries / mad.CCTBlockEntries

// caState is the state of a channel-adapter port in its attributes.
type caState struct {
	layout  mad.CCLayout
	setting mad.CACongestionSetting
	blocks  []mad.CongestionControlTable // blocks 0 to the one that contains CCTI_Limit

	// The device's answers, for the reserved bits.
	settingData [mad.CACongestionSettingSize]byte
	blockHeads  [][cctHead]byte
}

// cctHead is the number of bytes before the entries of a table block: CCTI_Limit and reserved bits.
const cctHead = 4

func (d *Driver) readCA(ctx context.Context, dev driver.Device) (*caState, error) {
	s := &caState{layout: d.layout(dev)}
	resp, err := d.read(ctx, dev, mad.AttrCACongestionSetting, 0, s.layout.CASetting(&s.setting))
	if err != nil {
		return nil, err
	}
	copy(s.settingData[:s.layout.CASettingSize()], resp.Data())
	if err := d.readBlock(ctx, dev, s); err != nil {
		return nil, err
	}
	n := blockCount(s.blocks[0].Limit)
	if n > maxBlocks {
		return nil, fmt.Errorf("%w: %s: CCTI_Limit %d, want at most %d", driver.ErrUnsupported, dev, s.blocks[0].Limit, maxBlocks*mad.CCTBlockEntries-1)
	}
	for len(s.blocks) < n {
		if err := d.readBlock(ctx, dev, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readBlock reads the next block of the table.
func (d *Driver) readBlock(ctx context.Context, dev driver.Device, s *caState) error {
	var block mad.CongestionControlTable
	resp, err := d.read(ctx, dev, mad.AttrCongestionControlTable, uint32(len(s.blocks)), &block)
	if err != nil {
		return err
	}
	s.blocks, s.blockHeads = append(s.blocks, block), append(s.blockHeads, [cctHead]byte(resp.Data()))
	return nil
}

// head returns the device's answer before the entries of block b; nil if the block was not read.
func (s *caState) head(b int) []byte {
	if b >= len(s.blockHeads) {
		return nil
	}
	return s.blockHeads[b][:]
}

func blockCount(limit uint16) int { return int(limit)/mad.CCTBlockEntries + 1 }

// consistent reports whether all blocks have the same limit, as for a single register.
func (s *caState) consistent() bool {
	for _, b := range s.blocks {
		if b.Limit != s.limit() {
			return false
		}
	}
	return true
}

func (s *caState) limit() uint16 { return s.blocks[0].Limit }

func (s *caState) settings() *ibcc.CASettings {
	c := &ibcc.CASettings{
		PerSL: s.setting.PortControl&mad.PortControlSL != 0,
		Limit: s.limit(),
		Table: make([]ibcc.Entry, int(s.limit())+1),
	}
	for sl, e := range s.setting.Entries {
		c.SLs[sl] = ibcc.SLParams(e)
	}
	for i := range c.Table {
		c.Table[i] = ibcc.Entry(s.blocks[i/mad.CCTBlockEntries].Entries[i%mad.CCTBlockEntries])
	}
	return c
}

// reacts reports whether the port reacts to marks on any SL.
func (s *caState) reacts() bool {
	for _, e := range s.setting.Entries {
		if e.Increase != 0 {
			return true
		}
	}
	return false
}

func (d *Driver) applyCA(ctx context.Context, dev driver.Device, want *ibcc.CASettings) (driver.Receipt, error) {
	have, err := d.readCA(ctx, dev)
	if err != nil {
		return driver.Receipt{}, driver.Unsent(err)
	}
	if want.Limit > have.limit() {
		// A table not longer than the current one needs no capacity check.
		if err := d.checkCapacity(ctx, dev, want); err != nil {
			return driver.Receipt{}, err
		}
	}
	setting, differs := wantedSetting(&have.setting, want)
	w := &writer{ctx: ctx, d: d, dev: dev}
	paramsFirst := want.Limit < have.limit() || have.reacts() && !want.Reacts() && int(want.HighestMin()) <= int(have.limit())
	if paramsFirst {
		w.write("ca.sl", differs, mad.AttrCACongestionSetting, 0, have.settingData[:], have.layout.CASetting(setting))
	}
	for b := range blockCount(want.Limit) {
		block, differs := wantedBlock(have, want, b)
		first := b * mad.CCTBlockEntries
		field := fmt.Sprintf("cct[%d..%d]", first, first+mad.CCTBlockEntries-1)
		w.write(field, differs, mad.AttrCongestionControlTable, uint32(b), have.head(b), block)
	}
	if !paramsFirst {
		w.write("ca.sl", differs, mad.AttrCACongestionSetting, 0, have.settingData[:], have.layout.CASetting(setting))
	}
	return w.receipt, w.err
}

func (d *Driver) checkCapacity(ctx context.Context, dev driver.Device, want *ibcc.CASettings) error {
	var info mad.CongestionInfo
	if err := d.get(ctx, dev, mad.AttrCongestionInfo, &info); err != nil {
		return driver.Unsent(err)
	}
	if n := blockCount(want.Limit); n > int(info.ControlTableCap) {
		return driver.Refusef(driver.ErrUnsupported, "%s holds %d table entries, the wanted CCTI_Limit %d needs %d", dev, int(info.ControlTableCap)*mad.CCTBlockEntries, want.Limit, n*mad.CCTBlockEntries)
	}
	return nil
}

// wantedSetting returns the complete CACongestionSetting to write. It starts from the attribute read, so that the other bits of
// Port_Control stay.
func wantedSetting(have *mad.CACongestionSetting, want *ibcc.CASettings) (_ *mad.CACongestionSetting, differs bool) {
	s := *have
	s.PortControl &^= mad.PortControlSL
	if want.PerSL {
		s.PortControl |= mad.PortControlSL
	}
	for sl, p := range want.SLs {
		s.Entries[sl] = mad.CACongestionEntry(p)
	}
	differs = s.PortControl != have.PortControl || s.Entries != have.Entries
	s.ControlMap = 0xffff
	return &s, differs
}

// wantedBlock returns block b of the desired table. Entries above the limit repeat the last one, so that a faulty device that
// exceeds its limit still delays.
func wantedBlock(have *caState, want *ibcc.CASettings, b int) (_ *mad.CongestionControlTable, differs bool) {
	block := &mad.CongestionControlTable{Limit: want.Limit}
	first := b * mad.CCTBlockEntries
	for k := range block.Entries {
		block.Entries[k] = mad.CCTEntry(want.Table[min(first+k, int(want.Limit))])
	}
	if b >= len(have.blocks) || have.blocks[b].Limit != want.Limit {
		return block, true
	}
	used := min(int(want.Limit)-first+1, mad.CCTBlockEntries)
	for k := range used {
		if block.Entries[k] != have.blocks[b].Entries[k] {
			return block, true
		}
	}
	return block, false
}
