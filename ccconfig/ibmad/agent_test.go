package ibmad_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibmad"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// fabric is an in-memory transport to congestion-control agents.
type fabric struct {
	mu     sync.Mutex
	agents map[ident.LID]*agent
}

// agent is one device's congestion-control agent at MAD level.
type agent struct {
	dev        driver.Device
	key        mad.Key
	noPortCC   bool // no SwitchPortCongestionSetting
	noPerSL    bool // no PortXmitDataSL
	tableCap   uint8
	info       uint16
	limitPerBk bool // keeps a separate CCTI_Limit for each block

	ca     mad.CACongestionSetting
	cct    [4]mad.CongestionControlTable
	limit  uint16
	sw     mad.SwitchCongestionSetting
	ports  [8]mad.SwitchPortCongestionSetting
	writes []mad.Packet // every Set that was sent here, lost ones included
	log    []string     // every request, as "Get CongestionInfo 0"

	after, lose, replies, busy int
	losing, mute, disabled     bool
	partial, clamp             bool
	answer                     func(req *mad.Packet) (mad.Status, bool) // overrides everything
}

func newAgent(d driver.Device) *agent {
	return &agent{dev: d, tableCap: 2, info: 1, replies: -1}
}

func newFabric(devices ...driver.Device) *fabric {
	f := &fabric{agents: map[ident.LID]*agent{}}
	for _, d := range devices {
		f.agents[d.LID] = newAgent(d)
	}
	return f
}

func (f *fabric) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return mad.Packet{}, err
	}
	a := f.agents[to.LID]
	if a == nil {
		return mad.Packet{}, fmt.Errorf("%s: %w", to, mad.ErrTimeout)
	}
	resp, ok := a.handle(*req)
	if !ok {
		return mad.Packet{}, fmt.Errorf("%s: %w", to, mad.ErrTimeout)
	}
	return resp, nil
}

func (a *agent) handle(req mad.Packet) (mad.Packet, bool) {
	a.log = append(a.log, fmt.Sprintf("%s %s %d", req.Method(), mad.AttrName(req.Class(), req.Attr()), req.Modifier()))
	set := req.Method() == mad.MethodSet
	if set {
		a.writes = append(a.writes, req)
	}
	lostReply := false
	switch {
	case req.Class() == mad.ClassCongestion && a.key != 0 && req.CCKey() != a.key:
		return req, false
	case a.losing && a.after == 0 && a.lose != 0:
		a.lose--
		return req, false
	case a.busy > 0:
		a.busy--
		req.Respond(mad.StatusBusy)
		return req, true
	case a.disabled:
		req.Respond(mad.StatusBadMethodAttr)
		return req, true
	case a.mute:
		lostReply = true
	case set && a.replies == 0:
		lostReply, a.mute = true, true
	}
	if a.answer != nil {
		if s, ok := a.answer(&req); !ok || s != 0 {
			req.Respond(s)
			return req, ok
		}
	}
	if set {
		a.after = max(a.after-1, 0)
		if a.replies > 0 {
			a.replies--
		}
	}
	status := a.attribute(&req, set)
	req.Respond(status)
	return req, !lostReply
}

func (a *agent) attribute(req *mad.Packet, set bool) mad.Status {
	mod := req.Modifier()
	isSwitch := a.dev.Kind == subnet.KindSwitch
	if req.Class() == mad.ClassPerf {
		if req.Attr() != mad.AttrPortXmitDataSL || a.noPerSL {
			return mad.StatusBadMethodAttr
		}
		return 0
	}
	switch req.Attr() {
	case mad.AttrCongestionInfo:
		return reply(req, &mad.CongestionInfo{Info: a.info, ControlTableCap: a.tableCap})
	case mad.AttrCACongestionSetting:
		if isSwitch {
			return mad.StatusBadMethodAttr
		}
		return a.exchangeCA(req, set)
	case mad.AttrCongestionControlTable:
		if isSwitch {
			return mad.StatusBadMethodAttr
		}
		if mod >= uint32(a.tableCap) {
			return mad.StatusInvalidAttrValue
		}
		return a.exchangeCCT(req, set, int(mod))
	case mad.AttrSwitchCongestionSetting:
		if !isSwitch {
			return mad.StatusBadMethodAttr
		}
		if set {
			_ = a.sw.Decode(req.Data())
			if a.partial {
				a.sw.MarkingRate, a.sw.VictimMask, a.partial = 0, mad.PortMask{}, false
			}
			if a.clamp {
				a.sw.MarkingRate = min(a.sw.MarkingRate, 7)
			}
		}
		return reply(req, &a.sw)
	case mad.AttrSwitchPortCongestionSetting:
		if !isSwitch || a.noPortCC {
			return mad.StatusBadMethodAttr
		}
		if int(mod) > a.dev.Ports/mad.SwitchPortBlock {
			return mad.StatusInvalidAttrValue
		}
		if set {
			_ = a.ports[mod].Decode(req.Data())
		}
		return reply(req, &a.ports[mod])
	}
	return mad.StatusBadMethodAttr
}

func (a *agent) exchangeCA(req *mad.Packet, set bool) mad.Status {
	if set {
		_ = a.ca.Decode(req.Data())
		if a.clamp {
			a.ca.Entries[2].Timer = min(a.ca.Entries[2].Timer, 7)
		}
	}
	return reply(req, &a.ca)
}

func (a *agent) exchangeCCT(req *mad.Packet, set bool, block int) mad.Status {
	if set {
		var t mad.CongestionControlTable
		_ = t.Decode(req.Data())
		if a.partial {
			copy(t.Entries[4:], a.cct[block].Entries[4:])
			a.partial = false
		}
		a.limit, a.cct[block] = t.Limit, t
	}
	t := a.cct[block]
	if !a.limitPerBk {
		t.Limit = a.limit
	}
	return reply(req, &t)
}

func reply(req *mad.Packet, a mad.Attribute) mad.Status {
	if err := a.Encode(req.Data()); err != nil {
		panic(err)
	}
	return 0
}

// state returns the device's state as settings.
func (a *agent) state() driver.Settings {
	if a.dev.Kind == subnet.KindSwitch {
		s := &driver.SwitchState{Ports: make([]ibcc.PortMarking, a.dev.Ports+1)}
		s.Defaults = ibcc.SwitchSettings{
			VictimMask: ibcc.PortMask(a.sw.VictimMask), CreditMask: ibcc.PortMask(a.sw.CreditMask),
			Threshold: a.sw.Threshold, PacketSize: a.sw.PacketSize, CSThreshold: a.sw.CSThreshold,
			CSReturnDelay: ibcc.Entry(a.sw.CSReturnDelay), MarkingRate: a.sw.MarkingRate,
		}
		for p := range s.Ports {
			s.Ports[p] = ibcc.PortMarking(a.ports[p/32][p%32])
		}
		return driver.Settings{Switch: s}
	}
	c := &ibcc.CASettings{PerSL: a.ca.PortControl&1 != 0, Limit: a.limit, Table: make([]ibcc.Entry, int(a.limit)+1)}
	for sl, e := range a.ca.Entries {
		c.SLs[sl] = ibcc.SLParams(e)
	}
	for i := range c.Table {
		c.Table[i] = ibcc.Entry(a.cct[i/64].Entries[i%64])
	}
	return driver.Settings{CA: c}
}

func (a *agent) put(s driver.Settings) {
	if s.Switch != nil {
		d := s.Switch.Defaults
		a.sw = mad.SwitchCongestionSetting{
			VictimMask: mad.PortMask(d.VictimMask), CreditMask: mad.PortMask(d.CreditMask),
			Threshold: d.Threshold, PacketSize: d.PacketSize, CSThreshold: d.CSThreshold,
			CSReturnDelay: mad.CCTEntry(d.CSReturnDelay), MarkingRate: d.MarkingRate,
		}
		a.ports = [8]mad.SwitchPortCongestionSetting{}
		for p, m := range s.Switch.Ports {
			a.ports[p/32][p%32] = mad.SwitchPortElement(m)
		}
		return
	}
	a.ca = mad.CACongestionSetting{}
	if s.CA.PerSL {
		a.ca.PortControl = 1
	}
	for sl, p := range s.CA.SLs {
		a.ca.Entries[sl] = mad.CACongestionEntry(p)
	}
	a.cct, a.limit = [4]mad.CongestionControlTable{}, s.CA.Limit
	for i, e := range s.CA.Table {
		a.cct[i/64].Entries[i%64] = mad.CCTEntry(e)
	}
	for b := range a.cct {
		a.cct[b].Limit = s.CA.Limit
	}
}

func (f *fabric) with(d driver.Device, g func(*agent)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g(f.agents[d.LID])
}

// The following methods implement drivertest.Faults.

func (f *fabric) TrueState(d driver.Device) (s driver.Settings) {
	f.with(d, func(a *agent) { s = a.state() })
	return s
}
func (f *fabric) Put(d driver.Device, s driver.Settings) { f.with(d, func(a *agent) { a.put(s) }) }
func (f *fabric) Reboot(d driver.Device)                 { f.Put(d, drivertest.Defaults(d)) }
func (f *fabric) Writes(d driver.Device) (n int) {
	f.with(d, func(a *agent) { n = len(a.writes) })
	return n
}
func (f *fabric) LoseRequests(d driver.Device, after, n int) {
	f.with(d, func(a *agent) { a.losing, a.after, a.lose = true, after, n })
}
func (f *fabric) LoseReply(d driver.Device, after int) {
	f.with(d, func(a *agent) { a.replies = after })
}
func (f *fabric) Partial(d driver.Device)     { f.with(d, func(a *agent) { a.partial = true }) }
func (f *fabric) Clamp(d driver.Device)       { f.with(d, func(a *agent) { a.clamp = true }) }
func (f *fabric) Busy(d driver.Device, n int) { f.with(d, func(a *agent) { a.busy = n }) }
func (f *fabric) Disable(d driver.Device)     { f.with(d, func(a *agent) { a.disabled = true }) }
func (f *fabric) Heal(d driver.Device) {
	f.with(d, func(a *agent) {
		a.losing, a.mute, a.disabled, a.partial, a.clamp = false, false, false, false, false
		a.after, a.lose, a.replies, a.busy = 0, 0, -1, 0
	})
}

func host() driver.Device {
	return driver.Device{Plane: "ib", ID: ident.PortID{Node: 0x11, Port: 2}, Name: "host-1/P2", Kind: subnet.KindCA, LID: 3}
}

func leaf(ports int) driver.Device {
	return driver.Device{Plane: "ib", ID: ident.PortID{Node: 0x21}, Name: "leaf-1", Kind: subnet.KindSwitch, LID: 1, Ports: ports}
}

const testKey mad.Key = 0x1122334455667788

func newDriver(t testing.TB, f mad.Transport) *ibmad.Driver {
	t.Helper()
	d, err := ibmad.New(f, ibmad.Options{CCKey: testKey, InFlight: 4})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestConformance(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness {
		devices := []driver.Device{host(), leaf(40)}
		f := newFabric(devices...)
		for _, a := range f.agents {
			a.key = testKey
		}
		return drivertest.Harness{Driver: newDriver(t, f), Devices: devices, Faults: f}
	})
}
