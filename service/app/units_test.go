package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/command/remote"
	"fairlane/internal/usage"
	"fairlane/policy"
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

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCCKeyIsReadAndNeverEchoed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]mad.Key{"0xAB\n": 0xab, "00000000000000ff": 0xff} {
		if got, err := ccKey(write(t, "k", text)); err != nil || got != want {
			t.Errorf("%q: %x, %v", text, got, err)
		}
	}
	if got, err := ccKey(""); got != 0 || err != nil {
		t.Errorf("no file: %x, %v", got, err)
	}
	for _, text := range []string{"hunter2", "112233445566778899", "\n"} {
		_, err := ccKey(write(t, "k", text))
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

// fakeSA answers the two questions of the placer.
type fakeSA struct {
	smLID uint16
	sl    map[ident.PKey]ident.SL
}

func (f fakeSA) Exchange(_ context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	resp := *req
	if to.LID == 0 {
		resp.Data()[18], resp.Data()[19] = byte(f.smLID>>8), byte(f.smLID)
		return resp, nil
	}
	var rec mad.PathRecord
	if err := rec.Decode(req.Data()); err != nil {
		return resp, err
	}
	sl, ok := f.sl[rec.PKey]
	if !ok {
		return resp, mad.ErrTimeout
	}
	rec.SL = sl
	return resp, rec.Encode(resp.Data())
}

func TestPlacer(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(2, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	ports := connectedPorts(topo)
	ps := []policy.Placement{
		{Tenant: "red", PKey: 0x8001, Port: ports[0], SL: 2}, {Tenant: "red", PKey: 0x8001, Port: ports[1], SL: 2},
		{Tenant: "blue", PKey: 0x8002, Port: ports[1], SL: 3},
	}
	for name, c := range map[string]struct {
		sa   fakeSA
		want []string // empty: in force
	}{
		"in force":  {fakeSA{1, map[ident.PKey]ident.SL{0x8001: 2, 0x8002: 3}}, nil},
		"wrong SLs": {fakeSA{1, map[ident.PKey]ident.SL{0x8001: 0, 0x8002: 1}}, []string{"tenant red: subnet administration hands out SL 0", "; tenant blue", "set sl=3", "partitions.conf"}},
		"silence":   {fakeSA{1, nil}, []string{"path of tenant red"}},
		"no SA":     {fakeSA{}, []string{"no subnet administration"}},
	} {
		p := &placer{transport: c.sa, topology: topo}
		err := p.Verify(t.Context(), &policy.Plan{Placements: ps})
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, w := range c.want {
			if err != nil && (!strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%s: %q, want %q in one line", name, err, w)
			}
		}
	}
	set := map[ident.PKey]ident.SL{}
	p := &placer{set: func(k ident.PKey, sl ident.SL) int { set[k] = sl; return 1 }}
	if err := p.Place(t.Context(), &policy.Plan{Placements: ps}, nil, false); err != nil || len(set) != 2 || set[0x8001] != 2 || set[0x8002] != 3 {
		t.Errorf("placed %v, %v", set, err)
	}
}
