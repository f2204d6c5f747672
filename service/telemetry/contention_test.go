package telemetry

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet/ident"
)

// gbit is a rate in Gbit/s, for the tables below.
func gbit(n float64) *quantity.BitRate { return new(quantity.BitRate(n * 1e9)) }

// sharedLink is a plan with two tenants, red and blue, that are entitled to 75 and 25 Gbit/s of one link, and a report in which the link and
// the tenants have the given rates; a negative rate was not measured.
func sharedLink(used, red, blue float64) (*policy.Plan, *Report) {
	p := &policy.Plan{
		Tenants: []policy.TenantShare{{Tenant: "red", Entitled: 75e9}, {Tenant: "blue", Entitled: 25e9}},
		Links: []policy.LinkShare{{Name: "sw/P1 -> h1/P1", Capacity: 100e9, Tenants: []policy.LinkTenant{
			{Tenant: "red", Entitled: 75e9, Predicted: 75e9}, {Tenant: "blue", Entitled: 25e9, Predicted: 25e9},
		}}},
	}
	rate := func(n float64) *quantity.BitRate {
		if n < 0 {
			return nil
		}
		return gbit(n)
	}
	u := rate(used)
	return p, &Report{
		Tenants: []TenantShare{{Tenant: "red", Entitled: 75e9, Delivered: rate(red)}, {Tenant: "blue", Entitled: 25e9, Delivered: rate(blue)}},
		Links: []LinkUse{{Name: "sw/P1 -> h1/P1", Capacity: 100e9, Used: u, Utilisation: use(u, 100e9), Tenants: []LinkTenant{
			{Tenant: "red", Entitled: 75e9, Delivered: rate(red)}, {Tenant: "blue", Entitled: 25e9, Delivered: rate(blue)},
		}}},
	}
}

func TestContentionOnOneLink(t *testing.T) {
	t.Parallel()
	// Parts of the holding notifications by tenant; a negative part is unknown.
	holds := func(red, blue float64) map[string]Hold {
		m := map[string]Hold{}
		for name, part := range map[string]float64{"red": red, "blue": blue} {
			if part >= 0 {
				m[name] = Hold{Received: part * 1000, Holding: 1000}
			}
		}
		return m
	}
	for name, c := range map[string]struct {
		used, red, blue float64
		evidence        Evidence
		wantRed         Contention
		wantBlue        Contention
		received        float64 // of blue, 0 when it does not contend
	}{
		"both with a backlog":                             {98, 73.5, 24.5, Evidence{Holds: holds(1, 1)}, Contending, Contending, 0.98},
		"without notifications counted":                   {98, 73.5, 24.5, Evidence{Holds: holds(-1, -1)}, Contending, Contending, 0.98},
		"red idle":                                        {97, 0.1, 96.9, Evidence{Holds: holds(0, 1)}, Idle, Contending, 0.97},
		"red sends half of its part":                      {97, 37, 60, Evidence{Holds: holds(0.2, 1)}, OwnDemand, Contending, 60 / 63.0},
		"blue starved, held back":                         {98, 93, 5, Evidence{Holds: holds(1, 1)}, Contending, Contending, 0.2},
		"blue held back, almost silent":                   {98, 97.9, 0.1, Evidence{Holds: holds(1, 1)}, Contending, Contending, 0.004},
		"blue sends little, not held":                     {98, 93, 5, Evidence{Holds: holds(1, 0.1)}, Contending, OwnDemand, 0},
		"blue sends little, unknown":                      {98, 93, 5, Evidence{Holds: holds(1, -1)}, Contending, OwnDemand, 0},
		"the loop is dead":                                {98, 93, 5, Evidence{Holds: holds(0, 0), Dead: true}, Contending, Contending, 0.2},
		"the link is not full":                            {60, 45, 15, Evidence{Holds: holds(0, 0)}, OwnDemand, OwnDemand, 0},
		"not full, but all are held back":                 {60, 45, 15, Evidence{Holds: holds(1, 1)}, Contending, Contending, 0.6},
		"not full, one is held back":                      {60, 45, 15, Evidence{Holds: holds(0, 1)}, OwnDemand, OtherLink, 0},
		"blue at its cap":                                 {98, 88, 10, Evidence{Holds: holds(1, 0), Limits: Limits{Caps: map[string]quantity.BitRate{"blue": 10e9}}}, Contending, AtCap, 0},
		"blue limited by its ports":                       {98, 88, 10, Evidence{Holds: holds(1, 0), OwnPorts: map[string]float64{"blue": 1}}, Contending, OwnPort, 0},
		"blue has a port without a link":                  {98, 98, 0, Evidence{Holds: holds(1, 0), Limits: Limits{Down: map[string]bool{"blue": true}}}, Contending, PathDown, 0},
		"the link is not measured":                        {-1, 73, 24, Evidence{Holds: holds(1, 1)}, NotMeasured, NotMeasured, 0},
		"blue is not measured":                            {98, 73, -1, Evidence{Holds: holds(1, -1)}, Contending, NotMeasured, 0},
		"blue is notified of packets that no counter has": {98, 98, 0, Evidence{Holds: holds(1, 0), Stuck: map[string]bool{"blue": true}}, Contending, NotMeasured, 0},
		"an empty fabric":                                 {0, 0, 0, Evidence{Holds: holds(0, 0)}, Idle, Idle, 0},
	} {
		p, r := sharedLink(c.used, c.red, c.blue)
		judgeContention(p, r, &c.evidence)
		red, blue := &r.Tenants[0], &r.Tenants[1]
		if red.Contention != c.wantRed || blue.Contention != c.wantBlue {
			t.Errorf("%s: red %s, blue %s, want %s and %s", name, red.Contention, blue.Contention, c.wantRed, c.wantBlue)
		}
		switch {
		case c.received == 0 && blue.Received != nil:
			t.Errorf("%s: blue received %v and does not contend", name, *blue.Received)
		case c.received > 0 && (blue.Received == nil || *blue.Received < c.received-0.005 || *blue.Received > c.received+0.005):
			t.Errorf("%s: blue received %v, want %v", name, blue.Received, c.received)
		case c.received > 0 && (blue.Limit != "sw/P1 -> h1/P1" || *blue.EntitledNow < 25e9):
			t.Errorf("%s: blue is limited by %q and entitled to %v", name, blue.Limit, *blue.EntitledNow)
		}
	}
}

// A rate that contradicts the notifications is withheld, not shown as 0.
func TestARateOfACounterThatStandsStillIsWithheld(t *testing.T) {
	t.Parallel()
	p, r := sharedLink(98, 98, 0)
	for i := range r.Tenants {
		r.Tenants[i].ShareError = shareError(r.Tenants[i].Delivered, r.Tenants[i].Entitled)
	}
	r.sumUp()
	judgeContention(p, r, &Evidence{Stuck: map[string]bool{"blue": true}})
	blue := &r.Tenants[1]
	if blue.Delivered != nil || blue.Problem == nil || r.Links[0].Tenants[1].Delivered != nil {
		t.Errorf("blue's rate is shown: %+v", blue)
	}
	if r.Tenants[0].Delivered == nil || r.Jain == nil || *r.Jain != 1 {
		t.Errorf("red, or the index without blue, is missing: %+v", r)
	}
	var s sending
	s.port(0, 0, 100e9, notified{certain: 10, seconds: 1}) // ten notifications of no octets
	if !s.stuck {
		t.Error("ten notifications of no octets do not contradict")
	}
	s = sending{}
	s.port(2560, 2560, 100e9, notified{certain: 10, seconds: 1}) // ten packets of 32 octets in a second
	if s.stuck {
		t.Error("ten notifications of ten of the shortest packets contradict")
	}
}

// BECNs are read a little before and after the octets. Those of a tenant that just stopped do not mean that its counter stands still.
func TestFewNotificationsDoNotContradictASilentTenant(t *testing.T) {
	t.Parallel()
	id := ident.PortID{Node: 1, Port: 1}
	ca := policy.CAPlan{Port: id}
	ca.Settings.SLs[1].Timer, ca.Settings.SLs[1].Increase = 1000, 1                         // a BECN holds a queue pair for 1.024 ms
	for becns, stuck := range map[uint64]bool{0: false, 20: false, 400: false, 600: true} { // 977 in a second hold it
		c := PortCongestion{Elapsed: quantity.Second}
		c.BECN[1] = becns
		b := becnHolds{
			plan: &policy.Plan{Placements: []policy.Placement{{Tenant: "red", Port: id, SL: 1}}}, qps: map[tenantAt]int{{id, "red"}: 1}, users: map[slot]int{{id, 1}: 1},
			counts: map[ident.PortID]*PortCongestion{id: &c}, cas: map[ident.PortID]*policy.CAPlan{id: &ca},
			rates: map[ident.PortID]*PortRate{id: {Port: Port{ID: id, Rate: 100e9}, Xmit: Measured(0), SL: [ident.NumSLs]Rate{1: Measured(0)}}},
		}
		if got := b.tenant("red").stuck; got != stuck {
			t.Errorf("%d BECNs without octets: stuck %v, want %v", becns, got, stuck)
		}
	}
}

// A contending tenant without a measured rate does not hide what the others received: it is compared with the entitlement by the plan.
func TestAnUnmeasuredContenderHidesNoOther(t *testing.T) {
	t.Parallel()
	_, r := sharedLink(98, 20, -1)
	l := &r.Links[0]
	l.Tenants[0].Contention, l.Tenants[1].Contention = Contending, Contending
	entitleNow(l, nil)
	red, blue := &l.Tenants[0], &l.Tenants[1]
	if red.Received == nil || *red.EntitledNow != 75e9 || *red.Received != 20.0/75 {
		t.Errorf("red received %v of %v", red.Received, red.EntitledNow)
	}
	if blue.Received != nil || blue.EntitledNow != nil {
		t.Errorf("blue has figures without a measured rate: %+v", blue)
	}
}

// A tenant that crosses two full links is limited by the one where its level equals the others'. On the other it gets less than they do,
// since it does not want more there.
func TestATenantIsLimitedByOneOfItsLinks(t *testing.T) {
	t.Parallel()
	p, r := sharedLink(98, 73.5, 24.5)
	second := p.Links[0]
	second.Name, second.Tenants = "sw/P2 -> h2/P1", []policy.LinkTenant{{Tenant: "blue", Entitled: 50e9, Predicted: 50e9}, {Tenant: "green", Entitled: 50e9, Predicted: 50e9}}
	p.Links = append(p.Links, second)
	p.Tenants = append(p.Tenants, policy.TenantShare{Tenant: "green", Entitled: 50e9})
	r.Tenants = append(r.Tenants, TenantShare{Tenant: "green", Entitled: 50e9, Delivered: gbit(73)})
	u := gbit(97.5)
	r.Links = append(r.Links, LinkUse{Name: second.Name, Capacity: 100e9, Used: u, Utilisation: use(u, 100e9), Tenants: []LinkTenant{
		{Tenant: "blue", Entitled: 50e9, Delivered: gbit(24.5)}, {Tenant: "green", Entitled: 50e9, Delivered: gbit(73)},
	}})
	held := Hold{Received: 1000, Holding: 1000}
	judgeContention(p, r, &Evidence{Holds: map[string]Hold{"red": held, "blue": held, "green": held}})
	for i, want := range []Contention{Contending, Contending, Contending} {
		if got := r.Tenants[i].Contention; got != want {
			t.Errorf("%s is %s, want %s", r.Tenants[i].Tenant, got, want)
		}
	}
	if got := r.Links[1].Tenants[0].Contention; got != OtherLink || r.Tenants[1].Limit != "sw/P1 -> h1/P1" {
		t.Errorf("blue on the second link: %s; its limit is %q", got, r.Tenants[1].Limit)
	}
	if now := *r.Links[1].Tenants[1].EntitledNow; now != 75.5e9 { // all that blue leaves of the link
		t.Errorf("green is entitled to %v on the second link", now)
	}
}
