package ibmad_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibmad"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// rig is a driver over one agent.
type rig struct {
	t testing.TB
	f *fabric
	a *agent
	d *ibmad.Driver
	v driver.Device
}

func newRig(t testing.TB, v driver.Device) *rig {
	t.Helper()
	f := newFabric(v)
	return &rig{t: t, f: f, a: f.agents[v.LID], d: newDriver(t, f), v: v}
}

// apply applies want and returns the requests it took.
func (r *rig) apply(want driver.Settings) []string {
	r.t.Helper()
	r.a.log, r.a.writes = nil, nil
	if _, err := r.d.Apply(r.t.Context(), r.v, want); err != nil {
		r.t.Fatal(err)
	}
	return r.a.log
}

func caSample(variant int) driver.Settings {
	return drivertest.Samples(host(), driver.Capabilities{TableEntries: 128})[variant]
}

func switchSample(ports, variant int) driver.Settings {
	return drivertest.Samples(leaf(ports), driver.Capabilities{PortMarking: true})[variant]
}

func TestWriteOrder(t *testing.T) {
	t.Parallel()
	off := drivertest.Defaults(host())
	quiet := caSample(0).Clone() // the same table, but no SL reacts
	for sl := range quiet.CA.SLs {
		quiet.CA.SLs[sl] = ibcc.SLParams{}
	}
	const (
		info   = "Get CongestionInfo 0"
		params = "Set CACongestionSetting 0"
		block0 = "Set CongestionControlTable 0"
		block1 = "Set CongestionControlTable 1"
	)
	read1 := []string{"Get CACongestionSetting 0", "Get CongestionControlTable 0"}
	read2 := append(slices.Clone(read1), "Get CongestionControlTable 1")
	for name, c := range map[string]struct {
		from, to driver.Settings
		want     []string
	}{
		"the table is complete before the reaction begins":     {off, caSample(0), append(slices.Clone(read1), info, block0, block1, params)},
		"a shorter table is written after the parameters":      {caSample(0), caSample(1), append(slices.Clone(read2), params, block0)},
		"a longer table is written before the parameters":      {caSample(1), caSample(0), append(slices.Clone(read1), info, block0, block1, params)},
		"the reaction is disabled before the table is removed": {caSample(0), off, append(slices.Clone(read2), params, block0)},
		"only the parameters differ":                           {caSample(0), quiet, append(slices.Clone(read2), params)},
		"nothing differs":                                      {caSample(0), caSample(0), read2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, host())
			r.a.put(c.from)
			if d := cmp.Diff(c.want, r.apply(c.to)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOnlyTheBlockThatDiffersIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, host())
	r.a.put(caSample(0))
	want := caSample(0)
	want.CA.Table[100].Multiplier++
	r.apply(want)
	if len(r.a.writes) != 1 || r.a.writes[0].Attr() != mad.AttrCongestionControlTable || r.a.writes[0].Modifier() != 1 {
		t.Errorf("%d writes: %v", len(r.a.writes), r.a.log)
	}
	s := newRig(t, leaf(70))
	s.a.put(switchSample(70, 0))
	wantSwitch := switchSample(70, 0)
	wantSwitch.Switch.Ports[32].Valid = !wantSwitch.Switch.Ports[32].Valid
	s.apply(wantSwitch)
	if len(s.a.writes) != 1 || s.a.writes[0].Modifier() != 1 {
		t.Errorf("%d writes for port 32: %v", len(s.a.writes), s.a.log)
	}
}

func TestEveryAttributeIsWrittenInFull(t *testing.T) {
	t.Parallel()
	r := newRig(t, host())
	r.a.ca.PortControl = 0xfffe // undocumented bits
	r.apply(caSample(0))
	var ca mad.CACongestionSetting
	if err := ca.Decode(r.a.writes[2].Data()); err != nil {
		t.Fatal(err)
	}
	if ca.ControlMap != 0xffff || ca.PortControl != 0xffff {
		t.Errorf("Control_Map %#x, Port_Control %#x: want all SLs, and the other bits unchanged", ca.ControlMap, ca.PortControl)
	}
	for _, w := range r.a.writes {
		if w.CCKey() != testKey {
			t.Error("a write without the key")
		}
	}
	var block mad.CongestionControlTable
	if err := block.Decode(r.a.writes[0].Data()); err != nil || block.Limit != 127 {
		t.Errorf("block 0 has limit %d, error %v", block.Limit, err)
	}
	s := newRig(t, leaf(40))
	s.apply(switchSample(40, 0))
	var sw mad.SwitchCongestionSetting
	if err := sw.Decode(s.a.writes[0].Data()); err != nil || sw.ControlMap != 0x1f {
		t.Errorf("switch Control_Map %#x, error %v", sw.ControlMap, err)
	}
}

// TestPort39 covers the port that ibccconfig 44.0 encodes wrongly: it belongs in block 1, element 7, and nothing else
// may change.
func TestPort39(t *testing.T) {
	t.Parallel()
	r := newRig(t, leaf(40))
	before := switchSample(40, 0)
	r.a.put(before)
	r.a.ports[1][9] = mad.SwitchPortElement{Valid: true, Threshold: 5} // port 41 does not exist
	want := before.Clone()
	want.Switch.Ports[39] = ibcc.PortMarking{Valid: true, Threshold: 15, PacketSize: 8, MarkingRate: 100}
	r.apply(want)
	if len(r.a.writes) != 1 {
		t.Fatalf("%d writes", len(r.a.writes))
	}
	w := r.a.writes[0]
	if w.Modifier() != 1 || !bytes.Equal(w.Data()[28:32], []byte{0x8f, 0x08, 0x00, 0x64}) {
		t.Errorf("block %d, element 7 is % x", w.Modifier(), w.Data()[28:32])
	}
	if ds := want.Diff(r.a.state()); len(ds) != 0 {
		t.Errorf("the switch differs: %v", ds)
	}
	if r.a.ports[1][9].Threshold != 5 {
		t.Error("an element beyond the last port was changed")
	}
}

func TestEntriesAboveTheLimitRepeatTheLast(t *testing.T) {
	t.Parallel()
	r := newRig(t, host())
	r.apply(caSample(2)) // 51 entries
	last := r.a.cct[0].Entries[50]
	for k := 51; k < 64; k++ {
		if r.a.cct[0].Entries[k] != last {
			t.Errorf("entry %d above the limit is %v, want %v", k, r.a.cct[0].Entries[k], last)
		}
	}
	// Entries above the limit are ignored.
	r.a.cct[0].Entries[60] = mad.CCTEntry{Multiplier: 1}
	r.apply(caSample(2))
	if len(r.a.writes) != 0 {
		t.Errorf("%d writes because of an entry above the limit", len(r.a.writes))
	}
}

func TestStatusBecomesAnErrorKind(t *testing.T) {
	t.Parallel()
	for status, kind := range map[mad.Status]error{
		mad.StatusBusy:                                  driver.ErrBusy,
		mad.StatusRedirect:                              driver.ErrBusy,
		mad.StatusBadVersion:                            driver.ErrUnsupported,
		mad.StatusBadMethod:                             driver.ErrUnsupported,
		mad.StatusBadMethodAttr:                         driver.ErrUnsupported,
		mad.StatusInvalidAttrValue:                      driver.ErrInvalid,
		mad.StatusInvalidAttrValue | mad.StatusBusy:     driver.ErrBusy,
		mad.Status(0x7f00):                              driver.ErrInvalid,
		mad.StatusBadMethodAttr | mad.Status(0x0100):    driver.ErrUnsupported,
		mad.Status(0x0010) /* reserved, not a known */ : driver.ErrInvalid,
	} {
		r := newRig(t, host())
		r.a.answer = func(*mad.Packet) (mad.Status, bool) { return status, true }
		_, err := r.d.Read(t.Context(), r.v)
		if !errors.Is(err, kind) || !strings.Contains(err.Error(), "CACongestionSetting") || !strings.Contains(err.Error(), "host-1/P2") {
			t.Errorf("status %s: error %v, want kind %v", status, err, kind)
		}
	}
}

func TestReceiptHasTheOutcomeOfAWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status mad.Status
		answer bool
		want   driver.Outcome
		kind   error
	}{
		"refused": {mad.StatusInvalidAttrValue, true, driver.OutcomeRefused, driver.ErrInvalid},
		"busy":    {mad.StatusBusy, true, driver.OutcomeRefused, driver.ErrBusy},
		"silent":  {0, false, driver.OutcomeSent, driver.ErrUnreachable},
	} {
		r := newRig(t, host())
		r.a.answer = func(req *mad.Packet) (mad.Status, bool) {
			if req.Method() == mad.MethodSet && req.Modifier() == 1 {
				return c.status, c.answer
			}
			return 0, true
		}
		receipt, err := r.d.Apply(t.Context(), r.v, caSample(0))
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: error %v", name, err)
		}
		var got []string
		for _, f := range receipt.Fields {
			got = append(got, f.Field+" "+string(f.Outcome))
			if (f.Detail != "") != (f.Outcome == c.want) {
				t.Errorf("%s: field %s has detail %q", name, f.Field, f.Detail)
			}
		}
		want := []string{"cct[0..63] acknowledged", "cct[64..127] " + string(c.want), "ca.sl skipped"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestWrongKeyIsReportedWithoutTheKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, host())
	r.a.key = 42
	for name, err := range map[string]error{
		"read":         second(r.d.Read(t.Context(), r.v)),
		"apply":        second(r.d.Apply(t.Context(), r.v, caSample(0))),
		"capabilities": second(r.d.Capabilities(t.Context(), r.v)),
	} {
		if !errors.Is(err, driver.ErrUnreachable) || !errors.Is(err, mad.ErrTimeout) || !strings.Contains(err.Error(), "CC_Key") {
			t.Errorf("%s: error %v does not hint at the key", name, err)
		}
		if s := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(s, "1122334455667788") || strings.Contains(s, "1234605616436508552") {
			t.Errorf("%s: the error shows the key: %s", name, s)
		}
	}
	if s := fmt.Sprintf("%v %+v %#v %d %x %v", r.d, r.d, r.d, r.d, r.d, ibmad.Options{CCKey: testKey}); strings.Contains(s, "1122334455667788") || strings.Contains(s, "1234605616436508552") {
		t.Errorf("printing shows the key: %s", s)
	}
}

func second[T any](_ T, err error) error { return err }

func TestCapabilities(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		device driver.Device
		change func(*agent)
		want   driver.Capabilities
	}{
		"adapter":             {host(), func(*agent) {}, driver.Capabilities{TableEntries: 128, PerQP: true, PerSL: true, PerSLCounters: true}},
		"large table":         {host(), func(a *agent) { a.tableCap = 255 }, driver.Capabilities{TableEntries: 16320, PerQP: true, PerSL: true, PerSLCounters: true}},
		"no counters":         {host(), func(a *agent) { a.noPerSL = true }, driver.Capabilities{TableEntries: 128, PerQP: true, PerSL: true}},
		"switch":              {leaf(40), func(*agent) {}, driver.Capabilities{PortMarking: true, CreditStarvation: true, PerSLCounters: true}},
		"plain switch":        {leaf(40), func(a *agent) { a.noPortCC, a.info = true, 0 }, driver.Capabilities{PerSLCounters: true}},
		"info beyond bit one": {leaf(3), func(a *agent) { a.info = 0xfffe }, driver.Capabilities{PortMarking: true, PerSLCounters: true}},
	} {
		r := newRig(t, c.device)
		c.change(r.a)
		got, err := r.d.Capabilities(t.Context(), r.v)
		if d := cmp.Diff(c.want, got); err != nil || d != "" {
			t.Errorf("%s: error %v %s", name, err, d)
		}
	}
}

func TestSwitchWithoutPortSettingsAcceptsDefaultsOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, leaf(40))
	r.a.noPortCC = true
	want := driver.Settings{Switch: &driver.SwitchState{Ports: make([]ibcc.PortMarking, 41)}}
	want.Switch.Defaults.Threshold = 9
	r.apply(want)
	if got, err := r.d.Read(t.Context(), r.v); err != nil || !want.Equal(got) {
		t.Errorf("read %v, error %v", got, err)
	}
	want.Switch.Ports[3] = ibcc.PortMarking{Valid: true, Threshold: 1}
	r.a.writes = nil
	if _, err := r.d.Apply(t.Context(), r.v, want); !errors.Is(err, driver.ErrUnsupported) || len(r.a.writes) != 0 {
		t.Errorf("port element: error %v after %d writes", err, len(r.a.writes))
	}
}

func TestCreditStarvationNeedsTheSwitchToHaveIt(t *testing.T) {
	t.Parallel()
	port, mask := switchSample(40, 0), switchSample(40, 0)
	port.Switch.Ports[7] = ibcc.PortMarking{Valid: true, CreditStarvation: true, Threshold: 3}
	mask.Switch.Defaults.CreditMask.Set(7)
	for name, want := range map[string]driver.Settings{"port": port, "mask": mask} {
		r := newRig(t, leaf(40))
		r.a.info = 0
		if _, err := r.d.Apply(t.Context(), r.v, want); !errors.Is(err, driver.ErrUnsupported) || len(r.a.writes) != 0 {
			t.Errorf("%s: error %v after %d writes", name, err, len(r.a.writes))
		}
		r.a.info = 1
		r.apply(want)
		r.a.info = 0 // a setting in force needs no check of the capability
		r.apply(want)
		if slices.Contains(r.a.log, "Get CongestionInfo 0") || len(r.a.writes) != 0 {
			t.Errorf("%s: applying again sent %v", name, r.a.log)
		}
	}
}

func TestReservedFieldsOfStarvationElementsCanBeRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t, leaf(3))
	r.a.ports[0][2] = mad.SwitchPortElement{Valid: true, CreditStarvation: true, Threshold: 3, PacketSize: 7, MarkingRate: 9}
	r.a.sw.VictimMask = mad.PortMask{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	before, err := r.d.Read(t.Context(), r.v)
	if err != nil {
		t.Fatal(err)
	}
	r.apply(drivertest.Samples(r.v, driver.Capabilities{PortMarking: true})[0])
	r.apply(before)
	if after, err := r.d.Read(t.Context(), r.v); err != nil || !before.Equal(after) {
		t.Errorf("not restored: %v, error %v", before.Diff(after), err)
	}
}

func TestATableThatChangesWhileItIsReadIsAConflict(t *testing.T) {
	t.Parallel()
	r := newRig(t, host())
	r.a.put(caSample(0))
	flips := 1
	r.a.answer = func(req *mad.Packet) (mad.Status, bool) {
		if req.Attr() == mad.AttrCongestionControlTable && req.Modifier() == 1 && flips > 0 {
			flips--
			r.a.limit ^= 1
		}
		return 0, true
	}
	if _, err := r.d.Read(t.Context(), r.v); err != nil {
		t.Errorf("one change while reading: %v, want a second read", err)
	}
	flips = 100
	if _, err := r.d.Read(t.Context(), r.v); !errors.Is(err, driver.ErrConflict) {
		t.Errorf("endless changes: error %v, want a conflict", err)
	}
}

func TestDeviceWithLimitPerBlockCanBeRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t, host())
	r.a.limitPerBk = true
	r.a.put(caSample(0))
	r.a.cct[1].Limit = 63 // as an interrupted apply of another manager leaves it
	if _, err := r.d.Read(t.Context(), r.v); !errors.Is(err, driver.ErrConflict) {
		t.Errorf("error %v, want a conflict", err)
	}
	r.apply(caSample(0))
	if got, err := r.d.Read(t.Context(), r.v); err != nil || !caSample(0).Equal(got) {
		t.Errorf("after applying: error %v", err)
	}
}

func TestInvalidCCTILimitBoundsReads(t *testing.T) {
	t.Parallel()
	r := newRig(t, host())
	r.a.limit = 0xffff
	if _, err := r.d.Read(t.Context(), r.v); !errors.Is(err, driver.ErrUnsupported) || len(r.a.log) != 2 {
		t.Errorf("error %v after %d requests", err, len(r.a.log))
	}
	r.a.limit = 200 // above the last index of the device's two blocks
	if _, err := r.d.Read(t.Context(), r.v); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

func TestResponseToAnotherRequestIsIgnored(t *testing.T) {
	t.Parallel()
	r := newRig(t, host())
	d := newDriver(t, confused{r.f})
	if _, err := d.Read(t.Context(), r.v); !errors.Is(err, driver.ErrUnreachable) {
		t.Errorf("error %v", err)
	}
}

// confused is a transport that mixes up modifiers.
type confused struct{ *fabric }

func (c confused) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	resp, err := c.fabric.Exchange(ctx, to, req)
	resp.SetModifier(resp.Modifier() + 1)
	return resp, err
}

func TestNewRefusesBadOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []ibmad.Options{{SL: 16}, {InFlight: -1}, {InFlight: 1 << 20}} {
		if _, err := ibmad.New(newFabric(), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// blocked is a transport that answers no request until it is released.
type blocked struct {
	entered chan struct{}
	release chan struct{}
}

func (b blocked) Exchange(ctx context.Context, _ mad.Target, _ *mad.Packet) (mad.Packet, error) {
	b.entered <- struct{}{}
	select {
	case <-b.release:
	case <-ctx.Done():
	}
	return mad.Packet{}, mad.ErrTimeout
}

func TestExchangesInFlightAreBounded(t *testing.T) {
	t.Parallel()
	b := blocked{make(chan struct{}, 10), make(chan struct{})}
	d, err := ibmad.New(b, ibmad.Options{InFlight: 1})
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan error)
	go func() { first <- second(d.Read(context.Background(), host())) }()
	<-b.entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Read(ctx, leaf(3)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(b.release)
	if err := <-first; !errors.Is(err, driver.ErrUnreachable) {
		t.Errorf("the first read: %v", err)
	}
	if len(b.entered) != 0 {
		t.Error("a second exchange ran concurrently with the first")
	}
}

// TestRandomSettingsAreReadBackAsWritten applies random legal settings one after the other to the current state, and reads them
// back. An interruption of each Apply after a random number of writes must not change the final state.
func TestRandomSettingsAreReadBackAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := host()
		if rapid.Bool().Draw(t, "switch") {
			v = leaf(rapid.IntRange(1, 254).Draw(t, "ports"))
		}
		f := newFabric(v)
		f.agents[v.LID].tableCap = 4
		d, err := ibmad.New(f, ibmad.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			want := drawSettings(t, v)
			f.LoseRequests(v, rapid.IntRange(1, 8).Draw(t, "writes before the loss"), -1)
			if _, err := d.Apply(context.Background(), v, want); err != nil && !errors.Is(err, driver.ErrUnreachable) {
				t.Fatal(err)
			}
			f.Heal(v)
			if _, err := d.Apply(context.Background(), v, want); err != nil {
				t.Fatal(err)
			}
			got, err := d.Read(context.Background(), v)
			if ds := want.Diff(got); err != nil || len(ds) > 0 {
				t.Fatalf("error %v, differences %v", err, ds)
			}
		}
	})
}

func drawSettings(t *rapid.T, v driver.Device) driver.Settings {
	entry := rapid.Custom(func(t *rapid.T) ibcc.Entry {
		return ibcc.Entry{Shift: rapid.Uint8Range(0, 3).Draw(t, "shift"), Multiplier: rapid.Uint16Range(0, 16383).Draw(t, "multiplier")}
	})
	if v.Ports == 0 {
		c := &ibcc.CASettings{PerSL: rapid.Bool().Draw(t, "per SL"), Table: rapid.SliceOfN(entry, 1, 256).Draw(t, "table")}
		c.Limit = uint16(len(c.Table) - 1)
		for sl := range c.SLs {
			c.SLs[sl] = ibcc.SLParams{Timer: rapid.Uint16().Draw(t, "timer"), Increase: rapid.Uint8().Draw(t, "increase"),
				Trigger: rapid.Uint8().Draw(t, "trigger"), Min: rapid.Uint8().Draw(t, "min")}
		}
		return driver.Settings{CA: c}
	}
	s := &driver.SwitchState{Ports: make([]ibcc.PortMarking, v.Ports+1)}
	s.Defaults = ibcc.SwitchSettings{
		Threshold: rapid.Uint8Range(0, 15).Draw(t, "threshold"), PacketSize: rapid.Uint8().Draw(t, "packet size"),
		CSThreshold: rapid.Uint8Range(0, 15).Draw(t, "cs threshold"), CSReturnDelay: entry.Draw(t, "delay"), MarkingRate: rapid.Uint16().Draw(t, "rate"),
	}
	for p := range s.Ports {
		if rapid.Bool().Draw(t, "valid") {
			s.Defaults.VictimMask.Set(ident.PortNum(p))
			s.Ports[p] = ibcc.PortMarking{Valid: true, Threshold: rapid.Uint8Range(0, 15).Draw(t, "port threshold"), MarkingRate: rapid.Uint16().Draw(t, "port rate")}
		}
	}
	return driver.Settings{Switch: s}
}
