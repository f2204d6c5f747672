package policy_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// modelled gives all adapters and switches of an input the generic models with a change.
func modelled(t *testing.T, in policy.Input, change func(a *ibprofile.AdapterModel, s *ibprofile.SwitchModel)) policy.Input {
	t.Helper()
	var builtin *ibprofile.Set
	a, _ := builtin.Lookup(ibprofile.GenericAdapter)
	s, _ := builtin.Lookup(ibprofile.GenericSwitch)
	a.Name, s.Name = "my-adapter", "my-switch"
	change(&a.Adapter, &s.Switch)
	set, err := ibprofile.NewSet([]ibprofile.Profile{a, s}, []ibprofile.Rule{{Profile: a.Name, Name: "*"}, {Profile: s.Name, Name: "*"}})
	if err != nil {
		t.Fatal(err)
	}
	in.IBProfiles = set
	return in
}

// Profiles that match no device, and a profile equal to the generic one, change no setting.
func TestProfilesThatChangeNothingKeepThePlan(t *testing.T) {
	t.Parallel()
	in := receivers(t, 100*quantity.Gbps, []quantity.Weight{4000, 1000}, []int{2, 8})
	want := plantest.Compiled(t, in)
	set, err := ibprofile.NewSet(nil, []ibprofile.Rule{{Profile: ibprofile.RestartAdapter, Name: "nowhere"}})
	if err != nil {
		t.Fatal(err)
	}
	other := in
	other.IBProfiles = set
	a, _ := want.Encode()
	b, _ := plantest.Compiled(t, other).Encode()
	if !bytes.Equal(a, b) {
		t.Error("the plan is another by a set that no device has a profile of")
	}
	same := plantest.Compiled(t, modelled(t, in, func(*ibprofile.AdapterModel, *ibprofile.SwitchModel) {}))
	for i := range want.CAs {
		if !want.CAs[i].Settings.Equal(&same.CAs[i].Settings) || same.CAs[i].Profile != "my-adapter" {
			t.Errorf("%s: %+v, want %+v", same.CAs[i].Name, same.CAs[i].Settings, want.CAs[i].Settings)
		}
	}
	for i := range want.Switches {
		if !want.Switches[i].Defaults.Equal(&same.Switches[i].Defaults) || !slices.Equal(want.Switches[i].Ports, same.Switches[i].Ports) {
			t.Errorf("%s: %+v, want %+v", same.Switches[i].Name, same.Switches[i], want.Switches[i])
		}
	}
}

// A profile with another unit or form of the timer changes the timers and predicts the same shares.
func TestTimersFollowTheModel(t *testing.T) {
	t.Parallel()
	in := receivers(t, 100*quantity.Gbps, []quantity.Weight{4000, 1000}, []int{8, 8})
	base := plantest.Compiled(t, in)
	for name, c := range map[string]struct {
		change func(a *ibprofile.AdapterModel)
		ratio  float64 // of its timers to the generic ones
		unit   string
	}{
		"half the unit": {func(a *ibprofile.AdapterModel) { a.TimerUnit = 512 * quantity.Nanosecond }, 2, "512 ns"},
		"restart":       {func(a *ibprofile.AdapterModel) { a.TimerRestart = true }, math.Ln2, "1.024 us"},
	} {
		p := plantest.Compiled(t, modelled(t, in, func(a *ibprofile.AdapterModel, _ *ibprofile.SwitchModel) { c.change(a) }))
		for i := range p.CAs {
			x, y := p.CAs[i].Settings.SLs[0], base.CAs[i].Settings.SLs[0]
			if got := float64(x.Timer) / float64(y.Timer); math.Abs(got/c.ratio-1) > 0.2 { // the mark load may differ within its range
				t.Errorf("%s, %s: timer %d beside %d, want a ratio near %.2f", name, p.CAs[i].Name, x.Timer, y.Timer, c.ratio)
			}
			if !slices.ContainsFunc(p.CAs[i].Reasons, func(r policy.Reason) bool { return strings.HasSuffix(r.Field, ".timer") && r.Unit == c.unit }) {
				t.Errorf("%s, %s: no reason with the unit %q", name, p.CAs[i].Name, c.unit)
			}
		}
		for i := range p.Tenants {
			if p.Tenants[i].PredictedError > 0.02 {
				t.Errorf("%s: %s is predicted %s of %s", name, p.Tenants[i].Tenant, p.Tenants[i].Predicted, p.Tenants[i].Entitled)
			}
		}
	}
}

// Values beyond a model's limits are bounded, and a finding names devices, model and tenants.
func TestSettingsStayWithinTheModelAndFindingsNameIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(a *ibprofile.AdapterModel, s *ibprofile.SwitchModel)
		options func(o *policy.Options)
		want    string // in the finding
	}{
		"timer": {func(a *ibprofile.AdapterModel, _ *ibprofile.SwitchModel) { a.MaxTimer, a.MaxIncrease = 20, 1 }, nil, "model my-adapter: CCTI_Timer is at most 20 and CCTI_Increase at most 1"},
		"table": {func(a *ibprofile.AdapterModel, _ *ibprofile.SwitchModel) { a.TableEntries = 64 }, func(o *policy.Options) { o.TableEntries = 128 },
			"the table holds 64 entries, fewer than the 128 requested"},
		"mode":    {func(a *ibprofile.AdapterModel, _ *ibprofile.SwitchModel) { a.PerSL = false }, func(o *policy.Options) { o.PerQP = policy.PerQPOff }, "supports only one mode"},
		"ports":   {func(_ *ibprofile.AdapterModel, s *ibprofile.SwitchModel) { s.PortMarking = false }, nil, "model my-switch: all ports of the switch share one marking"},
		"marking": {func(_ *ibprofile.AdapterModel, s *ibprofile.SwitchModel) { s.MinMarkingRate, s.MaxMarkingRate = 4, 6 }, nil, ""},
		"form":    {func(a *ibprofile.AdapterModel, _ *ibprofile.SwitchModel) { a.MaxShift, a.MaxMultiplier = 1, 4000 }, nil, ""},
	} {
		in := receivers(t, 100*quantity.Gbps, []quantity.Weight{4000, 1000}, []int{2, 8})
		if c.options != nil {
			c.options(&in.Options)
		}
		var a ibprofile.AdapterModel
		var s ibprofile.SwitchModel
		p := plantest.Compiled(t, modelled(t, in, func(x *ibprofile.AdapterModel, y *ibprofile.SwitchModel) { c.change(x, y); a, s = *x, *y }))
		for i := range p.CAs {
			ca := &p.CAs[i].Settings
			for _, sl := range ca.SLs {
				if sl.Timer > a.MaxTimer || sl.Increase > a.MaxIncrease {
					t.Errorf("%s: %+v", name, sl)
				}
			}
			if ca.PerSL && !a.PerSL || !ca.PerSL && !a.PerQP || len(ca.Table) > a.TableEntries {
				t.Errorf("%s: SL mode %t, %d entries", name, ca.PerSL, len(ca.Table))
			}
			for _, e := range ca.Table {
				if e.Shift > a.MaxShift || e.Multiplier > a.MaxMultiplier {
					t.Fatalf("%s: entry %s", name, e)
				}
			}
		}
		for i := range p.Switches {
			sw := &p.Switches[i]
			for _, m := range append(sw.Ports, slices.Clone(sw.Ports)[0]) {
				if m.Valid && (!s.PortMarking || m.MarkingRate < s.MinMarkingRate || m.MarkingRate > s.MaxMarkingRate) {
					t.Errorf("%s: %+v", name, m)
				}
			}
			if sw.Defaults.MarkingRate < s.MinMarkingRate || sw.Defaults.MarkingRate > s.MaxMarkingRate {
				t.Errorf("%s: %+v", name, sw.Defaults)
			}
		}
		f := findingOf(p, policy.CodeDeviceLimit)
		switch {
		case c.want == "" && f != nil:
			t.Errorf("%s: %s", name, f.Message)
		case c.want != "" && (f == nil || !strings.Contains(f.Message, c.want) || len(f.Tenants) == 0 || len(f.Links) == 0):
			t.Errorf("%s: finding %+v, want %q with tenants and devices", name, f, c.want)
		}
	}
}

// Threshold codes correspond to the queue that the link needs on the model.
func TestThresholdCodesFollowTheModel(t *testing.T) {
	t.Parallel()
	in := receivers(t, 100*quantity.Gbps, []quantity.Weight{4000, 1000}, []int{2, 8})
	code := func(in policy.Input) (codes []uint8, why string) {
		for _, s := range plantest.Compiled(t, in).Switches {
			for _, m := range s.Ports {
				if m.Valid {
					codes = append(codes, m.Threshold)
				}
			}
			for _, r := range s.Reasons {
				if strings.HasPrefix(r.Field, "ports[") && strings.HasSuffix(r.Field, "threshold") {
					why = r.Formula
				}
			}
		}
		return codes, why
	}
	base, _ := code(in)
	twice, why := code(modelled(t, in, func(_ *ibprofile.AdapterModel, s *ibprofile.SwitchModel) {
		s.QueueBytes, s.Thresholds = 256<<10, ibprofile.Linear(256<<10)
	}))
	if len(base) == 0 || len(base) != len(twice) {
		t.Fatalf("codes %v and %v", base, twice)
	}
	for i := range base {
		if want := 16 - (16-base[i]+1)/2; twice[i] != want {
			t.Errorf("code %d with twice the queue, want %d beside %d", twice[i], want, base[i])
		}
	}
	if !strings.Contains(why, "profile my-switch") {
		t.Errorf("reason %q names no profile", why)
	}
}

// Switches on the paths of the same flows whose marking rates exclude each other are reported, and each keeps its own.
func TestMarkingRatesThatExcludeEachOtherAreReported(t *testing.T) {
	t.Parallel()
	f, err := topogen.Dumbbell(topogen.DumbbellOptions{Left: 4, Right: 4})
	if err != nil {
		t.Fatal(err)
	}
	var builtin *ibprofile.Set
	often, _ := builtin.Lookup(ibprofile.GenericSwitch)
	rarely := often
	often.Name, often.Switch.MaxMarkingRate = "often", 8
	rarely.Name, rarely.Switch.MinMarkingRate = "rarely", 64
	sw := f.Switches()
	set, err := ibprofile.NewSet([]ibprofile.Profile{often, rarely}, []ibprofile.Rule{
		{Profile: often.Name, Name: f.Nodes[sw[0]].Name}, {Profile: rarely.Name, Name: f.Nodes[sw[1]].Name},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	left := func(id ident.PortID) bool {
		ref, _ := f.PortByID(id)
		peer, _ := f.Peer(ref)
		return peer.Node == sw[0]
	}
	var from, to []ident.PortID
	for _, id := range h {
		if left(id) {
			from = append(from, id)
		} else {
			to = append(to, id)
		}
	}
	in := policy.Input{Fabric: f, IBProfiles: set, Tenants: []tenants.Tenant{{Name: "a", Weight: 2000}, {Name: "b", Weight: 1000}, {Name: "c", Weight: 1000}}, Flows: []tenants.Flow{
		{Tenant: "a", Src: from[0], Dst: to[0], QPs: 4}, {Tenant: "b", Src: from[1], Dst: to[1], QPs: 4}, {Tenant: "b", Src: to[2], Dst: to[1], QPs: 32}, {Tenant: "c", Src: to[3], Dst: to[1], QPs: 4},
	}}
	p := plantest.Compiled(t, in)
	for _, s := range p.Switches {
		model := map[string]ibprofile.SwitchModel{"often": often.Switch, "rarely": rarely.Switch}[s.Profile]
		for _, m := range append(slices.Clone(s.Ports), ibcc.PortMarking{Valid: true, MarkingRate: s.Defaults.MarkingRate}) {
			if m.Valid && (m.MarkingRate < model.MinMarkingRate || m.MarkingRate > model.MaxMarkingRate) {
				t.Errorf("switch %s of model %s: %+v", s.Name, s.Profile, m)
			}
		}
	}
	if f := findingOf(p, policy.CodeDeviceLimit); f == nil || !strings.Contains(f.Message, "Marking_Rate can be") {
		t.Errorf("findings %+v, links %+v", p.Findings, p.Links)
	}
}
