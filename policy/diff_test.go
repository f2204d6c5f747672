package policy_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// wantLines fails unless the text of a difference has the wanted lines.
func wantLines(t *testing.T, d policy.Difference, want ...string) {
	t.Helper()
	text := "\n" + d.String() + "\n"
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the difference lacks %q:%s", w, text)
		}
	}
}

func TestDifferenceShowsTheEffectOfAWeight(t *testing.T) {
	t.Parallel()
	in := incast(t)
	before := compile(t, in)
	after, _, err := policy.Apply(in, policy.Edit{Kind: policy.EditWeight, Tenant: "blue", Weight: 3000})
	if err != nil {
		t.Fatal(err)
	}
	p := compile(t, after)
	d := policy.Diff(before, p)
	wantLines(t, d, "tenant blue: weight 1 → 3, entitled ", "\n  2 ports: timer ", " us (", "tenant red: entitled ",
		"loses ", " on 1 link\n    spine1/P1 -> leaf1/P5: ")
	if d.From != before.Name || d.To != p.Name || d.Empty() {
		t.Errorf("the difference is from %s to %s", d.From, d.To)
	}
	for _, c := range d.Tenants {
		gain := c.After.Predicted - c.Before.Predicted
		if (c.Tenant == "blue") != (gain > 0) {
			t.Errorf("tenant %s gains %s", c.Tenant, gain)
		}
		if c.Links == nil || c.Links.Gained-c.Links.Lost != gain {
			t.Errorf("tenant %s: links %+v, want a sum of %s: there is one contended link", c.Tenant, c.Links, gain)
		}
	}
}

func TestDifferenceOfAPlanAndItselfIsEmpty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := compile(rt, plantest.Input(rt))
		d := policy.Diff(p, copyOf(rt, p))
		if !d.Empty() || d.String() != "no difference" {
			rt.Fatalf("difference of a plan and itself: %s", &d)
		}
	})
}

func copyOf(t interface{ Fatalf(string, ...any) }, p *policy.Plan) *policy.Plan {
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	var q policy.Plan
	if err := json.Unmarshal(b, &q); err != nil {
		t.Fatalf("decode: %v", err)
	}
	return &q
}

// ethernet is a plan with every section of the RoCE and the WRCC plane.
func ethernet() *policy.Plan {
	port := func(n int) ident.PortID { return ident.PortID{Node: ident.GUID(n), Port: 1} }
	p := &policy.Plan{Name: "e", Plane: "roce", RoCE: &policy.RoCEPlan{}, WRCC: &policy.WRCCPlan{}}
	for i := 1; i <= 3; i++ {
		name, tenant := fmt.Sprintf("host-%d/P1", i), string(rune('a'+i-1))
		p.Tenants = append(p.Tenants, policy.TenantShare{Tenant: tenant, Weight: 1000, QPs: 2, Entitled: 10, Predicted: 10, Bound: 0.03})
		p.RoCE.NICs = append(p.RoCE.NICs, policy.NICPlan{Port: port(i), Name: name, Profile: "connectx-6", Settings: dcqcn.Default(),
			Reasons: []policy.Reason{{Field: "rpg_time_reset", Unit: "us"}}})
		p.RoCE.Traffic = append(p.RoCE.Traffic, policy.RoCEPlacement{Tenant: tenant, Port: port(i), DSCP: 26, Priority: 3, Queue: 3})
		p.WRCC.Senders = append(p.WRCC.Senders, policy.WRCCSenderPlan{Port: port(i), Name: name, Tenant: tenant, Class: "default", Weight: 1.5,
			Peers: []policy.WRCCPeer{{Port: port(7), Weight: 2}}})
	}
	p.RoCE.Traffic = append(p.RoCE.Traffic, policy.RoCEPlacement{Tenant: "b", Port: port(1), DSCP: 26, Priority: 3, Queue: 3})
	p.RoCE.Switches = []policy.ECNPlan{{Node: 9, Name: "leaf1", Queues: []ecn.QueueMarking{{Port: 1, Queue: 3, Marking: ecn.Marking{Min: 1000, Max: 2000, PMaxPct: 10}}}}}
	p.WRCC.Ports = []policy.WRCCPortPlan{{Ports: []policy.NamedPort{{Port: port(9), Name: "leaf1/P1"}}, Settings: wrcc.DefaultParams(100*quantity.Gbps, 16*quantity.Microsecond)}}
	p.WRCC.Domains = []policy.WRCCDomainPlan{{MaxRTT: 8 * quantity.Microsecond, Period: 16 * quantity.Microsecond, T1: 300 * quantity.Microsecond}}
	p.Classes = []policy.ClassShare{{Tenant: "a", Class: "bulk", Weight: 1000, Entitled: 5, Predicted: 5}}
	p.Links = []policy.LinkShare{{Port: port(9), Peer: port(1), Name: "leaf1/P1 -> host-1/P1", Capacity: 100 * quantity.Gbps,
		Tenants: []policy.LinkTenant{{Tenant: "a", QPs: 1, Entitled: 5, Predicted: 5}, {Tenant: "b", QPs: 1, Entitled: 5, Predicted: 5}}}}
	p.Lanes = []policy.LanePlan{{Port: port(1), Name: "host-1/P1", Low: []policy.VLWeight{{VL: 0, Weight: 65}, {VL: 1, Weight: 130}}}}
	p.Findings = []policy.Finding{{Code: "x", Tenants: []string{"a"}, Links: []string{"l"}, Message: "m", Fix: "f"}}
	return p
}

func TestEveryFieldThatChangesShowsUp(t *testing.T) {
	t.Parallel()
	ib := compile(t, incast(t))
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SampledFrom([]*policy.Plan{ib, ethernet()}).Draw(rt, "plan")
		q := copyOf(rt, p)
		path := mutate(rt, reflect.ValueOf(q).Elem(), "")
		if d := policy.Diff(p, q); d.Empty() {
			rt.Fatalf("changing %s makes no difference", path)
		} else if text := d.String(); text == "" || strings.Contains(text, "%!") {
			rt.Fatalf("a change of %s is reported as %q", path, text)
		}
		if d := policy.Diff(q, p); d.Empty() {
			rt.Fatalf("undoing %s makes no difference", path)
		}
	})
}

// mutate changes one scalar somewhere below v, except reasons, names and the format, and returns its path.
func mutate(t *rapid.T, v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.Struct:
		var fields []int
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Name != "Reasons" && f.Name != "Name" && f.Name != "Format" && f.Tag.Get("canonical") != "-" && reaches(v.Field(i)) {
				fields = append(fields, i)
			}
		}
		i := rapid.SampledFrom(fields).Draw(t, "field")
		return mutate(t, v.Field(i), path+"."+v.Type().Field(i).Name)
	case reflect.Slice, reflect.Array:
		i := rapid.IntRange(0, v.Len()-1).Draw(t, "index")
		return mutate(t, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	case reflect.Pointer:
		return mutate(t, v.Elem(), path)
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Float64:
		v.SetFloat(v.Float() + 1e-6)
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	default:
		v.SetUint(v.Uint() ^ 1)
	}
	return path
}

// reaches reports whether there is a scalar below v.
func reaches(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice:
		return v.Len() > 0 && reaches(v.Index(0))
	case reflect.Pointer:
		return !v.IsNil() && reaches(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if reaches(v.Field(i)) {
				return true
			}
		}
		return false
	}
	return true
}

func TestDifferenceOnEthernetIsInUnitsAndByTenant(t *testing.T) {
	t.Parallel()
	p, q := ethernet(), ethernet()
	for i := range q.RoCE.NICs {
		q.RoCE.NICs[i].Settings.TimeReset = 180
	}
	q.RoCE.Switches[0].Queues[0].Marking.Max = 3000
	q.WRCC.Ports[0].Settings.Fmax = 90 * quantity.Gbps
	q.WRCC.Senders[2].Weight = 3
	q.RoCE.Traffic[1].Priority = 4
	q.Lanes[0].Low[1].Weight = 195
	d := policy.Diff(p, q)
	wantLines(t, d, "\n1 port: vl arbitration low VL0 65, VL1 130 → VL0 65, VL1 195 (host-1/P1)\n",
		"\ntenants a, b: 1 port: rpg_time_reset 300 → 180 us (host-1/P1)\n",
		"\ntenant b: rates unchanged\n",
		"\n  1 port: rpg_time_reset 300 → 180 us (host-2/P1)\n", "\n  1 port: priority 3 → 4 (host-2/P1)\n",
		"\n1 queue: marking.max_bytes 2000 → 3000 (leaf1/P1 queue 3)\n",
		"\n1 switch port: fmax 100 Gbit/s → 90 Gbit/s (leaf1/P1)\n",
		"\n  1 port: weight 1.5 → 3 (host-3/P1)\n")
}

func TestDifferenceBoundsItsListsAndCountsAll(t *testing.T) {
	t.Parallel()
	p, q := &policy.Plan{Name: "p"}, &policy.Plan{Name: "q"}
	for i := range 48 {
		port := ident.PortID{Node: ident.GUID(i + 1), Port: 1}
		c := policy.CAPlan{Port: port, Name: fmt.Sprintf("host-%02d/P1", i)}
		c.Settings.SLs[1].Timer = uint16(290 + i%2)
		p.CAs = append(p.CAs, c)
		c.Settings.SLs[1].Timer = 180
		q.CAs = append(q.CAs, c)
		pl := policy.Placement{Tenant: "a", Port: port, SL: 1}
		p.Placements, q.Placements = append(p.Placements, pl), append(q.Placements, pl)
		q.Findings = append(q.Findings, policy.Finding{Code: "c", Message: fmt.Sprint(i)})
	}
	p.Tenants = []policy.TenantShare{{Tenant: "a", Weight: 3000}}
	q.Tenants = []policy.TenantShare{{Tenant: "a", Weight: 5000}}
	q.CAs = q.CAs[:47]
	d := policy.Diff(p, q)
	wantLines(t, d, "tenant a: weight 3 → 5\n  47 ports: timer 297 to 298 → 184.3 us (host-00/P1, host-01/P1, host-02/P1 and 44 more)\n",
		"\nno longer managed: 1 port (host-47/P1)\n", "\nnew finding: c: 7\nnew finding: and 40 more\n")
	if n := len(d.Tenants[0].Settings[0].Names); n != 8 {
		t.Errorf("%d places are listed, want 8", n)
	}
}

func TestATenantThatChangesItsSLAndKeepsItsParametersOnlyMoves(t *testing.T) {
	t.Parallel()
	p, q := compile(t, incast(t)), compile(t, incast(t))
	q = copyOf(t, q)
	for i := range q.Placements {
		if q.Placements[i].Tenant == "red" {
			from := q.Placements[i].SL
			q.Placements[i].SL = 9
			for j := range q.CAs {
				if q.CAs[j].Port == q.Placements[i].Port {
					q.CAs[j].Settings.SLs[9], q.CAs[j].Settings.SLs[from] = q.CAs[j].Settings.SLs[from], q.CAs[j].Settings.SLs[9]
				}
			}
		}
	}
	d := policy.Diff(p, q)
	if len(d.Tenants) != 1 || len(d.Tenants[0].Settings) != 1 || d.Tenants[0].Settings[0].Field != "sl" || d.Tenants[0].Settings[0].Count != 2 || len(d.Settings) != 0 {
		t.Errorf("the difference is %s", &d)
	}
}

func TestDifferenceSurvivesEncoding(t *testing.T) {
	t.Parallel()
	d := policy.Diff(ethernet(), compile(t, incast(t)))
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var back policy.Difference
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, back); diff != "" {
		t.Errorf("read back (-wrote +read):\n%s", diff)
	}
}

func BenchmarkDiff1k(b *testing.B) {
	in, err := plantest.Large(plantest.LargeOptions{Leaves: 32, HostsPerLeaf: 32, Spines: 8, Tenants: 16, Flows: 10_000, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	after, _, err := policy.Apply(in, policy.Edit{Kind: policy.EditWeight, Tenant: in.Tenants[0].Name, Weight: 20_000})
	if err != nil {
		b.Fatal(err)
	}
	p, q := compile(b, in), compile(b, after)
	b.ReportAllocs()
	for b.Loop() {
		if d := policy.Diff(p, q); d.Empty() {
			b.Fatal("no difference")
		}
	}
}

func TestDifferenceListsTheLargestChangesOfLinks(t *testing.T) {
	t.Parallel()
	p, q := &policy.Plan{}, &policy.Plan{}
	for i := range 100 {
		l := policy.LinkShare{Port: ident.PortID{Node: ident.GUID(i + 1), Port: 1}, Name: fmt.Sprintf("link-%03d", i)}
		l.Tenants = []policy.LinkTenant{{Tenant: "a", Predicted: 1000 * quantity.Mbps}}
		p.Links = append(p.Links, l)
		l.Tenants = []policy.LinkTenant{{Tenant: "a", Predicted: 1000*quantity.Mbps + quantity.BitRate(i*37%100-50)*quantity.Mbps}}
		q.Links = append(q.Links, l)
	}
	d := policy.Diff(p, q)
	l := d.Tenants[0].Links
	if l.Count != 99 || l.Gains != 49 || l.Losses != 50 || l.Gained != 1225*quantity.Mbps || l.Lost != 1275*quantity.Mbps || len(l.Largest) != 8 {
		t.Errorf("links %+v", l)
	}
	wantLines(t, d, "\n  gains 1.225 Gbit/s on 49 links, loses 1.275 Gbit/s on 50 links\n    link-000: 1 Gbit/s → 950 Mbit/s\n    link-027: 1 Gbit/s → 1.049 Gbit/s\n",
		"\n    and 96 more\n")
}

// Ports that already mark by the switch's default only change their rule.
func TestPortsThatLeaveTheSwitchesRule(t *testing.T) {
	t.Parallel()
	plan := func(own bool) *policy.Plan {
		s := policy.SwitchPlan{Node: 1, Name: "leaf1", Ports: []ibcc.PortMarking{{}, {Valid: own, Threshold: 9, MarkingRate: 32, PacketSize: 8}}}
		s.Defaults.Threshold = 15
		return &policy.Plan{Switches: []policy.SwitchPlan{s}}
	}
	d := policy.Diff(plan(false), plan(true))
	if got, want := d.String(), "1 switch port: rule the switch's → its own: threshold 9, one packet in 32, of 512 bytes or more (leaf1/P1)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMinorChangesOfRatesAreCountedAndNotListed(t *testing.T) {
	t.Parallel()
	plan := func(line, port, class quantity.BitRate) *policy.Plan {
		return &policy.Plan{
			Tenants: []policy.TenantShare{{Tenant: "a", Entitled: line, Predicted: line}},
			Classes: []policy.ClassShare{{Tenant: "a", Class: "bulk", Entitled: class, Predicted: class}},
			Links:   []policy.LinkShare{{Name: "leaf1/P1 -> host-1/P1", Tenants: []policy.LinkTenant{{Tenant: "a", Entitled: port, Predicted: port}}}},
		}
	}
	d := policy.Diff(plan(9_999_999_934, 12_500_000_001, 3_000_000), plan(9_999_999_936, 12_500_000_000, 3_000_001))
	if len(d.Tenants) != 0 || d.Minor != 3 || d.Empty() || strings.Contains(d.String(), "→") {
		t.Errorf("%d are minor: %s", d.Minor, &d)
	}
	// If only one of several rates has a reportable change, only that one is reported.
	d = policy.Diff(plan(9_999_999_934, 12_500_000_001, 3_000_000), plan(9_999_999_936, 12_500_000_000, 3_100_000))
	wantLines(t, d, "tenant a: rates unchanged\n  class bulk: entitled 3 Mbit/s → 3.1 Mbit/s, predicted 3 Mbit/s → 3.1 Mbit/s\nsmall changes of rates")
}

func TestFindingsWithOtherNumbersAreReportedAsChanged(t *testing.T) {
	t.Parallel()
	finding := func(tenant, message, fix string) policy.Finding {
		return policy.Finding{Code: "weight-unreachable", Tenants: []string{tenant}, Links: []string{"l"}, Message: message, Fix: fix}
	}
	p := &policy.Plan{Findings: []policy.Finding{finding("a", "gets 3", "x"), finding("b", "gets 4", "x"), finding("c", "same", "x"), finding("d", "one", "x"), finding("d", "two", "x"), finding("e", "text", "old")}}
	q := &policy.Plan{Findings: []policy.Finding{finding("a", "gets 5", "x"), finding("c", "same", "x"), finding("d", "two", "x"), finding("d", "three", "x"), finding("e", "text", "new"), finding("f", "gets 7", "x")}}
	d := policy.Diff(p, q)
	want := "new finding: weight-unreachable: gets 7\nfinding removed: weight-unreachable: gets 4\n" +
		"finding changed: weight-unreachable: gets 5\nfinding changed: weight-unreachable: three\nfinding changed: weight-unreachable: now advises: new"
	if got := d.String(); got != want {
		t.Errorf("the difference is\n%s\nwant\n%s", got, want)
	}
	if len(d.Reworded) == 0 || d.Reworded[0].Before.Message != "gets 3" {
		t.Errorf("changed findings %+v", d.Reworded)
	}
}

func TestNewSenderIsReportedOnce(t *testing.T) {
	t.Parallel()
	p, q := ethernet(), ethernet()
	p.WRCC.Senders = p.WRCC.Senders[:2]
	d := policy.Diff(p, q)
	wantLines(t, d, "\n  1 port: weight none → 1.5 to 2 (host-3/P1)\n")
	if text := d.String(); strings.Contains(text, "name") {
		t.Errorf("the name is reported as a setting: %s", text)
	}
}

func TestDifferenceTextOfUnusualValues(t *testing.T) {
	t.Parallel()
	marking := func(rates ...uint16) *policy.Plan {
		s := policy.SwitchPlan{Node: 1, Name: "leaf1"}
		for _, r := range rates {
			s.Ports = append(s.Ports, ibcc.PortMarking{Valid: r > 0, MarkingRate: r})
		}
		s.Defaults.VictimMask.Set(3)
		return &policy.Plan{Switches: []policy.SwitchPlan{s}}
	}
	other := marking(8, 16)
	other.Switches[0].Defaults = ibcc.SwitchSettings{}
	table := func(last uint16) *policy.Plan {
		c := policy.CAPlan{Name: "host-1/P1"}
		c.Settings.Table = []ibcc.Entry{{}, {Multiplier: last}, {Multiplier: 9}}
		return &policy.Plan{CAs: []policy.CAPlan{c}}
	}
	for name, c := range map[string]struct {
		before, after *policy.Plan
		want          string
	}{
		"two ports that swap":         {marking(8, 16), marking(16, 8), "2 switch ports: marking_rate changes within 8 to 16 (leaf1/P0, leaf1/P1)"},
		"a port with its own rule":    {marking(0, 16), marking(8, 16), "1 switch port: marking starts: threshold 0, one packet in 8 (leaf1/P0)"},
		"ports that are there now":    {marking(8), marking(8, 16), "1 switch port: marking starts: threshold 0, one packet in 16 (leaf1/P1)"},
		"a port that stops marking":   {marking(8, 16), marking(8, 0), "1 switch port: marking stops, before threshold 0, one packet in 16 (leaf1/P1)"},
		"a mask":                      {marking(8, 16), other, "1 switch: victim_mask 3 → none (leaf1)"},
		"other steps of a table":      {table(3), table(4), "1 port: table 3 entries down to 1/10 of line rate with entry 1 at 0:3 → 3 entries down to 1/10 of line rate with entry 1 at 0:4 (host-1/P1)"},
		"a switch that is new":        {&policy.Plan{}, marking(8), "newly managed: 1 switch (leaf1)"},
		"rates with equal text":       {&policy.Plan{Tenants: []policy.TenantShare{{Tenant: "a", Predicted: 1e10}}}, &policy.Plan{Tenants: []policy.TenantShare{{Tenant: "a", Predicted: 1e10 + 1}}}, "small changes of rates, not listed: 1 figure"},
		"a bound":                     {&policy.Plan{Tenants: []policy.TenantShare{{Tenant: "a", Bound: 0.01}}}, &policy.Plan{Tenants: []policy.TenantShare{{Tenant: "a", Bound: 0.05}}}, "tenant a: error bound 1 % → 5 %"},
		"an added class":              {&policy.Plan{}, &policy.Plan{Classes: []policy.ClassShare{{Tenant: "a", Class: "bulk", Weight: 2000}}}, "class bulk: new, weight 2, predicted 0 bit/s"},
		"a removed class":             {&policy.Plan{Classes: []policy.ClassShare{{Tenant: "a", Class: "bulk"}}}, &policy.Plan{}, "class bulk: removed"},
		"a class entitled to more":    {&policy.Plan{Classes: []policy.ClassShare{{Tenant: "a", Class: "bulk", Entitled: 1e9, Predicted: 5}}}, &policy.Plan{Classes: []policy.ClassShare{{Tenant: "a", Class: "bulk", Entitled: 2e9, Predicted: 5}}}, "class bulk: entitled 1 Gbit/s → 2 Gbit/s\n"},
		"a class with other weight":   {&policy.Plan{Classes: []policy.ClassShare{{Tenant: "a", Class: "bulk", Weight: 1000}}}, &policy.Plan{Classes: []policy.ClassShare{{Tenant: "a", Class: "bulk", Weight: 2000}}}, "class bulk: weight 1 → 2"},
		"a plane":                     {&policy.Plan{Plane: "ib"}, &policy.Plan{Plane: "roce"}, "1 plan: plane ib → roce (plan)"},
		"a part without a prediction": {&policy.Plan{Links: []policy.LinkShare{{Tenants: []policy.LinkTenant{{Tenant: "a", QPs: 1}}}}}, &policy.Plan{Links: []policy.LinkShare{{Tenants: []policy.LinkTenant{{Tenant: "a", QPs: 2}}}}}, "  other figures on 1 link"},
	} {
		d := policy.Diff(c.before, c.after)
		if text := d.String() + "\n"; !strings.Contains(text, c.want) || d.Empty() {
			t.Errorf("%s: %q, want %q in it", name, text, c.want)
		}
	}
}
