package driver

import (
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

func testNIC(plane subnet.Plane) Device {
	return Device{Plane: plane, ID: ident.PortID{Node: 0x44, Port: 2}, Name: "host-4/P2", Kind: subnet.KindCA}
}

func testEtherSwitch() Device {
	return Device{Plane: PlaneRoCE, ID: ident.PortID{Node: 0x55}, Name: "leaf-5", Kind: subnet.KindSwitch, Ports: 3}
}

func nicSettings() Settings {
	s := &NICState{Params: []NICParam{
		{Name: "user_programmable_cc", Value: 1}, {Name: "rpg_gd", Value: 11}, {Name: "vf_tx_weight", Index: 3, Value: 40}, {Name: "rpg_ai_rate", Value: 5},
	}}
	s.Sort()
	return Settings{NIC: s}
}

func senderSettings() Settings {
	s := nicSettings()
	s.NIC.WRCC = &wrcc.NICConfig{Domain: 3, T1Us: 24, MinRateMbps: 100, Increase: "timer", Senders: []wrcc.SenderWeight{
		{Name: "a/x", Weight: wrcc.FixedWeight{Multiplier: 4}},
		{Name: "b/y", Weight: wrcc.FixedWeight{Multiplier: 3, Shift: 1}, Peers: []wrcc.PeerWeight{{Port: ident.PortID{Node: 9, Port: 1}, Weight: wrcc.FixedWeight{Multiplier: 7}}}},
	}}
	return s
}

func queueSettings() Settings {
	m := ecn.Marking{Min: 100_000, Max: 400_000, PMaxPct: 20}
	return Settings{Queues: &QueueState{Marking: []ecn.QueueMarking{{Port: 1, Queue: 3, Marking: m}, {Port: 1, Queue: 4, Marking: m}, {Port: 3, Queue: 3, Marking: m}}}}
}

func TestEthernetSettingsValidate(t *testing.T) {
	t.Parallel()
	nic, sender, sw := testNIC(PlaneRoCE), testNIC(PlaneWRCC), testEtherSwitch()
	for name, c := range map[string]struct {
		device              Device
		settings            Settings
		change              func(*Settings)
		ranges, consistency string // text of each check's error, "" for legal
	}{
		"NIC":                     {nic, nicSettings(), func(*Settings) {}, "", ""},
		"NIC with senders":        {sender, senderSettings(), func(*Settings) {}, "", ""},
		"no senders on WRCC":      {sender, nicSettings(), func(*Settings) {}, "", "nic.wrcc: found absent"},
		"for a switch":            {nic, queueSettings(), func(*Settings) {}, "for an Ethernet switch", "for an Ethernet switch"},
		"and a switch":            {nic, nicSettings(), func(s *Settings) { s.Queues = &QueueState{} }, "both a NIC and an Ethernet switch", "both"},
		"a value no table allows": {nic, nicSettings(), func(s *Settings) { s.NIC.Params[1].Value = 16 }, "", "rpg_gd"},
		"a name no table has":     {nic, nicSettings(), func(s *Settings) { s.NIC.Params[3].Name = "vf_tx" }, "", `vf_tx[3]`},
		"an index beyond":         {nic, nicSettings(), func(s *Settings) { s.NIC.Params[1].Index = 1 }, "", "rpg_gd[1]"},
		"a card's with an index":  {nic, nicSettings(), func(s *Settings) { s.NIC.Params[2].Index = 2 }, "", "user_programmable_cc[2]"},
		"out of order":            {nic, nicSettings(), func(s *Settings) { s.NIC.Params[0], s.NIC.Params[1] = s.NIC.Params[1], s.NIC.Params[0] }, "nic.params[1]: found rpg_ai_rate", "nic.params[1]"},
		"twice":                   {nic, nicSettings(), func(s *Settings) { s.NIC.Params[1] = s.NIC.Params[0] }, "each once", "each once"},
		"T1":                      {sender, senderSettings(), func(s *Settings) { s.NIC.WRCC.T1Us = 0 }, "t1_us", "t1_us"},
		"switch":                  {sw, queueSettings(), func(*Settings) {}, "", ""},
		"nothing marked":          {sw, Settings{Queues: &QueueState{}}, func(*Settings) {}, "", ""},
		"for a NIC":               {sw, nicSettings(), func(*Settings) {}, "for a NIC", "for a NIC"},
		"port 0":                  {sw, queueSettings(), func(s *Settings) { s.Queues.Marking[0].Port = 0 }, "queues.marking[0].port: found 0", "found 0, want 1 to 3"},
		"port 4":                  {sw, queueSettings(), func(s *Settings) { s.Queues.Marking[2].Port = 4 }, "queues.marking[2].port: found 4", "want 1 to 3"},
		"queue 8":                 {sw, queueSettings(), func(s *Settings) { s.Queues.Marking[2].Queue = 8 }, "queues.marking[2].queue: found 8", "queue: found 8"},
		"queues out of order":     {sw, queueSettings(), func(s *Settings) { s.Queues.Marking[1].Queue = 2 }, "found port 1 queue 2", "queues by port"},
		"a queue twice":           {sw, queueSettings(), func(s *Settings) { s.Queues.Marking[1].Queue = 3 }, "each once", "each once"},
		"thresholds":              {sw, queueSettings(), func(s *Settings) { s.Queues.Marking[1].Marking.Max = 1 }, "queues.marking[1].max_bytes", "max_bytes"},
	} {
		s := c.settings
		c.change(&s)
		judged(t, name, s, c.device, c.ranges, c.consistency)
	}
}

func TestEveryParameterHasItsRangeInSettings(t *testing.T) {
	t.Parallel()
	table := richest()
	for i := range table.Params() {
		p := &table.Params()[i]
		if p.Kind != nicparam.Uint {
			continue
		}
		for v, legal := range map[uint64]bool{p.Max: p.Legal(p.Max), p.Max + 1: false} {
			if v == 0 {
				continue // one above the largest number of all
			}
			err := (Settings{NIC: &NICState{Params: []NICParam{{Name: p.Name, Value: v}}}}).Validate(testNIC(PlaneRoCE))
			if !legal && err == nil {
				t.Errorf("%s accepts %d, want %s", p.Name, v, p.Allowed())
			}
			if legal && err != nil && strings.Contains(err.Error(), p.Allowed()) {
				t.Errorf("%s does not accept %d: %v", p.Name, v, err)
			}
		}
	}
}

// dividedSettings contains all desired shares: only that of function 1.
func dividedSettings() Settings {
	return Settings{NIC: &NICState{AllShares: true, Params: []NICParam{{Name: ShareParam, Index: 1, Value: 40}}}}
}

// share gives a function a share.
func share(s *Settings, function int, mbps uint64) {
	s.NIC.Params = slices.DeleteFunc(s.NIC.Params, func(p NICParam) bool { return p.Name == ShareParam && p.Index == function })
	s.NIC.Params = append(s.NIC.Params, NICParam{ShareParam, function, mbps})
	s.NIC.Sort()
}

func TestTheShareParameterIsOneOfTheTable(t *testing.T) {
	t.Parallel()
	p, ok := richest().Find(ShareParam)
	if !ok || p.Scope != nicparam.ScopeFunction || p.Unit != "Mbit/s" || !p.Legal(0) {
		t.Errorf("%s: %+v", ShareParam, p)
	}
}

func TestEthernetDiff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want     Settings
		change   func(got *Settings)
		wantText string
	}{
		"equal":                   {senderSettings(), func(*Settings) {}, ""},
		"a value":                 {nicSettings(), func(g *Settings) { g.NIC.Params[1].Value = 10 }, "nic.rpg_gd: want 11, got 10"},
		"a value at an index":     {nicSettings(), func(g *Settings) { g.NIC.Params[3].Value = 10 }, "nic.vf_tx_weight[3]: want 40, got 10"},
		"another index":           {nicSettings(), func(g *Settings) { g.NIC.Params[3].Index = 10 }, "nic.vf_tx_weight[3]: want 40, got absent"},
		"parameter not requested": {nicSettings(), func(g *Settings) { g.NIC.Params = append(g.NIC.Params, NICParam{Name: "zzz", Value: 5}) }, ""},
		"share of a function that is not in the plan": {nicSettings(), func(g *Settings) { share(g, 1, 500) }, ""},
		"a share without a tenant":                    {dividedSettings(), func(g *Settings) { share(g, 2, 500) }, "nic.vf_tx_share[2]: want 0, got 500"},
		"no share":                                    {dividedSettings(), func(g *Settings) { share(g, 2, 0) }, ""},
		"another share":                               {dividedSettings(), func(g *Settings) { share(g, 1, 500) }, "nic.vf_tx_share[1]: want 40, got 500"},
		"no NIC":                                      {nicSettings(), func(g *Settings) { g.NIC = nil }, "nic: want settings, got absent"},
		"no senders at all":                           {senderSettings(), func(g *Settings) { g.NIC.WRCC = nil }, "nic.wrcc: want settings, got absent"},
		"domain":                                      {senderSettings(), func(g *Settings) { g.NIC.WRCC.Domain = 4 }, "nic.wrcc.domain: want 3, got 4"},
		"T1":                                          {senderSettings(), func(g *Settings) { g.NIC.WRCC.T1Us = 4 }, "nic.wrcc.t1_us: want 24, got 4"},
		"minimum rate":                                {senderSettings(), func(g *Settings) { g.NIC.WRCC.MinRateMbps = 4 }, "nic.wrcc.min_rate_mbps: want 100, got 4"},
		"increase":                                    {senderSettings(), func(g *Settings) { g.NIC.WRCC.Increase = "ask" }, "nic.wrcc.increase: want timer, got ask"},
		"weight":                                      {senderSettings(), func(g *Settings) { g.NIC.WRCC.Senders[0].Weight.Shift = 2 }, "nic.wrcc.senders[a/x].weight: want 4/2^0, got 4/2^2"},
		"a sender less":                               {senderSettings(), func(g *Settings) { g.NIC.WRCC.Senders = g.NIC.WRCC.Senders[1:] }, "nic.wrcc.senders[a/x]: want an entry, got absent"},
		"a sender more": {senderSettings(), func(g *Settings) {
			g.NIC.WRCC.Senders = append(g.NIC.WRCC.Senders, wrcc.SenderWeight{Name: "c/z"})
		}, "nic.wrcc.senders[c/z]: want absent, got an entry"},
		"a peer": {senderSettings(), func(g *Settings) { g.NIC.WRCC.Senders[1].Peers[0].Weight.Multiplier = 6 }, "nic.wrcc.senders[b/y].peers[0x0000000000000009:1].weight: want 7/2^0, got 6/2^0"},
		"a peer less": {senderSettings(), func(g *Settings) { g.NIC.WRCC.Senders[1].Peers = nil },
			"nic.wrcc.senders[b/y].peers[0x0000000000000009:1]: want an entry, got absent"},
		"queues":      {queueSettings(), func(*Settings) {}, ""},
		"least":       {queueSettings(), func(g *Settings) { g.Queues.Marking[1].Marking.Min = 5 }, "queues[1/4].min_bytes: want 100000, got 5"},
		"most":        {queueSettings(), func(g *Settings) { g.Queues.Marking[0].Marking.Max = 5 }, "queues[1/3].max_bytes: want 400000, got 5"},
		"probability": {queueSettings(), func(g *Settings) { g.Queues.Marking[2].Marking.PMaxPct = 5 }, "queues[3/3].p_max_percent: want 20, got 5"},
		"unmarked":    {queueSettings(), func(g *Settings) { g.Queues.Marking = g.Queues.Marking[:2] }, "queues[3/3]: want an entry, got absent"},
		"others":      {queueSettings(), func(g *Settings) { g.Queues.Marking = append(g.Queues.Marking, ecn.QueueMarking{Port: 3, Queue: 4}) }, ""},
		"no switch":   {queueSettings(), func(g *Settings) { g.Queues = nil }, "queues: want settings, got absent"},
	} {
		got := c.want.Clone()
		before := c.want.Clone()
		c.change(&got)
		var texts []string
		for _, d := range c.want.Diff(got) {
			texts = append(texts, d.String())
		}
		if s := strings.Join(texts, "; "); s != c.wantText || c.want.Equal(got) != (c.wantText == "") {
			t.Errorf("%s: differences %q, want %q", name, s, c.wantText)
		}
		if !before.Equal(c.want) || !c.want.Equal(before) {
			t.Errorf("%s: a change of the clone changed the original", name)
		}
	}
}

func TestStatesFindTheirEntries(t *testing.T) {
	t.Parallel()
	n, q := nicSettings().NIC, queueSettings().Queues
	if v, ok := n.Param("vf_tx_weight", 3); v != 40 || !ok {
		t.Errorf("vf_tx_weight[3]: %d %t", v, ok)
	}
	if _, ok := n.Param("vf_tx_weight", 2); ok {
		t.Error("vf_tx_weight[2] exists")
	}
	if m, ok := q.Queue(1, 4); m.Max != 400_000 || !ok {
		t.Errorf("queue 1/4: %v %t", m, ok)
	}
	if _, ok := q.Queue(2, 3); ok {
		t.Error("queue 2/3 exists")
	}
	if !queueSettings().Marks() || (Settings{Queues: &QueueState{}}).Marks() {
		t.Error("a switch marks where it has a rule, and nowhere else")
	}
}

// TestDefaultsOfTheVendorAreLegal checks that the two tables agree.
func TestDefaultsOfTheVendorAreLegal(t *testing.T) {
	t.Parallel()
	d := dcqcn.Default()
	s := &NICState{}
	for _, p := range nicparam.OfDCQCN(2, &d) {
		s.Params = append(s.Params, NICParam{Name: p.Name, Value: p.Value})
	}
	s.Sort()
	if err := (Settings{NIC: s}).Validate(testNIC(PlaneRoCE)); err != nil {
		t.Error(err)
	}
}
