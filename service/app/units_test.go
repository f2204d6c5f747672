package app

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/command/remote"
	"fairlane/internal/testkit/filetest"
	"fairlane/internal/usage"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
	"fairlane/subnet/umad"
	"fairlane/tenants"
)

func TestParseSource(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]source{
		"file:a b.topo":     {file: "a b.topo"},
		"file:C:/x":         {file: "C:/x"},
		"ibsim:lab":         {ibsim: "unix:lab"},
		"ibsim:unix:lab":    {ibsim: "unix:lab"},
		"ibsim:udp:h:7070":  {ibsim: "udp:h:7070"},
		"ethernet:inv.yaml": {ethernet: "inv.yaml"},
		"ethernet:":         {},
		"":                  {},
		"file:":             {},
		"ibsim:":            {},
		"ibsim:udp":         {},
		"ibsim:unix":        {},
		"ibsim:tcp:h:1":     {},
		"http://x":          {},
		"umad:mlx5_0:1":     {umad: umad.Name{CA: "mlx5_0", Port: 1}},
		"umad:mlx5_0":       {},
		"umad:../x:1":       {},
		"umad:mlx5_0:0":     {},
		"fabric.yaml":       {},
	} {
		got, err := parseSource(in)
		if got != want || (err != nil) != (want == source{}) {
			t.Errorf("parseSource(%q) = %+v, %v", in, got, err)
		}
		if err != nil && (remote.ExitCode(err) != exitUsage || !strings.Contains(err.Error(), "want file:PATH")) {
			t.Errorf("parseSource(%q): %v", in, err)
		}
	}
}

func TestCCKeyIsReadAndNeverEchoed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]mad.Key{"0xAB\n": 0xab, "00000000000000ff": 0xff} {
		if got, err := ccKey(filetest.Write(t, "k", text)); err != nil || got != want {
			t.Errorf("%q: %x, %v", text, got, err)
		}
	}
	if got, err := ccKey(""); got != 0 || err != nil {
		t.Errorf("no file: %x, %v", got, err)
	}
	for _, text := range []string{"hunter2", "112233445566778899", "\n"} {
		_, err := ccKey(filetest.Write(t, "k", text))
		if remote.ExitCode(err) != exitUsage || text != "\n" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitDone},
		{errors.New("x"), exitFailed},
		{fmt.Errorf("run: %w", cmdline.ErrBoundMissed), exitFailed},
		{fmt.Errorf("read: %w", usage.Errorf("x")), exitUsage},
		{errors.Join(errors.New("x"), usage.Errorf("y")), exitUsage},
	} {
		if got := remote.ExitCode(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

func TestSampleTenants(t *testing.T) {
	t.Parallel()
	for _, hosts := range []int{3, 4, 5, 8, 40} {
		topo, err := topogen.Star(hosts, topogen.Wire{})
		if err != nil {
			t.Fatal(err)
		}
		ts, flows, err := sampleTenants(topo)
		if hosts < 4 {
			if remote.ExitCode(err) != exitUsage {
				t.Errorf("%d hosts: %v", hosts, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		qps, sources := map[string]int{}, map[ident.PortID]bool{}
		for _, f := range flows {
			qps[f.Tenant] += f.QPs
			if sources[f.Src] || f.Src == f.Dst {
				t.Errorf("%d hosts: %s sends twice or to itself", hosts, f.Src)
			}
			sources[f.Src] = true
		}
		if len(ts) != 3 || qps["gold"] != 1 || qps["silver"] != 4 || qps["bronze"] != 16 || tenants.Validate(ts, flows) != nil {
			t.Errorf("%d hosts: %d tenants with %v queue pairs", hosts, len(ts), qps)
		}
	}
}
