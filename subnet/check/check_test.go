package check_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/check"
	"fairlane/subnet/ident"
	"fairlane/subnet/subnettest"
	"fairlane/subnet/topogen"
)

// bed is a fault-free fabric with complete details: four leaves with three hosts each, two spines.
type bed struct {
	nodes []subnet.Node
	links []subnet.Link
	lfts  [][]ident.PortNum
	x     check.Extra
	base  *subnet.Fabric
}

func newBed(t testing.TB) *bed {
	t.Helper()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 4, HostsPerLeaf: 3, Spines: 2})
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{nodes: f.Nodes, links: f.Links, lfts: f.LFTs, base: f}
	b.x.Details = details(f)
	return b
}

// details returns the details of healthy devices: 4x up to EDR, eight lanes, SL n on lane n mod 8, equal weights.
func details(f *subnet.Fabric) *subnet.Details {
	d := &subnet.Details{Nodes: make([]subnet.NodeDetails, len(f.Nodes)), SM: 1}
	sm := f.Nodes[f.Hosts()[0]].Ports[1].LID
	for i := range f.Nodes {
		n := &f.Nodes[i]
		at := &d.Nodes[i]
		at.CC, at.CCTables, at.Ports = subnet.Answered, 2, make([]subnet.PortDetails, len(n.Ports))
		for p := range at.Ports {
			if p == 0 && n.Kind != subnet.KindSwitch {
				continue
			}
			q := &at.Ports[p]
			*q = subnet.PortDetails{
				Info: subnet.Answered, Phys: 5, Width: 4, Speed: subnet.EDR,
				WidthsSupported: 3, WidthsEnabled: 3,
				SpeedsSupported: subnet.SpeedsFromCodes(7, 3), SpeedsEnabled: subnet.SpeedsFromCodes(7, 3),
				MTUCap: 4096, OperVLs: 8, SMLID: sm,
				Arb: subnet.Answered, Keys: subnet.Answered, PKeys: []ident.PKey{ident.DefaultPKey},
			}
			for vl := range ident.VL(8) {
				q.ArbLow = append(q.ArbLow, subnet.VLShare{VL: vl, Weight: 64})
			}
			entries := 1
			if n.Kind == subnet.KindSwitch {
				entries = len(n.Ports)
			}
			for range entries {
				l := subnet.SLToVL{Read: subnet.Answered}
				for sl := range l.VL {
					l.VL[sl] = ident.VL(sl % 8)
				}
				q.Lanes = append(q.Lanes, l)
			}
		}
	}
	return d
}

func (b *bed) report(t testing.TB) *check.Report {
	t.Helper()
	f, err := subnet.New("bed", b.nodes, b.links)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = f.WithLFTs(b.lfts); err != nil {
		t.Fatal(err)
	}
	return check.Check(f, b.x)
}

func (b *bed) node(name string) int32 { return b.base.NodesByName(name)[0] }

func (b *bed) at(name string, p ident.PortNum) *subnet.PortDetails {
	return &b.x.Details.Nodes[b.node(name)].Ports[p]
}

func (b *bed) lid(name string) ident.LID {
	n := b.node(name)
	if b.nodes[n].Kind == subnet.KindSwitch {
		return b.nodes[n].Ports[0].LID
	}
	return b.nodes[n].Ports[1].LID
}

// tenants makes two tenants use SLs 1 and 2 on the first two hosts.
func (b *bed) tenants() {
	for _, h := range []string{"host-001", "host-005"} {
		for i, name := range []string{"ml", "web"} {
			b.x.Uses = append(b.x.Uses, check.Use{Tenant: name, PKey: ident.PKey(i + 1), Port: subnet.PortRef{Node: b.node(h), Port: 1}, SL: ident.SL(i + 1), HasSL: true})
			b.at(h, 1).PKeys = append(b.at(h, 1).PKeys, 0x8000|ident.PKey(i+1))
		}
	}
}

func TestFaultFreeFabricHasNoFindings(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.tenants()
	r := b.report(t)
	if len(r.Findings) > 0 {
		t.Errorf("findings %+v: want none", r.Findings)
	}
	want := map[check.Group]int{check.GroupSweep: 18, check.GroupLinks: 20, check.GroupAddresses: 18, check.GroupRoutes: 12 * 11,
		check.GroupLoops: 16, check.GroupLanes: 40, check.GroupCC: 18, check.GroupKeys: 18, check.GroupDevices: 18}
	for _, g := range r.Checked {
		if g.Of != want[g.Group] || g.Bad != 0 || g.Unread != 0 || g.Skipped != "" {
			t.Errorf("%s: %d of %d bad, %d unread, skipped %q: want %d, all good", g.Group, g.Bad, g.Of, g.Unread, g.Skipped, want[g.Group])
		}
	}
}

func TestUnreadTablesDoNotCountAsPassed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.x.Details, b.lfts = nil, nil
	r := b.report(t)
	skipped := map[check.Group]bool{}
	for _, g := range r.Checked {
		skipped[g.Group] = g.Skipped != ""
		if g.Skipped != "" && g.Of != 0 {
			t.Errorf("%s was skipped and counts %d", g.Group, g.Of)
		}
	}
	for _, g := range []check.Group{check.GroupRoutes, check.GroupLoops, check.GroupLanes, check.GroupCC, check.GroupKeys} {
		if !skipped[g] {
			t.Errorf("%s is not reported as skipped", g)
		}
	}
	b = newBed(t)
	b.x.Details.Nodes[0].Ports[1].Info = subnet.Silent
	r = b.report(t)
	if g := r.Checked[1]; g.Group != check.GroupLinks || g.Unread != 1 {
		t.Errorf("links: %+v: want one unread", g)
	}
}

func TestFaultyFabrics(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		corrupt  func(b *bed)
		code     check.Code
		sev      check.Severity
		wantText string
		also     []check.Code
	}{
		{"a cable with one working lane", func(b *bed) {
			b.at("leaf1", 4).Width, b.at("spine1", 1).Width = 1, 1
		}, check.CodeLinkNarrow, check.Warning, "leaf1/P4 - spine1/P1 runs at 1x; both ends can do 4x", nil},
		{"a cable that is too slow", func(b *bed) {
			b.at("leaf1", 4).Speed, b.at("spine1", 1).Speed = subnet.FDR, subnet.FDR
		}, check.CodeLinkSlow, check.Warning, "runs at FDR; both ends can do EDR", nil},
		{"a port whose speed was limited", func(b *bed) {
			b.at("leaf1", 4).Speed, b.at("spine1", 1).Speed = subnet.QDR, subnet.QDR
			b.at("spine1", 1).SpeedsEnabled = subnet.SpeedsFromCodes(7, 0)
		}, check.CodeLinkLimited, check.Warning, "runs at QDR because spine1/P1 is enabled at QDR", nil},
		{"ends that disagree on the width", func(b *bed) { b.at("leaf1", 4).Width = 1 },
			check.CodeLinkDiffers, check.Error, "leaf1/P4 runs at 1xEDR and the other end, spine1/P1, at 4xEDR", nil},
		{"a link that no subnet manager made active", func(b *bed) {
			b.nodes[b.node("host-002")].Ports[1].State = subnet.PortInit
			b.nodes[b.node("leaf1")].Ports[2].State = subnet.PortInit
		}, check.CodeLinkInactive, check.Error, "stays in state init", nil},
		{"a link that is up at one end", func(b *bed) { b.nodes[b.node("host-002")].Ports[1].State = subnet.PortArmed },
			check.CodeLinkHalfUp, check.Error, "leaf1/P2 is active and the other end, host-002/P1, is armed", nil},
		{"a link whose ends have different MTUs", func(b *bed) { b.nodes[b.node("host-002")].Ports[1].MTU = 2048 },
			check.CodeMTUDiffers, check.Error, "of up to 2048", nil},
		{"a link whose ends have different numbers of lanes", func(b *bed) { b.at("host-002", 1).OperVLs = 4 },
			check.CodeVLsDiffer, check.Error, "leaf1/P2 has 8 data lanes in operation and the other end, host-002/P1, has 4", []check.Code{check.CodeVLNotOperating}},
		{"routes in a loop", func(b *bed) {
			lid := b.lid("host-001")
			b.lfts[b.node("leaf2")][lid], b.lfts[b.node("spine1")][lid] = 4, 2
		}, check.CodeLFTLoop, check.Error, "packets to 1 LID, the first %LID, loop: leaf2, spine1, and leaf2 again", []check.Code{check.CodeUnreachable}},
		{"a route to an empty port", func(b *bed) {
			leaf := b.node("leaf2")
			b.nodes[leaf].Ports = append(b.nodes[leaf].Ports, subnet.Port{Link: -1, State: subnet.PortDown})
			b.x.Details.Nodes[leaf].Ports = append(b.x.Details.Nodes[leaf].Ports, subnet.PortDetails{})
			for p := range b.x.Details.Nodes[leaf].Ports {
				q := &b.x.Details.Nodes[leaf].Ports[p]
				q.Lanes = append(q.Lanes, subnet.SLToVL{Read: subnet.Answered})
			}
			b.lfts[leaf][b.lid("host-001")] = 6
		}, check.CodeLFTDeadEnd, check.Error, "to port 6, which has no link", []check.Code{check.CodeUnreachable}},
		{"a route to another host", func(b *bed) { b.lfts[b.node("leaf1")][b.lid("host-001")] = 2 },
			check.CodeLFTDeadEnd, check.Error, "to port 2, which leads to host-002/P1, which has another LID", []check.Code{check.CodeUnreachable}},
		{"a route that is missing", func(b *bed) { b.lfts[b.node("leaf2")][b.lid("host-001")] = ident.DropPort },
			check.CodeUnreachable, check.Error, "3 of 132 pairs have no path: 3 are dropped without a route; for example host-004/P1 to host-001/P1 (LID %LID)", nil},
		{"a switch without a table", func(b *bed) { b.lfts[b.node("leaf2")] = nil },
			check.CodeLFTMissing, check.Error, "1 switch on paths between hosts without a forwarding table: leaf2", []check.Code{check.CodeUnreachable, check.CodeSwitchUnreachable}},
		{"a tenant's SL that a port drops", func(b *bed) {
			b.tenants()
			for in := range b.at("spine1", 2).Lanes {
				b.at("spine1", 2).Lanes[in].VL[2] = 15
			}
		}, check.CodeSLDropped, check.Error, "SL 2 (web) is dropped (lane 15) at 1 port: spine1/P2", nil},
		{"a tenant's lane that is not in operation", func(b *bed) {
			b.tenants()
			b.at("host-001", 1).Lanes[0].VL[1] = 9
		}, check.CodeVLNotOperating, check.Error, "SL 1 (ml) is mapped to lane 9, which is not in operation, at 1 port: host-001/P1", nil},
		{"two tenants on one lane", func(b *bed) {
			b.tenants()
			for in := range b.at("leaf1", 4).Lanes {
				b.at("leaf1", 4).Lanes[in].VL[2] = 1
			}
		}, check.CodeSLFolded, check.Info, "SL 1 (ml) and SL 2 (web) share lane 1 at 1 port: leaf1/P4", nil},
		{"a lane without a weight", func(b *bed) {
			b.tenants()
			b.at("host-005", 1).ArbLow[2].Weight = 0
		}, check.CodeVLNoWeight, check.Error, "lane 2 carries packets but has no weight at 1 port: host-005/P1", nil},
		{"a lane that never gets a turn", func(b *bed) {
			b.tenants()
			q := b.at("host-005", 1)
			q.ArbHigh, q.HighLimit = []subnet.VLShare{{VL: 0, Weight: 1}, {VL: 1, Weight: 1}}, 255
		}, check.CodeVLStarved, check.Warning, "lane 2 may wait indefinitely while high-priority lanes have packets to send", nil},
		{"a switch without congestion control", func(b *bed) { b.tenants(); b.x.Details.Nodes[b.node("spine2")].CC = subnet.Refused },
			check.CodeNoCC, check.Error, "1 switch without congestion-control support, so no packets are marked there: spine2", nil},
		{"an adapter without a table", func(b *bed) { b.x.Details.Nodes[b.node("host-003")].CCTables = 0 },
			check.CodeNoCC, check.Warning, "1 channel adapter without congestion-control support, so no flow slows down there: host-003", nil},
		{"an unknown CC_Key", func(b *bed) { b.x.Details.Nodes[b.node("host-003")].CC = subnet.Silent },
			check.CodeCCSilent, check.Warning, "1 channel adapter without an answer to congestion-control requests: host-003", nil},
		{"a tenant outside its partition", func(b *bed) { b.tenants(); b.at("host-005", 1).PKeys = []ident.PKey{0xffff, 0x8001} },
			check.CodeKeyMissing, check.Error, "1 port of tenant web not in its partition 0x0002: host-005/P1", nil},
		{"a tenant of limited members", func(b *bed) {
			b.tenants()
			b.at("host-001", 1).PKeys, b.at("host-005", 1).PKeys = []ident.PKey{0xffff, 0x8001, 2}, []ident.PKey{0xffff, 0x8001, 2}
		}, check.CodeKeysLimited, check.Error, "all 2 ports of tenant web are limited members of partition 0x0002", nil},
		{"a host outside the default partition", func(b *bed) { b.at("host-005", 1).PKeys = []ident.PKey{0x8001} },
			check.CodeManagementKey, check.Error, "1 port not in the default partition: host-005/P1", nil},
		{"a port without a LID", func(b *bed) { b.nodes[b.node("host-004")].Ports[1].LID = 0 },
			check.CodeNoLID, check.Error, "1 port without a LID: host-004/P1", []check.Code{check.CodeLFTDeadEnd}},
		{"two subnet managers", func(b *bed) { b.at("host-004", 1).SMLID = b.lid("host-002") },
			check.CodeSMsDiffer, check.Error, "the ports disagree on which subnet manager is in charge: LID 7 at 17 ports, LID 8 at 1 port", nil},
		{"a missing subnet manager", func(b *bed) {
			for i := range b.x.Details.Nodes {
				for p := range b.x.Details.Nodes[i].Ports {
					b.x.Details.Nodes[i].Ports[p].SMLID = 999
				}
			}
		}, check.CodeSMGone, check.Error, "the subnet manager has LID 999, which no port has", nil},
		{"revisions of one model", func(b *bed) {
			for i := range b.nodes {
				b.nodes[i].VendorID, b.nodes[i].DeviceID, b.nodes[i].Revision = 0x2c9, 4, 0xa0
			}
			b.nodes[3].Revision = 0xb0
		}, check.CodeMixedRevisions, check.Info, "devices of vendor 0x0002c9, model 4, differ: 17 of revision 0xa0, 1 of revision 0xb0", nil},
		{"two nodes of one name", func(b *bed) { b.nodes[b.node("host-004")].Name = "host-005" },
			check.CodeSameName, check.Info, `2 nodes have the name "host-005"`, nil},
		{"a port that keeps training", func(b *bed) {
			for i, l := range b.links {
				if l.A.Node == b.node("leaf1") && l.A.Port == 4 {
					b.links = slices.Delete(slices.Clone(b.links), i, i+1)
					break
				}
			}
			b.at("leaf1", 4).Phys = 4
			b.nodes[b.node("leaf1")].Ports[4].State, b.nodes[b.node("spine1")].Ports[1].State = subnet.PortDown, subnet.PortDown
		}, check.CodePortTraining, check.Warning, "leaf1/P4 neither comes up nor goes down", []check.Code{check.CodeLFTDeadEnd, check.CodeUnreachable, check.CodeSwitchUnreachable}},
		{"an MTU below what both ends can do", func(b *bed) {
			b.nodes[b.node("host-002")].Ports[1].MTU, b.nodes[b.node("leaf1")].Ports[2].MTU = 2048, 2048
		}, check.CodeMTULow, check.Info, "has an MTU of 2048 bytes; both ends can do 4096", nil},
		{"a cable that is plugged in and down", func(b *bed) {
			b.nodes[b.node("host-002")].Ports[1].State, b.nodes[b.node("leaf1")].Ports[2].State = subnet.PortDown, subnet.PortDown
		}, check.CodeLinkDown, check.Error, "leaf1/P2 - host-002/P1 is down", nil},
		{"a port that was switched off", func(b *bed) {
			leaf := b.node("leaf1")
			b.nodes[leaf].Ports = append(b.nodes[leaf].Ports, subnet.Port{Link: -1, State: subnet.PortDown})
			b.x.Details.Nodes[leaf].Ports = append(b.x.Details.Nodes[leaf].Ports, subnet.PortDetails{Info: subnet.Answered, Phys: 3})
		}, check.CodePortsDisabled, check.Info, "1 port switched off: leaf1/P6", nil},
		{"a fabric that no subnet manager has configured", func(b *bed) {
			b.lfts = nil
			for i := range b.nodes {
				for p := range b.nodes[i].Ports {
					b.nodes[i].Ports[p].LID = 0
				}
			}
		}, check.CodeNoSM, check.Error, "no port has a LID", nil},
		{"a switch whose own LID is not routed", func(b *bed) { b.lfts[b.node("leaf1")][b.lid("spine1")] = ident.DropPort },
			check.CodeSwitchUnreachable, check.Warning, "hosts cannot reach the LID of 1 switch: spine1", nil},
		{"a duplicate GUID that the sweep met", func(b *bed) {
			b.x.Notes = []check.Note{{Code: check.CodeDuplicateGUID, Node: b.nodes[0].GUID, Port: 3, Said: phrase.Verbatim("another node with that GUID")}}
		}, check.CodeDuplicateGUID, check.Error, "another node with that GUID", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			lids := strings.NewReplacer("%LID", fmt.Sprint(b.lid("host-001")))
			tt.corrupt(b)
			r := b.report(t)
			at := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.Code == tt.code })
			if at < 0 {
				t.Fatalf("findings %+v: want %s", r.Findings, tt.code)
			}
			f := r.Findings[at]
			if f.Severity != tt.sev || !strings.Contains(f.Text, lids.Replace(tt.wantText)) || f.Remedy == "" || f.Count < 1 || len(f.Ports)+len(f.Nodes) == 0 {
				t.Errorf("%+v: want %s saying %q, with places and a remedy", f, tt.sev, lids.Replace(tt.wantText))
			}
			for _, f := range r.Findings {
				if f.Code != tt.code && !slices.Contains(tt.also, f.Code) {
					t.Errorf("also %s: %s", f.Code, f.Text)
				}
			}
			if d := cmp.Diff(r, b.report(t)); d != "" {
				t.Errorf("a second run differs:\n%s", d)
			}
		})
	}
}

// TestAPortIsCountedOnce drops a tenant's SL at more ports than a finding lists, and at each of them for every port
// of entry.
func TestAPortIsCountedOnce(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 10, HostsPerLeaf: 8, Spines: 4})
	if err != nil {
		t.Fatal(err)
	}
	x := check.Extra{Details: details(f), Uses: []check.Use{{Tenant: "ml", Port: subnet.PortRef{Node: f.Hosts()[0], Port: 1}, SL: 2, HasSL: true}}}
	ports := 0
	for _, s := range f.Switches() {
		for p := 1; p < len(f.Nodes[s].Ports); p++ {
			ports++
			for in := range x.Details.Nodes[s].Ports[p].Lanes {
				x.Details.Nodes[s].Ports[p].Lanes[in].VL[2] = ident.ManagementVL
			}
		}
	}
	r := check.Check(f, x)
	if len(r.Findings) != 1 || r.Findings[0].Code != check.CodeSLDropped || r.Findings[0].Count != ports || len(r.Findings[0].Ports) != check.MaxPlaces ||
		r.Totals[r.Findings[0].Severity] != (check.Total{Findings: 1, Places: ports}) {
		t.Errorf("findings %+v: want one of %d ports", r.Findings, ports)
	}
}

// TestTenantsMayUseEverySL gives each SL a tenant, so that no SL is unused.
func TestTenantsMayUseEverySL(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for sl := range ident.SL(ident.NumSLs) {
		b.x.Uses = append(b.x.Uses, check.Use{Tenant: fmt.Sprint("t", sl), Port: subnet.PortRef{Node: b.node("host-001"), Port: 1}, SL: sl, HasSL: true})
	}
	b.at("host-001", 1).Lanes[0].VL[15] = 9
	r := b.report(t)
	if f := r.Findings[0]; f.Code != check.CodeVLNotOperating || f.Severity != check.Error {
		t.Errorf("%+v: want an error, as a tenant uses the SL", f)
	}
}

// TestLinkMismatchIsReportedOnce passes the checker a note of the sweep about ends that disagree.
func TestLinkMismatchIsReportedOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	note := check.Note{Code: check.CodeMismatch, Node: b.nodes[b.node("leaf1")].GUID, Port: 4, Said: phrase.Verbatim("link runs at 1xEDR here")}
	b.x.Notes = []check.Note{note}
	if r := b.report(t); len(r.Findings) != 1 || r.Findings[0].Code != check.CodeMismatch {
		t.Errorf("findings %+v: want the note, as the ends agree now", r.Findings)
	}
	b.at("leaf1", 4).Width = 1
	if r := b.report(t); len(r.Findings) != 1 || r.Findings[0].Code != check.CodeLinkDiffers {
		t.Errorf("findings %+v: want the link alone", r.Findings)
	}
}

// TestSlowLinkIsFoundByItsRateOnly checks a link of which only the rate is known.
func TestSlowLinkIsFoundByItsRateOnly(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.x.Details = nil
	b.links = slices.Clone(b.links)
	for i := range b.links {
		if b.base.PortName(b.links[i].A) == "leaf1/P4" {
			b.links[i].Width, b.links[i].Rate = 1, 0
		}
	}
	r := b.report(t)
	if len(r.Findings) != 1 || r.Findings[0].Code != check.CodeLinkUnlike || !strings.Contains(r.Findings[0].Text, "leaf1/P4 - spine1/P1 runs at 25 Gbit/s") {
		t.Errorf("findings %+v: want one of the slow link", r.Findings)
	}
}

// TestSplitFabricIsReportedOnce unplugs a leaf.
func TestSplitFabricIsReportedOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.x.Details, b.lfts = nil, nil
	leaf := b.node("leaf4")
	b.links = slices.DeleteFunc(slices.Clone(b.links), func(l subnet.Link) bool {
		return l.A.Node == leaf && b.nodes[l.B.Node].Kind == subnet.KindSwitch || l.B.Node == leaf && b.nodes[l.A.Node].Kind == subnet.KindSwitch
	})
	r := b.report(t)
	if len(r.Findings) != 1 || r.Findings[0].Code != check.CodeFabricSplit || r.Findings[0].Count != 2 ||
		!strings.Contains(r.Findings[0].Text, "the part of leaf1 (9 hosts), the part of leaf4 (3 hosts)") {
		t.Errorf("findings %+v: want the split", r.Findings)
	}
}

func TestExcessFindingsOfACodeAreCounted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for range check.MaxOfACode + 7 {
		b.x.Notes = append(b.x.Notes, check.Note{Code: check.CodeRefused, Node: b.nodes[0].GUID, Said: phrase.Verbatim("no SwitchInfo")})
	}
	b.x.Notes = append(b.x.Notes, check.Note{Code: "never heard of", Node: b.nodes[0].GUID, Said: phrase.Verbatim("odd")})
	r := b.report(t)
	last := r.Findings[len(r.Findings)-1]
	if len(r.Findings) != check.MaxOfACode+2 || last.Count != 7 || last.Folded != 7 || last.Text != "and 7 more of the same, at 7 places" {
		t.Errorf("%d findings, the last %+v: want %d and the others counted", len(r.Findings), last, check.MaxOfACode+2)
	}
	want := map[check.Severity]check.Total{check.Error: {1, 1}, check.Warning: {check.MaxOfACode + 7, check.MaxOfACode + 7}, check.Info: {}}
	if !maps.Equal(r.Totals, want) {
		t.Errorf("totals %v, want %v", r.Totals, want)
	}
	if r.Worst() != check.Error || r.Findings[0].Code != check.CodeInvalid {
		t.Errorf("worst %s, first %+v: want the unknown code as an error, first", r.Worst(), r.Findings[0])
	}
}

// TestAnyFabricIsChecked checks arbitrary fabrics, with arbitrary numbers as routes.
func TestAnyFabricIsChecked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := subnettest.Fabric(t, subnettest.Shape{})
		if f.TopLID() > 0 && rapid.Bool().Draw(t, "routed") {
			lfts := make([][]ident.PortNum, len(f.Nodes))
			for _, s := range f.Switches() {
				if rapid.IntRange(0, 9).Draw(t, "has table") == 0 {
					continue
				}
				row := make([]ident.PortNum, f.TopLID()+1)
				for i := range row {
					p := rapid.IntRange(0, len(f.Nodes[s].Ports)).Draw(t, "out")
					if row[i] = ident.PortNum(p); p == len(f.Nodes[s].Ports) {
						row[i] = ident.DropPort
					}
				}
				lfts[s] = row
			}
			var err error
			if f, err = f.WithLFTs(lfts); err != nil {
				t.Fatal(err)
			}
		}
		var x check.Extra
		if rapid.Bool().Draw(t, "details") {
			x.Details = details1(f)
		}
		r := check.Check(f, x)
		agree(t, f, r)
	})
}

// details1 is details that also accepts fabrics without hosts.
func details1(f *subnet.Fabric) *subnet.Details {
	if len(f.Hosts()) == 0 || f.Nodes[f.Hosts()[0]].Ports[1].LID == 0 {
		return nil
	}
	return details(f)
}

// agree compares the verdict on routes with the paths that package subnet computes.
func agree(t *rapid.T, f *subnet.Fabric, r *check.Report) {
	if f.LFTs == nil {
		return
	}
	sources := hostPorts(f)
	pairs, lost := 0, 0
	for _, src := range sources {
		for _, dst := range sources {
			if src == dst {
				continue
			}
			for l := f.Port(dst).LID; l < f.Port(dst).LID+1<<f.Port(dst).LMC; l++ {
				pairs++
				if _, err := subnet.Path(f, src, l); err != nil {
					lost++
				}
			}
		}
	}
	for _, g := range r.Checked {
		if g.Group == check.GroupRoutes && (g.Of != pairs || g.Bad != lost) {
			t.Fatalf("%d of %d pairs are lost: by the paths %d of %d", g.Bad, g.Of, lost, pairs)
		}
	}
}

// hostPorts returns the ports of channel adapters that have a LID and are plugged into switches.
func hostPorts(f *subnet.Fabric) []subnet.PortRef {
	var refs []subnet.PortRef
	for _, h := range f.Hosts() {
		for p := 1; p < len(f.Nodes[h].Ports); p++ {
			ref := subnet.PortRef{Node: h, Port: ident.PortNum(p)}
			if peer, ok := f.Peer(ref); ok && f.Port(ref).LID != 0 && f.Nodes[peer.Node].Kind == subnet.KindSwitch {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}
