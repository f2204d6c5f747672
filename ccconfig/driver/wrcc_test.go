package driver

import (
	"strings"
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

func testWRCC() Device {
	return Device{Plane: PlaneWRCC, ID: ident.PortID{Node: 0x33}, Name: "dci-1", Kind: subnet.KindSwitch, Ports: 3}
}

func wrccSettings() Settings {
	return Settings{WRCC: &WRCCState{
		Ports:   []wrcc.PortConfig{{Port: 1, FminMbps: 1, FmaxMbps: 9, TargetMbps: 9, PeriodUs: 24, RateRatioPct: 110, QRatioPct: 50}, {Port: 3, FminMbps: 1, FmaxMbps: 9, TargetMbps: 9, PeriodUs: 24, RateRatioPct: 110, QRatioPct: 50}},
		Weights: []wrcc.ClassWeight{{Port: 1, Class: 2, Multiplier: 3, Shift: 1}},
		Domains: []wrcc.PortDomain{{Port: 3, Domain: 7}},
	}}
}

func TestWRCCDeviceValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(*Device)
		wantText string
	}{
		"switch":       {func(*Device) {}, ""},
		"with a LID":   {func(d *Device) { d.LID = 7 }, ""}, // has no meaning on Ethernet
		"NIC port":     {func(d *Device) { d.Kind, d.ID.Port = subnet.KindCA, 1 }, ""},
		"NIC, no port": {func(d *Device) { d.Kind = subnet.KindCA }, "port 0 of a NIC"},
		"router":       {func(d *Device) { d.Kind = subnet.KindRouter }, "on plane"},
		"port":         {func(d *Device) { d.ID.Port = 2 }, "want 0"},
		"no ports":     {func(d *Device) { d.Ports = 0 }, "0 ports"},
		"255 ports":    {func(d *Device) { d.Ports = 255 }, "255 ports"},
		"other planes": {func(d *Device) { d.Plane = "ib" }, "LID 0"},
	} {
		d := testWRCC()
		c.change(&d)
		if err := d.Validate(); (err == nil) != (c.wantText == "") || err != nil && !strings.Contains(err.Error(), c.wantText) {
			t.Errorf("%s: error %v, want one that contains %q", name, err, c.wantText)
		}
	}
}

func TestWRCCSettingsValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		device              Device
		settings            Settings
		change              func(*Settings)
		ranges, consistency string
	}{
		"WRCC switch":     {testWRCC(), wrccSettings(), func(*Settings) {}, "", ""},
		"nothing set":     {testWRCC(), Settings{WRCC: &WRCCState{}}, func(*Settings) {}, "", ""},
		"nothing":         {testWRCC(), Settings{}, func(*Settings) {}, "settings for nothing", "settings for nothing"},
		"of a switch":     {testWRCC(), switchSettings(), func(*Settings) {}, "settings for a switch", "settings for a switch"},
		"on an IB switch": {testSwitch(), wrccSettings(), func(*Settings) {}, "settings for a WRCC switch", "settings for a WRCC switch"},
		"on an adapter":   {testCA(), caSettings(), func(s *Settings) { s.WRCC = &WRCCState{} }, "both a channel adapter and a WRCC switch", "both"},
		"port 4":          {testWRCC(), wrccSettings(), func(s *Settings) { s.WRCC.Ports[1].Port = 4 }, "ports[1].port: found 4, want 1 to 3", "ports[1].port"},
		"two periods":     {testWRCC(), wrccSettings(), func(s *Settings) { s.WRCC.Ports[1].PeriodUs = 48 }, "", "ports[1].wrcct_us"},
	} {
		s := c.settings
		c.change(&s)
		judged(t, name, s, c.device, c.ranges, c.consistency)
	}
}

func TestWRCCDiff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(got *Settings)
		wantText string
	}{
		"equal":              {func(*Settings) {}, ""},
		"floor":              {func(g *Settings) { g.WRCC.Ports[0].FminMbps = 5 }, "wrcc.ports[1].f_min_mbps: want 1, got 5"},
		"ceiling":            {func(g *Settings) { g.WRCC.Ports[1].FmaxMbps = 5 }, "wrcc.ports[3].f_max_mbps: want 9, got 5"},
		"target":             {func(g *Settings) { g.WRCC.Ports[1].TargetMbps = 5 }, "wrcc.ports[3].b_tar_mbps: want 9, got 5"},
		"period":             {func(g *Settings) { g.WRCC.Ports[1].PeriodUs = 5 }, "wrcc.ports[3].wrcct_us: want 24, got 5"},
		"rate ratio":         {func(g *Settings) { g.WRCC.Ports[1].RateRatioPct = 5 }, "wrcc.ports[3].rate_ratio_pct: want 110, got 5"},
		"queue ratio":        {func(g *Settings) { g.WRCC.Ports[1].QRatioPct = 5 }, "wrcc.ports[3].q_ratio_pct: want 50, got 5"},
		"multiplier":         {func(g *Settings) { g.WRCC.Weights[0].Multiplier = 5 }, "wrcc.weights[1/2].multiplier: want 3, got 5"},
		"shift":              {func(g *Settings) { g.WRCC.Weights[0].Shift = 5 }, "wrcc.weights[1/2].shift: want 1, got 5"},
		"data centre":        {func(g *Settings) { g.WRCC.Domains[0].Domain = 5 }, "wrcc.domains[3].domain: want 7, got 5"},
		"side":               {func(g *Settings) { g.WRCC.Domains[0].WAN = true }, "wrcc.domains[3].wan: want false, got true"},
		"an entry less":      {func(g *Settings) { g.WRCC.Ports = g.WRCC.Ports[1:] }, "wrcc.ports[1]: want an entry, got absent"},
		"an entry more":      {func(g *Settings) { g.WRCC.Domains = append(g.WRCC.Domains, wrcc.PortDomain{Port: 4}) }, "wrcc.domains[4]: want absent, got an entry"},
		"another port":       {func(g *Settings) { g.WRCC.Domains[0].Port = 2 }, "wrcc.domains[2]: want absent, got an entry; wrcc.domains[3]: want an entry, got absent"},
		"no settings at all": {func(g *Settings) { g.WRCC = nil }, "wrcc: want settings, got absent"},
		"another adapter":    {func(g *Settings) { g.CA = &ibcc.CASettings{} }, "ca: want absent, got settings"},
	} {
		want := wrccSettings()
		got := want.Clone()
		c.change(&got)
		var texts []string
		for _, d := range want.Diff(got) {
			texts = append(texts, d.String())
		}
		if s := strings.Join(texts, "; "); s != c.wantText || want.Equal(got) != (c.wantText == "") {
			t.Errorf("%s: differences %q, want %q", name, s, c.wantText)
		}
		if !want.Equal(wrccSettings()) {
			t.Errorf("%s: a change of the clone changed the original", name)
		}
	}
}
