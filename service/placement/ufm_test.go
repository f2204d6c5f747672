package placement

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/placement/smfile"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/subnet/ufm/ufmtest"
)

// ufmSite is a fabric whose subnet manager is UFM's, with the file that describes it.
type ufmSite struct {
	*ufmtest.Server
	topo       *subnet.Fabric
	placements Placements
	file       *smfile.File
	sa         fakeSA
}

func newUFMSite(t *testing.T) *ufmSite {
	t.Helper()
	server, path := ufmtest.Start(t)
	s := &ufmSite{Server: server, sa: fakeSA{1, map[ident.PKey]ident.SL{}}}
	managers, err := ReadManagers([]string{"lab=" + path})
	if err != nil {
		t.Fatal(err)
	}
	s.file = managers["lab"]
	if s.topo, err = topogen.Star(4, topogen.Wire{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *ufmSite) plan(key ident.PKey, sl ident.SL, hosts ...int) *policy.Plan {
	p := &policy.Plan{Plane: "ib"}
	for _, h := range hosts {
		at := s.topo.PortID(subnet.PortRef{Node: s.topo.Hosts()[h], Port: 1})
		p.Placements = append(p.Placements, policy.Placement{Tenant: "red", PKey: key, Port: at, SL: sl})
	}
	return p
}

func TestPlacementsGoThroughUFM(t *testing.T) {
	t.Parallel()
	s := newUFMSite(t)
	place, err := s.placements.Open(control.Target{Fabric: control.Fabric{Name: "lab"}, Topology: s.topo}, s.file, s.sa)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	first, second := s.plan(0x8010, 3, 0, 1), s.plan(0x8010, 4, 1, 2)
	if err := place.Check(ctx, first, nil); err != nil || slices.ContainsFunc(s.Log, func(l string) bool { return !strings.HasPrefix(l, http.MethodGet) }) {
		t.Fatalf("looking at it: %v, requests %v", err, s.Log)
	}
	if err := place.Place(ctx, first, nil, false); err != nil {
		t.Fatal(err)
	}
	if p := s.Partitions["0x10"]; p == nil || p.SL != 3 || len(p.Members) != 2 || !p.IPoIB {
		t.Fatalf("partition is %+v", p)
	}
	// UFM has stored it; its subnet manager does not yet assign it.
	s.sa.sl[0x8010] = 0
	if err := place.Verify(ctx, first); err == nil || !strings.Contains(err.Error(), "may need a restart") {
		t.Errorf("not in force: %v", err)
	}
	s.sa.sl[0x8010] = 3
	if err := place.Verify(ctx, first); err != nil {
		t.Error(err)
	}
	// Change the service level, add a port and remove one; then roll back.
	if err := place.Place(ctx, second, first, false); err != nil {
		t.Fatal(err)
	}
	if p := s.Partitions["0x10"]; p.SL != 4 || len(p.Members) != 2 {
		t.Errorf("partition is %+v", p)
	}
	if err := place.Place(ctx, first, second, false); err != nil {
		t.Fatal(err)
	}
	if p := s.Partitions["0x10"]; p.SL != 3 || len(p.Members) != 2 {
		t.Errorf("back again, partition is %+v", p)
	}
	// Another writer sets a service level meanwhile.
	s.With(func() { s.Partitions["0x10"].SL = 9 })
	if err := place.Place(ctx, second, first, false); err == nil || !strings.Contains(err.Error(), "has service level 9, we set 3 and want 4") {
		t.Errorf("a second writer: %v", err)
	}
	if err := place.Check(ctx, second, first); err == nil || !strings.Contains(err.Error(), "has service level 9, we set 3 and want 4") {
		t.Errorf("a second writer, before any device is written: %v", err)
	}
	accepting := *place.(*byUFM)
	accepting.force = true
	if err := errors.Join(accepting.Check(ctx, second, first), accepting.Place(ctx, second, first, false)); err != nil || s.Partitions["0x10"].SL != 4 {
		t.Errorf("accepted: %v, partition is %+v", err, s.Partitions["0x10"])
	}
	// A host of the plan before has left the fabric.
	gone := s.plan(0x8010, 4, 1, 2)
	gone.Placements = append(gone.Placements, policy.Placement{Tenant: "red", PKey: 0x8010, Port: ident.PortID{Node: 0xdead, Port: 1}, SL: 4})
	if err := errors.Join(place.Check(ctx, first, gone), place.Place(ctx, first, gone, false)); err != nil || s.Partitions["0x10"].SL != 3 {
		t.Errorf("after a plan with a host that left: %v, partition is %+v", err, s.Partitions["0x10"])
	}
	if err := place.Check(ctx, s.plan(0xffff, 3, 0), nil); err == nil || !strings.Contains(err.Error(), "a partition of its own") {
		t.Errorf("a tenant in the default partition: %v", err)
	}
	// A tenant with two service levels is refused before a device or UFM is touched.
	split := s.plan(0x8010, 4, 0, 1)
	split.Placements = append(split.Placements, s.plan(0x8010, 5, 2).Placements...)
	requests := len(s.Log)
	for step, err := range map[string]error{"check": place.Check(ctx, split, first), "place": place.Place(ctx, split, first, false)} {
		const why = "partition 0x0010: tenant red needs SL 4 on some ports and SL 5 on others, and UFM has one service level for a partition: " +
			"free SLs, or give each part a tenant and a partition of its own"
		if err == nil || err.Error() != why || len(s.Log) > requests {
			t.Errorf("%s of a tenant with two service levels: %v, requests %v", step, err, s.Log[requests:])
		}
	}
}

func TestInvalidSubnetManagerFilesAreRejected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, say string }{
		"no such code":   {"opensm: {options: /a, partitions: /b, unit: o.service, accept: [sl-droppd]}", "sl-droppd"},
		"no options":     {"opensm: {options: nosuch.conf, partitions: /b, unit: o.service}", "nosuch.conf: no such file or directory: want the file that OpenSM is given with -F"},
		"no token":       {"ufm: {url: 'https://ufm.example', token_file: none}", "none"},
		"no authorities": {"ufm: {url: 'https://ufm.example', token_file: token, ca_file: token}", "found no certificate"},
		"plain text":     {"ufm: {url: 'http://ufm.example', token_file: token}", "for this machine only"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "token"), []byte("a-token\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadManagers([]string{"lab=" + path}); err == nil || !strings.Contains(err.Error(), c.say) || strings.Contains(err.Error(), "a-token") {
			t.Errorf("%s: error is %v, want it to say %q", name, err, c.say)
		}
	}
	if _, err := ReadManagers([]string{"lab=" + filepath.Join(dir, "absent")}); err == nil {
		t.Error("a file that is not there is taken")
	}
}
