package app

import (
	"errors"
	"fmt"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/command/demo"
	"fairlane/internal/usage"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, cmdline.ExitDone},
		{errors.New("x"), cmdline.ExitFailed},
		{fmt.Errorf("run: %w", cmdline.ErrBoundMissed), cmdline.ExitFailed},
		{fmt.Errorf("read: %w", usage.Errorf("x")), cmdline.ExitUsage},
		{errors.Join(errors.New("x"), usage.Errorf("y")), cmdline.ExitUsage},
	} {
		if got := cmdline.ExitCode(c.err); got != c.want {
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
		ts, flows, err := demo.SampleTenants(topo)
		if hosts < 4 {
			if cmdline.ExitCode(err) != cmdline.ExitUsage {
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
