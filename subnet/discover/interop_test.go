package discover_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/subnet"
	"fairlane/subnet/check"
	"fairlane/subnet/discover"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/ibsim/ibsimtest"
	"fairlane/subnet/ident"
	"fairlane/subnet/topofile"
	"fairlane/subnet/topogen"
)

// describe prints the facts that ibnetdiscover also prints, one per line, sorted.
func describe(f *subnet.Fabric) []string {
	var out []string
	for i := range f.Nodes {
		n := &f.Nodes[i]
		out = append(out, fmt.Sprintf("node %s %s %q system %s ports %d", n.GUID, n.Kind, n.Name, n.SystemGUID, len(n.Ports)-1))
		for p := range n.Ports {
			if port := &n.Ports[p]; port.LID != 0 {
				out = append(out, fmt.Sprintf("port %s:%d guid %s lid %d lmc %d", n.GUID, p, port.GUID, port.LID, port.LMC))
			}
		}
	}
	for i := range f.Links {
		l := &f.Links[i]
		a, b := f.PortID(l.A), f.PortID(l.B)
		if a.Compare(b) > 0 {
			a, b = b, a
		}
		out = append(out, fmt.Sprintf("link %s %s %s", a, b, subnet.FormatWidthSpeed(l.Width, l.Speed)))
	}
	slices.Sort(out)
	return out
}

func sweepIbsim(t *testing.T, srv *ibsimtest.Server, node string, o discover.Options) *discover.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := ibsim.Dial(ctx, srv.Addr(), ibsim.Options{NodeID: node})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := discover.Sweep(ctx, c, o)
	if err != nil {
		t.Fatal(err)
	}
	if st := c.Stats(); st.Malformed+st.Unsolicited > 0 || st.Late > st.Retries { // on a busy machine requests are repeated, and their second answers are late
		t.Errorf("transport statistics %+v: want only answers to requests", st)
	}
	return r
}

// compare compares our sweep with ibnetdiscover on the same ibsim.
func compare(t *testing.T, netFile, node string) *discover.Result {
	t.Helper()
	srv := ibsimtest.Start(t, netFile)
	text := srv.Tool(t, node, "ibnetdiscover")
	want, err := topofile.ReadIbnetdiscover("ibnetdiscover", strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	got := sweepIbsim(t, srv, node, discover.Options{})
	if len(got.Warnings) > 0 {
		t.Errorf("warnings %v: want none", got.Warnings)
	}
	if diff := cmp.Diff(describe(want), describe(got.Fabric)); diff != "" {
		t.Errorf("our sweep (+) differs from ibnetdiscover (-):\n%s", diff)
	}
	return got
}

func TestSweepAgreesWithIbnetdiscoverOnExampleFabrics(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"net", "net.1", "net.2sw2path", "net.2sw2path4hca", "net.2sw2path4hca2port"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(ibsimtest.NetExamples, name)
			ibsimtest.RequireFile(t, file)
			for _, node := range []string{"Hca1", "Hca2"} {
				if r := compare(t, file, node); node == "Hca1" && len(r.Fabric.Switches()) == 0 {
					t.Errorf("found %d nodes and no switch", len(r.Fabric.Nodes))
				}
			}
		})
	}
}

// netFile writes a fabric in the format of ibsim.
func netFile(t testing.TB, f *subnet.Fabric) string {
	t.Helper()
	var text bytes.Buffer
	if err := topofile.WriteIbnetdiscover(&text, f); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "fabric.net")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSweepAgreesWithIbnetdiscoverOnFatTree(t *testing.T) {
	t.Parallel()
	f, err := topogen.FatTree(topogen.FatTreeOptions{K: 8})
	if err != nil {
		t.Fatal(err)
	}
	r := compare(t, netFile(t, f), "")
	if len(r.Fabric.Nodes) != len(f.Nodes) || len(r.Fabric.Links) != len(f.Links) {
		t.Errorf("found %d nodes and %d links: want %d and %d", len(r.Fabric.Nodes), len(r.Fabric.Links), len(f.Nodes), len(f.Links))
	}
}

// TestSweepReadsTheRoutesThatOpenSMWrote compares the forwarding tables with the output of ibroute for each switch.
func TestSweepReadsTheRoutesThatOpenSMWrote(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 6, HostsPerLeaf: 12, Spines: 3})
	if err != nil {
		t.Fatal(err)
	}
	srv := ibsimtest.Start(t, netFile(t, f))
	host := f.Nodes[f.Hosts()[0]].Name
	srv.OpenSM(t, host)
	r := sweepIbsim(t, srv, host, discover.Options{})
	if len(r.Warnings) > 0 {
		t.Errorf("warnings %v: want none", r.Warnings)
	}
	routes := 0
	for _, sw := range r.Fabric.Switches() {
		n := &r.Fabric.Nodes[sw]
		text := srv.Tool(t, host, "ibroute", "-n", fmt.Sprint(n.Ports[0].LID))
		want := parseIbroute(t, text)
		got := map[int]ident.PortNum{}
		for lid, p := range r.Fabric.LFTs[sw] {
			if lid > 0 && p != ident.DropPort {
				got[lid] = p
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("routes of %s (+) differ from ibroute (-):\n%s", n.Name, diff)
		}
		routes += len(got)
	}
	if want := 9 * (9 + 72); routes != want {
		t.Errorf("%d routes: want %d, one a switch and LID", routes, want)
	}
}

// parseIbroute parses lines such as "0x0003 002".
func parseIbroute(t *testing.T, text string) map[int]ident.PortNum {
	t.Helper()
	routes := map[int]ident.PortNum{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || !strings.HasPrefix(f[0], "0x") {
			continue
		}
		lid, err1 := strconv.ParseUint(f[0], 0, 16)
		port, err2 := strconv.ParseUint(f[1], 10, 8)
		if err1 != nil || err2 != nil {
			t.Fatalf("ibroute printed %q", line)
		}
		routes[int(lid)] = ident.PortNum(port)
	}
	return routes
}

// TestTablesThatOpenSMWroteAreRead reads lanes, arbitration and partitions of a real ibsim that a real OpenSM has set up.
func TestTablesThatOpenSMWroteAreRead(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 3, HostsPerLeaf: 3, Spines: 2})
	if err != nil {
		t.Fatal(err)
	}
	srv := ibsimtest.Start(t, netFile(t, f))
	host := f.Nodes[f.Hosts()[0]].Name
	srv.OpenSM(t, host)
	r := sweepIbsim(t, srv, host, discover.Options{Tables: true})
	for i := range r.Details.Nodes {
		for p := range r.Details.Nodes[i].Ports {
			d := &r.Details.Nodes[i].Ports[p]
			if d.Keys == subnet.Answered && !slices.Contains(d.PKeys, ident.DefaultPKey) {
				t.Errorf("%s port %d has P_Keys %v: want the default one", r.Fabric.Nodes[i].Name, p, d.PKeys)
			}
			if d.Info == subnet.Answered && d.SMLID != r.Details.SM && r.Fabric.Nodes[i].Ports[p].LID != 0 {
				t.Errorf("%s port %d names the subnet manager at LID %d: want %d", r.Fabric.Nodes[i].Name, p, d.SMLID, r.Details.SM)
			}
		}
	}
	if sm, ok := r.Fabric.PortByLID(r.Details.SM); !ok || r.Fabric.Nodes[sm.Node].Name != host {
		t.Errorf("the subnet manager is at LID %d: want that of %s", r.Details.SM, host)
	}
	report := check.Check(r.Fabric, check.Extra{Details: r.Details})
	for _, x := range report.Findings {
		if x.Severity == check.Error {
			t.Errorf("an error in the fabric that OpenSM set up: %s: %s", x.Code, x.Text)
		}
	}
}
