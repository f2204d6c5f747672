package local

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/command/cmdline"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/site"
	"fairlane/sim/simdev"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/subnettest"
)

// hidden is a simulated fabric, half of which an M_Key hides: the leaf with the key, and the hosts behind it.
func hidden(t *testing.T) (*faulty, mad.Key) {
	t.Helper()
	f, key := newFaulty(t, simdev.Options{}), mad.Key(0x77)
	cmdline.Must(f.dev.GuardSM(f.node("leaf2"), key, 2, 0))
	return f, key
}

func TestTheServiceReachesDevicesBehindAnMKey(t *testing.T) {
	t.Parallel()
	f, key := hidden(t)
	lab := control.Fabric{Name: "lab", Source: "ibsim:" + f.addr}
	all := len(f.topo.Nodes)
	owner, stranger := site.New(site.Settings{MKey: key}), &site.Access{}
	found, _, err := owner.Discover(t.Context(), lab.Source, policy.Options{})
	if err != nil || len(found.Nodes) != all {
		t.Fatalf("with the key it finds %v of %d nodes: %v", found, all, err)
	}
	if less, _, err := stranger.Discover(t.Context(), lab.Source, policy.Options{}); err != nil || len(less.Nodes) >= all-1 {
		t.Fatalf("without the key it finds %v: %v: want less than %d nodes", less, err, all-1)
	}
	for range 2 { // first without, then with the state of the first scan
		if l, err := owner.Rescan(t.Context(), lab, found, ident.PortID{}); err != nil || len(l.Topology.Nodes) != all {
			t.Errorf("with the key it sees %+v, %v", l, err)
		}
	}
	devices := site.CCDevices(found)
	target := control.Target{Fabric: lab, Topology: found, Plan: &policy.Plan{Plane: policy.PlaneIB}}
	for who, p := range map[string]*site.Access{"owner": owner, "stranger": stranger} {
		s, err := p.Open(t.Context(), target, nil)
		if err != nil {
			t.Fatal(err)
		}
		silent := 0
		for _, d := range devices {
			if _, err := s.Driver.Read(t.Context(), d); errors.Is(err, driver.ErrUnreachable) {
				silent++
			} else if err != nil {
				t.Errorf("%s reads %s: %v", who, d.Name, err)
			}
		}
		if want := map[string]int{"owner": 0, "stranger": 1}[who]; silent != want {
			t.Errorf("%d of %d devices do not answer the %s, want %d", silent, len(devices), who, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCommandsTakeAnMKey(t *testing.T) {
	t.Parallel()
	f, key := hidden(t)
	file, bad := f.file("mkey", fmt.Sprintf("%#x\n", uint64(key))), f.file("bad", "no key\n")
	from := "ibsim:" + f.addr
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"discover", "--from", from, "--json", "--m-key-file", file}, 0, fmt.Sprintf(`"hosts":%d`, len(f.topo.Hosts()))},
		{[]string{"discover", "--from", from, "--json"}, 0, `"hosts":2`},
		{[]string{"discover", "--from", from, "--m-key-file", bad}, cmdline.ExitUsage, "want an M_Key of 1 to 16 hexadecimal digits"},
		{[]string{"discover", "--from", "file:" + f.file("lab.yaml", subnettest.TwoHosts), "--m-key-file", file}, cmdline.ExitUsage, "does not use an M_Key"},
		{[]string{"device", "cc-key", "set", "--from", from, "--m-key-file", file, "--key-file", f.file("cc", "0x12\n"), "--dry-run"}, 0, "7"},
		{[]string{"device", "cc-key", "show", "--from", from, "--m-key-file", bad}, cmdline.ExitUsage, "want an M_Key"},
	} {
		var out, words bytes.Buffer
		code := runLocal(t.Context(), c.args, &out, &words)
		got := strings.ReplaceAll(out.String(), " ", "") + words.String()
		if code != c.exit || !strings.Contains(got, strings.ReplaceAll(c.want, " ", "")) && !strings.Contains(words.String(), c.want) {
			t.Errorf("%q: exit %d, want %d and %q: %s%s", c.args, code, c.exit, c.want, out.String(), words.String())
		}
		if strings.Contains(out.String()+words.String(), "no key\n") {
			t.Errorf("%q prints what is in the file", c.args)
		}
	}
}
