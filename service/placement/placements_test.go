package placement

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm/osmfile"
	"fairlane/subnet/topogen"
)

// Partitions in UFM are compared completely. A service level that another writer set is reported and not changed.
func TestPlacementsInUFMAreObserved(t *testing.T) {
	t.Parallel()
	s := newUFMSite(t)
	target := control.Target{Fabric: control.Fabric{Name: "lab"}, Topology: s.topo, Plan: s.plan(0x8010, 3, 0, 1)}
	place, err := s.placements.Open(target, s.file, s.sa)
	if err != nil {
		t.Fatal(err)
	}
	observe := func() control.DeviceReport {
		return s.placements.Observe(t.Context(), target, place, true)
	}
	if r := observe(); r.State != device.Failed || r.Error.String() == "" { // subnet administration does not answer
		t.Errorf("no answer: %+v", r)
	}
	s.sa.sl[0x8010] = 3
	if r := observe(); r.State != device.Drifted || r.Refused || len(r.Differences) != 2 || r.Differences[0].Observed != "absent" {
		t.Errorf("before anything was placed: %+v", r)
	}
	if err := place.Place(t.Context(), target.Plan, nil, false); err != nil {
		t.Fatal(err)
	}
	if r := observe(); r.State != device.InSync || r.Error.String() != "" {
		t.Errorf("in force: %+v", r)
	}
	s.sa.sl[0x8010] = 0
	if r := observe(); r.State != device.Drifted || r.Refused || len(r.Differences) != 1 || r.Differences[0] != (control.Difference{Field: "path of red in partition 0x8010", Desired: "SL 3", Observed: "SL 0"}) {
		t.Errorf("another answer: %+v", r)
	}
	s.sa.sl[0x8010] = 3
	requests := len(s.Log)
	s.With(func() { s.Partitions["0x10"].SL = 9 })
	if r := observe(); r.State != device.Drifted || !r.Refused || !strings.Contains(r.Error.String(), "has service level 9, we set 3") || r.Differences[0].Observed != "SL 9" {
		t.Errorf("a second writer: %+v", r)
	}
	repair := target
	repair.Repair = true
	if place, err = s.placements.Open(repair, s.file, s.sa); err != nil {
		t.Fatal(err)
	}
	r := observe()
	if r.State != device.Drifted || r.Refused || r.Error.String() != "" {
		t.Errorf("a second writer, whom a repair is to write over: %+v", r)
	}
	for _, line := range s.Log[requests:] {
		if !strings.HasPrefix(line, "GET") {
			t.Errorf("a look sent %q", line)
		}
	}
	if r.Device != device.Manager() || r.Device == (driver.Device{}) {
		t.Errorf("the report is of %+v", r.Device)
	}
}

// One observation queries a bounded number of partitions, however many a plan has; several observations cover all of
// them.
func TestObservationsSampleAllPartitions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &policy.Plan{}
		for _, k := range rapid.SliceOfN(rapid.Uint16(), 0, 200).Draw(t, "partitions") {
			p.Placements = append(p.Placements, policy.Placement{PKey: ident.PKey(k)})
		}
		all := partitionsOf(p)
		from := rapid.IntRange(0, 1<<20).Draw(t, "turn")
		var seen []ident.PKey
		for k := range (len(all) + askedPartitions - 1) / askedPartitions {
			part := sampled(all, from+k)
			if len(part) > askedPartitions || len(part) == 0 {
				t.Fatalf("look %d asks about %d partitions", k, len(part))
			}
			seen = append(seen, part...)
		}
		slices.Sort(seen)
		if !slices.Equal(seen, all) {
			t.Fatalf("asked about %v of %v", seen, all)
		}
	})
}

// The service reports drift of placements with everything that happened to the subnet manager or its files since they
// were last in sync.
func TestDriftOfPlacementsIsReportedWithItsCause(t *testing.T) {
	t.Parallel()
	base := osmfile.Observation{GUID: 0x11, LID: 1, Activity: 100, Process: "7@1", Options: "a", Partitions: "p", Policy: "q"}
	with := func(f func(*osmfile.Observation)) osmfile.Observation { o := base; f(&o); return o }
	for name, c := range map[string]struct {
		now   osmfile.Observation
		wrote bool // by Fairlane
		want  string
	}{
		"nothing":        {base, false, ""},
		"an edit":        {with(func(o *osmfile.Observation) { o.Partitions = "x" }), false, "the partitions file changed"},
		"our own edit":   {with(func(o *osmfile.Observation) { o.Partitions = "x" }), true, ""},
		"a policy":       {with(func(o *osmfile.Observation) { o.Policy = "x" }), false, "the QoS policy changed"},
		"a restart":      {with(func(o *osmfile.Observation) { o.Process = "8@2" }), false, "the subnet manager on 0x0000000000000011 started again"},
		"a handover":     {osmfile.Observation{GUID: 0x22, LID: 2, Foreign: true}, false, "handed over to the one on 0x0000000000000022"},
		"both":           {with(func(o *osmfile.Observation) { o.Process, o.Partitions = "8@2", "x" }), false, "started again, the partitions file changed"},
		"only CC wishes": {with(func(o *osmfile.Observation) { o.WritesCC = true }), false, ""},
	} {
		var w history
		report := func(state device.State) string {
			list := []control.DeviceReport{{Device: device.Manager(), State: state}}
			w.explain("lab", list)
			return list[0].Cause.String()
		}
		w.observe("lab", base)
		report(device.InSync)
		if c.wrote {
			w.wrote("lab")
		}
		w.observe("lab", c.now)
		for range 2 { // the cause is reported until they are in sync
			if got := report(device.Drifted); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%s: cause %q, want %q", name, got, c.want)
			}
			w.observe("lab", c.now)
		}
		report(device.InSync)
		if got := report(device.Drifted); got != "" {
			t.Errorf("%s: reported again after it was in sync: %q", name, got)
		}
	}
}

// counting counts the queries to subnet administration.
type counting struct {
	fakeSA
	n *atomic.Int64
}

func (c counting) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	c.n.Add(1)
	return c.fakeSA.Exchange(ctx, to, req)
}

// One observation costs a bounded number of queries, however many partitions and ports there are, and a deviation is
// found within the number of observations that covers all of them.
func TestObservationsOfPlacementsAreBounded(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(40, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	sa := counting{fakeSA{1, map[ident.PKey]ident.SL{}}, &atomic.Int64{}}
	plan := &policy.Plan{Plane: "ib"}
	const partitions = 200
	for k := range partitions {
		key := ident.PKey(0x8001 + k)
		sa.sl[key] = ident.SL(k % 15)
		for _, h := range topo.Hosts() {
			plan.Placements = append(plan.Placements, policy.Placement{Tenant: fmt.Sprintf("t%d", k), PKey: key, Port: topo.PortID(subnet.PortRef{Node: h, Port: 1}), SL: sa.sl[key]})
		}
	}
	p := &Placements{}
	target := control.Target{Fabric: control.Fabric{Name: "lab"}, Topology: topo, Plan: plan}
	place, err := p.Open(target, nil, sa)
	if err != nil {
		t.Fatal(err)
	}
	observe := func(all bool) (control.DeviceReport, int64) {
		before := sa.n.Load()
		r := p.Observe(t.Context(), target, place, all)
		return r, sa.n.Load() - before
	}
	if r, sent := observe(true); r.State != device.InSync || sent != partitions+1 {
		t.Errorf("all of it took %d requests: %+v", sent, r)
	}
	for range 3 {
		if r, sent := observe(false); r.State != device.InSync || sent > askedPartitions+1 {
			t.Errorf("one look took %d requests: %+v", sent, r)
		}
	}
	sa.sl[0x8001+150] = 14
	found := 0
	for range (partitions + askedPartitions - 1) / askedPartitions {
		r, sent := observe(false)
		if sent > askedPartitions+1 {
			t.Errorf("one look took %d requests: %+v", sent, r)
		}
		if r.State == device.Drifted {
			if found++; r.Differences[0].Field != "path of t150 in partition 0x8097" || !r.Refused || !strings.Contains(r.Error.String(), "set sl= for the partition") {
				t.Errorf("found %+v", r)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d observations of a full cycle found it, want one", found)
	}
}

// A tenant without a P_Key is in the default partition and is queried there.
func TestTheDefaultPartitionIsQueried(t *testing.T) {
	t.Parallel()
	p := &policy.Plan{Placements: []policy.Placement{{Tenant: "a", PKey: 2}, {Tenant: "b"}, {Tenant: "c", PKey: ident.DefaultPKey}}}
	if got, want := partitionsOf(p), []ident.PKey{2, ident.DefaultPKey.Base()}; !slices.Equal(got, want) {
		t.Errorf("partitions %v, want %v", got, want)
	}
}
