package profilefile_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibprofile"
	"fairlane/ccconfig/ibprofile/profilefile"
	"fairlane/internal/quantity"
	"fairlane/internal/testkit/zhtest"
	"fairlane/internal/yamltree"
)

const site = `version: 1
profiles:
  - name: acme-hca
    title: Acme adapter
    kind: adapter
    basis: measured
    origin: our laboratory
    assumptions: [one, two]
    table_entries: 256
    max_shift: 0
    max_multiplier: 255
    timer_unit_ns: 2048
    max_timer: 0x3ff
    timer_restart: true
    max_increase: 15
    modes: [sl]
    layouts: [packed-ca, libibmad-log]
  - {name: acme-switch, kind: switch, origin: data sheet, queue_bytes: 65536, max_marking_rate: 16, max_packet_size: 0, port_marking: false}
  - name: acme-deep
    kind: switch
    like: acme-switch
    origin: data sheet
    threshold_bytes: [150, 140, 130, 120, 110, 100, 90, 80, 70, 60, 50, 40, 30, 20, 10]
assign:
  - {profile: acme-hca, vendor_id: 0xacce, device_ids: [1, 0x2]}
  - {profile: acme-deep, name: core*}
  - {profile: acme-switch, vendor_id: 0xacce}
  - {profile: restart-adapter, name: old-*}
`

func TestSiteProfilesAreUsed(t *testing.T) {
	t.Parallel()
	s, err := profilefile.Read("site.yaml", strings.NewReader(site))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Chooser()
	of := func(kind ibprofile.Kind, vendor uint32, device uint16, name string) *ibprofile.Profile {
		return c.Of(ibprofile.Identity{Kind: kind, VendorID: vendor, DeviceID: device, Name: name})
	}
	hca := of(ibprofile.Adapter, 0xacce, 2, "h1")
	want := ibprofile.AdapterModel{TableEntries: 256, MaxMultiplier: 255, TimerUnit: 2048 * quantity.Nanosecond, MaxTimer: 1023, TimerRestart: true, MaxIncrease: 15, PerSL: true}
	if hca.Name != "acme-hca" || hca.Adapter != want || !hca.Layout.PackedCA || !hca.Layout.LibibmadLog || hca.Basis != ibprofile.Measured || len(hca.Assumptions) != 2 {
		t.Errorf("%+v", hca)
	}
	if p := of(ibprofile.Switch, 0xacce, 1, "leaf1"); p.Name != "acme-switch" || p.Switch.Thresholds != ibprofile.Linear(65536) || p.Switch.PortMarking || p.Switch.MaxMarkingRate != 16 {
		t.Errorf("%+v", p)
	}
	if p := of(ibprofile.Switch, 0xacce, 1, "core1"); p.Name != "acme-deep" || p.Switch.Thresholds[1] != 150 || p.Switch.Thresholds[15] != 10 || p.Switch.MaxMarkingRate != 16 {
		t.Errorf("%+v", p)
	}
	for _, x := range []struct {
		got  *ibprofile.Profile
		want string
	}{
		{of(ibprofile.Adapter, 0xacce, 3, "h1"), ibprofile.GenericAdapter},
		{of(ibprofile.Adapter, 0, 0, "old-7"), ibprofile.RestartAdapter},
		{of(ibprofile.Adapter, 0x1175, 0x7322, "h1"), ibprofile.QLogicAdapter},
		{of(ibprofile.Switch, 0x1175, 0x7322, "s1"), ibprofile.GenericSwitch},
	} {
		if x.got.Name != x.want {
			t.Errorf("chose %s, want %s", x.got.Name, x.want)
		}
	}
}

func TestFaultsNameLineFieldFoundAndAllowed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                     "f.yaml: found nothing",
		"version: 2\n":                         "f.yaml:1: version: found \"2\", want 1",
		"profiles: []\n":                       "version: missing, want 1",
		"version: 1\nprofile: []\n":            "f.yaml:2: unknown key \"profile\", want version, profiles, assign",
		"version: 1\nversion: 1\n":             "was given in line 1 already",
		"version: 1\n---\nversion: 1\n":        "second document",
		"version: 1\nprofiles: {}\n":           "f.yaml:2: profiles: found a mapping, want a list",
		"version: 1\nprofiles:\n  - name: a\n": "f.yaml:3: profiles[0].kind: found \"\", want adapter or switch",
		"version: 1\nprofiles:\n  - {kind: switch, like: qlogic-qib}\n":                                                     "profiles[0].like: found \"qlogic-qib\", want a built-in profile of the same kind",
		"version: 1\nprofiles:\n  - {name: A, kind: switch, origin: x}\n":                                                   "profiles[0].name: found \"A\", want 1 to 63",
		"version: 1\nprofiles:\n  - {name: qlogic-qib, kind: adapter, origin: x}\n":                                         "want a name that no other profile has",
		"version: 1\nprofiles:\n  - {name: a, kind: adapter}\n":                                                             "profiles[0].origin: found 0 bytes",
		"version: 1\nprofiles:\n  - name: a\n    kind: adapter\n    origin: x\n    max_timer: 0\n":                          "f.yaml:6: profiles[0].max_timer: found 0, want 1 to 65535",
		"version: 1\nprofiles:\n  - {name: a, kind: adapter, origin: x, max_timer: 70000}\n":                                "want a whole number from 0 to 65535",
		"version: 1\nprofiles:\n  - {name: a, kind: adapter, origin: x, queue_bytes: 9}\n":                                  "unknown key \"queue_bytes\"",
		"version: 1\nprofiles:\n  - {name: a, kind: adapter, origin: x, modes: []}\n":                                       "modes: found none, want qp, sl or both",
		"version: 1\nprofiles:\n  - {name: a, kind: adapter, origin: x, layouts: [wide-ports]}\n":                           "want libibmad-log and packed-ca alone",
		"version: 1\nprofiles:\n  - {name: a, kind: switch, origin: x, threshold_bytes: [1]}\n":                             "want a list of 15",
		"version: 1\nprofiles:\n  - {name: a, kind: switch, origin: x, threshold_bytes: [1,2,1,1,1,1,1,1,1,1,1,1,1,1,1]}\n": "threshold_bytes[1]: found 2, want 1 to 1073741824, and no more than",
		"version: 1\nassign:\n  - {profile: none, name: x}\n":                                                               "f.yaml:3: assign[0].profile: found \"none\"",
		"version: 1\nassign:\n  - {profile: ibta-switch}\n":                                                                 "neither vendor_id nor name",
		"version: 1\nassign:\n  - {profile: ibta-switch, name: \"[\"}\n":                                                    "want a pattern",
		"version: 1\nassign:\n  - {profile: ibta-switch, name: x, device_ids: [1]}\n":                                       "with vendor_id only",
		"a: &b 1\nc: *b\n": "anchor or alias",
		"\t":               "want valid YAML",
	} {
		_, err := profilefile.Read("f.yaml", strings.NewReader(text))
		var fault *yamltree.Fault
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v\nwant %q", text, err, want)
		}
		zhtest.Error(t, text, err, names...)
	}
	if _, err := profilefile.Read("f.yaml", strings.NewReader(strings.Repeat("#", profilefile.MaxBytes+1))); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a file that is too long: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(site)
	f.Add("version: 1\nprofiles:\n  - {name: a, kind: switch, origin: x, threshold_bytes: [1]}\nassign: [{profile: a, name: '['}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := profilefile.Read("f.yaml", strings.NewReader(text))
		if err != nil {
			return
		}
		c := s.Chooser()
		for _, p := range s.Profiles() {
			for _, e := range []ibcc.Entry{{}, {Shift: 3, Multiplier: 1}, {Multiplier: ibcc.MaxMultiplier}} {
				if p.Kind != ibprofile.Adapter {
					continue
				}
				got := p.Adapter.EntryUp(e)
				if got.Validate() != nil || got.Shift > p.Adapter.MaxShift || got.Multiplier > p.Adapter.MaxMultiplier {
					t.Fatalf("%s holds %s as %s", p.Name, e, got)
				}
			}
			if code := p.Switch.Code(1 << 16); p.Kind == ibprofile.Switch && (code < 1 || code > ibcc.MaxThreshold) {
				t.Fatalf("%s: code %d", p.Name, code)
			}
		}
		if c.Of(ibprofile.Identity{Kind: ibprofile.Switch, Name: "s"}) == nil || c.Of(ibprofile.Identity{Kind: ibprofile.Adapter}) == nil {
			t.Fatal("a device without a profile")
		}
	})
}

// Every built-in profile is read back equal after writing.
func TestProfilesSurviveWritingAndReading(t *testing.T) {
	t.Parallel()
	for _, p := range (*ibprofile.Set)(nil).Profiles() {
		p.Name = "copy"
		s, err := profilefile.Read("f.yaml", strings.NewReader("version: 1\nprofiles:\n"+profilefile.Text(&p)))
		if err != nil {
			t.Errorf("%s: %v", p.Title, err)
			continue
		}
		if got, _ := s.Lookup("copy"); !reflect.DeepEqual(got, p) {
			t.Errorf("wrote %+v, read %+v", p, got)
		}
	}
}

// names are the words of the file that a Chinese message keeps.
var names = strings.Fields("version profiles assign name kind like adapter switch standard source measured assumed qp sl title origin basis assumptions layouts modes")
