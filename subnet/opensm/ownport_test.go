package opensm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
)

// OpenSM's options name no port: its port is then the only one of this machine with a subnet manager.
func TestAForeignMasterIsFoundWithoutAGUIDInTheOptions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("qos TRUE\n", "-", "-")
		s.guid = 0x77
		o, err := manager(t, s, Config{}).Observe(t.Context())
		if err != nil || !o.Foreign || o.Own != 0x99 || o.UnknownMaster != "" {
			t.Errorf("%+v, %v", o, err)
		}
		s.fails = func(_ int, name string) error {
			if name != "ask" {
				t.Errorf("%s beside a foreign master", name)
			}
			return nil
		}
		var refused *RefusedError
		_, err = manager(t, s, Config{}).Apply(t.Context(), desired(3), ApplyOptions{})
		if !errors.As(err, &refused) || refused.Problems[0].Code != osmfile.CodeNotMaster || s.disk[partPath].Present {
			t.Errorf("error %v, want a refusal with not-master and nothing written", err)
		}
	})
}

func TestMasterIsUnknownUnlessOnePortIsFound(t *testing.T) {
	t.Parallel()
	kernel := func(ports ...ident.GUID) func() ([]ident.GUID, error) {
		return func() ([]ident.GUID, error) { return ports, nil }
	}
	broken := func() ([]ident.GUID, error) { return nil, errInjected }
	for name, c := range map[string]struct {
		options string
		here    ident.GUID // of the transport's port, where a subnet manager runs
		ports   func() ([]ident.GUID, error)
		own     ident.GUID
		unknown string
	}{
		"the master runs here":              {here: 0x99, own: 0x99},
		"on another port of this machine":   {ports: kernel(0x99), own: 0x99},
		"a standby runs here":               {here: 0x55, own: 0x55},
		"two standbys run here":             {here: 0x55, ports: kernel(0x56), own: 0x55},
		"no subnet manager on this host":    {unknown: "no subnet manager runs on a port of this machine"},
		"the master and a standby run here": {here: 0x99, ports: kernel(0x55), unknown: "subnet managers run on 2 ports"},
		"the kernel and the port agree":     {here: 0x99, ports: kernel(0x99), own: 0x99},
		"the kernel does not answer":        {here: 0x99, ports: broken, unknown: "could not be read"},
		"the options name it":               {options: "guid 0x44\n", ports: broken, own: 0x44},
	} {
		s := newFakeSM("qos TRUE\n"+c.options, "-", "-")
		s.here = c.here
		o, err := manager(t, s, Config{SMPorts: c.ports}).Observe(t.Context())
		if err != nil || o.Own != c.own || o.Foreign != (c.own != 0 && c.own != 0x99) || (o.UnknownMaster == "") != (c.unknown == "") || !strings.Contains(o.UnknownMaster, c.unknown) {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
}

func TestAnUnknownMasterIsAWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("qos TRUE\nqos_vlarb_high 0:0\nqos_vlarb_low 3:1,4:1\n", "-", "-")
		s.here = 0
		p, err := manager(t, s, Config{}).Diff(t.Context(), desired(3), PhaseFinish)
		if err != nil || len(p.Problems) == 0 || p.Problems[0].Code != osmfile.CodeMasterUnknown || !p.Problems[0].Warning {
			t.Errorf("%+v, %v", p.Problems, err)
		}
	})
}

func TestPortGUIDFromProcessArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]ident.GUID{
		"/usr/sbin/opensm\x00-F\x00/etc/opensm/opensm.conf\x00":   0,
		"opensm\x00-g\x000x0002c903000e0b72\x00-B\x00":            0x0002c903000e0b72,
		"opensm\x00-g0x21\x00":                                    0x21,
		"opensm\x00--guid\x000x22\x00":                            0x22,
		"opensm\x00--guid=0x23\x00-g\x000x24\x00":                 0x24,
		"opensm\x00-g\x00":                                        0,
		"opensm\x00--log_file\x00/var/log/-guid\x00-f\x00-g0\x00": 0,
	} {
		proc, pid := t.TempDir(), filepath.Join(t.TempDir(), "pid")
		if err := errors.Join(os.Mkdir(filepath.Join(proc, "41"), 0o700), os.WriteFile(filepath.Join(proc, "41", "cmdline"), []byte(args), 0o600),
			os.WriteFile(filepath.Join(proc, "41", "comm"), []byte("opensm\n"), 0o600), os.WriteFile(pid, []byte("41\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		unit := Unit{Name: "opensm.service", Proc: proc, Run: func(context.Context, ...string) (string, error) { return "41\n", nil }}
		for _, p := range []portReporter{PIDFile{Path: pid, Proc: proc}, unit} {
			if got, err := p.PortGUID(t.Context()); (err != nil) != strings.HasSuffix(args, "-g\x00") || got != want {
				t.Errorf("%T, %q: port %s, %v; want %s", p, args, got, err, want)
			}
		}
	}
}
