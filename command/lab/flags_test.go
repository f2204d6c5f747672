package lab

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fairlane/internal/usage"
	"fairlane/sim/live"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

func TestBoundsOfAnEvaluation(t *testing.T) {
	t.Parallel()
	good := evaluateFlags{cases: 1, jobs: 1}
	for _, c := range []struct {
		name       string
		change     func(*evaluateFlags)
		one, cases bool
		want       string
	}{
		{"the least", func(*evaluateFlags) {}, false, true, ""},
		{"no cases", func(f *evaluateFlags) { f.cases = 0 }, false, true, "--cases 0: want 1 to "},
		{"no jobs", func(f *evaluateFlags) { f.jobs = 0 }, false, false, "--jobs 0: want 1 to "},
		{"the first case", func(f *evaluateFlags) { f.one = 0 }, true, false, ""},
		{"a case below the first", func(f *evaluateFlags) { f.one = -1 }, true, false, "--case -1: want 0 to "},
		{"one case of several", func(*evaluateFlags) {}, true, true, "--case runs a single case"},
		{"one case into a file", func(f *evaluateFlags) { f.out = "x" }, true, false, "--case runs a single case"},
	} {
		f := good
		c.change(&f)
		if err := f.check(c.one, c.cases); (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestEthernetFabricIsServedOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f     simServeFlags
		fixed bool
		want  string
	}{
		{simServeFlags{addr: "127.0.0.1:9", seed: 5}, true, ""},
		{simServeFlags{addr: "[::1]:9", seed: 5}, true, ""},
		{simServeFlags{addr: "unix:x", seed: 5}, false, ""}, // InfiniBand's default
		{simServeFlags{addr: "0.0.0.0:9"}, true, "--addr"},
		{simServeFlags{addr: ":9"}, true, "--addr"},
		{simServeFlags{addr: "192.0.2.1:9"}, true, "--addr"},
		{simServeFlags{addr: "127.0.0.1"}, true, "--addr"},
		{simServeFlags{ibProfiles: "x"}, false, "--ib-profiles"},
		{simServeFlags{cold: true}, false, "--cold"},
	} {
		var k live.Case
		err := c.f.check(&k, c.fixed)
		if c.want == "" && (err != nil || k.Seed != 5) {
			t.Errorf("%+v: %v, seed %d", c.f, err, k.Seed)
		}
		if c.want != "" && (!errors.As(err, new(*usage.Error)) || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want a fault of %s", c.f, err, c.want)
		}
	}
}

func TestFlowUsesThePinnedServiceLevelOfItsSource(t *testing.T) {
	t.Parallel()
	a, b, c := ident.PortID{Node: 1, Port: 1}, ident.PortID{Node: 2, Port: 1}, ident.PortID{Node: 1, Port: 2}
	ts := []tenants.Tenant{
		{Name: "red", Attachments: []tenants.Attachment{{Port: a, SL: new(ident.SL(3))}, {Port: b, SL: new(ident.SL(4))}, {Port: c}}},
		{Name: "blue", Attachments: []tenants.Attachment{{Port: a, SL: new(ident.SL(5))}}},
	}
	for _, x := range []struct {
		tenant string
		src    ident.PortID
		want   ident.SL
	}{{"red", a, 3}, {"red", b, 4}, {"red", c, 0}, {"blue", a, 5}, {"blue", b, 0}, {"green", a, 0}} {
		if got := pinnedSL(ts, tenants.Flow{Tenant: x.tenant, Src: x.src, Dst: b}); got != x.want {
			t.Errorf("%s from %s: service level %d, want %d", x.tenant, x.src, got, x.want)
		}
	}
}

func TestEnvironmentOfToolsIsQuotedForAShell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		addr, host string
		want       []string
	}{
		{"unix:lab", "h1", []string{"IBSIM_SOCKNAME=lab", "SIM_HOST=h1"}},
		{"unix:my lab", "", []string{"IBSIM_SOCKNAME='my lab'"}},
		{"udp:127.0.0.1:7070", "it's", []string{"IBSIM_SERVER_NAME=127.0.0.1", "IBSIM_SERVER_PORT=7070", `SIM_HOST='it'\''s'`}},
		{"udp:[::1]:7070", "$(rm)", []string{"IBSIM_SERVER_NAME=::1", "IBSIM_SERVER_PORT=7070", "SIM_HOST='$(rm)'"}},
		{"udp:nonsense", "", []string{}},
	} {
		if got := toolEnvironment(c.addr, c.host); !slices.Equal(got, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.addr, c.host, got, c.want)
		}
	}
}
