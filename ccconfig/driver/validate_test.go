package driver

import (
	"strings"
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

func testCA() Device {
	return Device{ID: ident.PortID{Node: 0x11, Port: 1}, Name: "host-1/P1", Kind: subnet.KindCA, LID: 4}
}

func testSwitch() Device {
	return Device{ID: ident.PortID{Node: 0x22}, Name: "leaf-1", Kind: subnet.KindSwitch, LID: 5, Ports: 3}
}

func caSettings() Settings {
	return Settings{CA: &ibcc.CASettings{Limit: 1, Table: []ibcc.Entry{{}, {Shift: 3, Multiplier: 1}}}}
}

func switchSettings() Settings {
	return Settings{Switch: &SwitchState{Ports: make([]ibcc.PortMarking, 4)}}
}

func TestDeviceValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		device   Device
		change   func(*Device)
		wantText string // "" is legal
	}{
		"adapter":                {testCA(), func(*Device) {}, ""},
		"switch":                 {testSwitch(), func(*Device) {}, ""},
		"largest switch":         {testSwitch(), func(d *Device) { d.Ports = 254 }, ""},
		"highest LID":            {testCA(), func(d *Device) { d.LID = ident.MaxUnicastLID }, ""},
		"no LID":                 {testCA(), func(d *Device) { d.LID = 0 }, "LID 0"},
		"multicast LID":          {testSwitch(), func(d *Device) { d.LID = 0xc000 }, "LID 49152"},
		"port of a switch":       {testSwitch(), func(d *Device) { d.ID.Port = 1 }, "want 0"},
		"switch without ports":   {testSwitch(), func(d *Device) { d.Ports = 0 }, "0 ports"},
		"switch too large":       {testSwitch(), func(d *Device) { d.Ports = 255 }, "255 ports"},
		"adapter without a port": {testCA(), func(d *Device) { d.ID.Port = 0 }, "port 0"},
		"adapter port 255":       {testCA(), func(d *Device) { d.ID.Port = 255 }, "port 255"},
		"router":                 {testCA(), func(d *Device) { d.Kind = subnet.KindRouter }, "kind"},
	} {
		d := c.device
		c.change(&d)
		err := d.Validate()
		if (err == nil) != (c.wantText == "") || err != nil && (!strings.Contains(err.Error(), c.wantText) || !strings.Contains(err.Error(), d.ID.String())) {
			t.Errorf("%s: error %v, want one that contains %q", name, err, c.wantText)
		}
	}
}

func TestSettingsValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		device              Device
		settings            Settings
		change              func(*Settings)
		ranges, consistency string // text of each check's error, "" for legal
	}{
		"adapter":         {testCA(), caSettings(), func(*Settings) {}, "", ""},
		"switch":          {testSwitch(), switchSettings(), func(*Settings) {}, "", ""},
		"nothing":         {testCA(), Settings{}, func(*Settings) {}, "nothing", "nothing"},
		"another kind":    {testCA(), switchSettings(), func(*Settings) {}, "for a switch", "for a switch"},
		"another kind, 2": {testSwitch(), caSettings(), func(*Settings) {}, "for a channel adapter", "for a channel adapter"},
		"both":            {testSwitch(), switchSettings(), func(s *Settings) { s.CA = caSettings().CA }, "both", "both"},
		"bad device":      {Device{}, caSettings(), func(*Settings) {}, "LID 0", "LID 0"},
		"shift":           {testCA(), caSettings(), func(s *Settings) { s.CA.Table[1].Shift = 4 }, "cct[1].shift", "cct[1].shift"},
		"falling":         {testCA(), caSettings(), func(s *Settings) { s.CA.Table[0].Multiplier = 9 }, "", "cct[0]"},
		"threshold":       {testSwitch(), switchSettings(), func(s *Settings) { s.Switch.Defaults.Threshold = 16 }, "threshold: found 16", "threshold: found 16"},
		"few ports":       {testSwitch(), switchSettings(), func(s *Settings) { s.Switch.Ports = s.Switch.Ports[1:] }, "3 elements", "3 elements"},
		"many ports":      {testSwitch(), switchSettings(), func(s *Settings) { s.Switch.Ports = make([]ibcc.PortMarking, 5) }, "5 elements", "5 elements"},
		"port element":    {testSwitch(), switchSettings(), func(s *Settings) { s.Switch.Ports[2].Threshold = 16 }, "ports[2].threshold", "ports[2].threshold"},
		"victim mask":     {testSwitch(), switchSettings(), func(s *Settings) { s.Switch.Defaults.VictimMask.Set(4) }, "", "victim_mask: found port 4"},
		"credit mask":     {testSwitch(), switchSettings(), func(s *Settings) { s.Switch.Defaults.CreditMask.Set(200) }, "", "credit_mask: found port 200"},
		"masks":           {testSwitch(), switchSettings(), func(s *Settings) { s.Switch.Defaults.VictimMask.Set(3) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.settings
			c.change(&s)
			judged(t, name, s, c.device, c.ranges, c.consistency)
		})
	}
}

func TestSettingsDiff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want, got Settings
		change    func(got *Settings)
		fields    string
	}{
		"equal adapter": {caSettings(), caSettings(), func(*Settings) {}, ""},
		"equal switch":  {switchSettings(), switchSettings(), func(*Settings) {}, ""},
		"both empty":    {Settings{}, Settings{}, func(*Settings) {}, ""},
		"timer":         {caSettings(), caSettings(), func(g *Settings) { g.CA.SLs[2].Timer = 1 }, "sl[2].timer"},
		"switch":        {switchSettings(), switchSettings(), func(g *Settings) { g.Switch.Defaults.Threshold = 1; g.Switch.Ports[3].Valid = true }, "threshold,ports[3].valid"},
		"port count":    {switchSettings(), switchSettings(), func(g *Settings) { g.Switch.Ports = g.Switch.Ports[:2] }, "ports"},
		"no adapter":    {caSettings(), Settings{}, func(*Settings) {}, "ca"},
		"no switch":     {switchSettings(), Settings{}, func(*Settings) {}, "switch"},
		"other kind":    {caSettings(), switchSettings(), func(*Settings) {}, "ca,switch"},
	} {
		g := c.got
		c.change(&g)
		var names []string
		for _, d := range c.want.Diff(g) {
			names = append(names, d.Field)
		}
		if got := strings.Join(names, ","); got != c.fields || c.want.Equal(g) != (c.fields == "") {
			t.Errorf("%s: differences %q, want %q", name, got, c.fields)
		}
	}
}

func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	for _, s := range []Settings{caSettings(), switchSettings(), {}} {
		c := s.Clone()
		if !s.Equal(c) {
			t.Errorf("clone differs: %v", s.Diff(c))
		}
		if s.CA != nil {
			c.CA.Table[1].Multiplier, c.CA.SLs[0].Timer = 99, 99
		}
		if s.Switch != nil {
			c.Switch.Ports[1].Valid, c.Switch.Defaults.Threshold = true, 9
		}
		if s.CA != nil || s.Switch != nil {
			if s.Equal(c) {
				t.Error("a change of the clone changed the original")
			}
		}
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	s := switchSettings()
	if caSettings().Marks() || s.Marks() {
		t.Error("defaults mark")
	}
	s.Switch.Ports[2].Threshold = 4
	if s.Marks() {
		t.Error("an invalid element marks")
	}
	s.Switch.Ports[2].Valid = true
	if !s.Marks() {
		t.Error("a port with a threshold does not mark")
	}
	s = switchSettings()
	s.Switch.Defaults.Threshold = 1
	if !s.Marks() {
		t.Error("a switch with a threshold does not mark")
	}
}

func TestDeviceString(t *testing.T) {
	t.Parallel()
	d := testCA()
	if got := d.String(); got != "host-1/P1 (0x0000000000000011:1)" {
		t.Errorf("%q", got)
	}
	d.Name = ""
	if got := d.String(); got != "0x0000000000000011:1" {
		t.Errorf("%q", got)
	}
}

// judged checks the errors of ValidateRanges and Validate for a device; an empty text means no error.
func judged(t *testing.T, name string, s Settings, d Device, ranges, consistency string) {
	t.Helper()
	for what, r := range map[string]struct {
		err      error
		wantText string
	}{"ranges": {s.ValidateRanges(d), ranges}, "sense": {s.Validate(d), consistency}} {
		if (r.err == nil) != (r.wantText == "") || r.err != nil && !strings.Contains(r.err.Error(), r.wantText) {
			t.Errorf("%s, %s: error %v, want one that contains %q", name, what, r.err, r.wantText)
		}
	}
}
