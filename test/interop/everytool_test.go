package interop

import (
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibmad"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/ibsim/ibsimtest"
	"fairlane/subnet/ident"
	"fairlane/subnet/topofile"
	"fairlane/subnet/topogen"
)

// Runs every query of the field's tools on fabrics of realistic size that OpenSM routed with two engines. The tools,
// Fairlane's discovery and the model must agree, and ibccquery must show what Fairlane writes to each adapter.
func TestEveryToolOnFabricsOfSize(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func() (*subnet.Fabric, error){
		"256 hosts on 24 switches": func() (*subnet.Fabric, error) {
			return topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 16, HostsPerLeaf: 16, Spines: 8})
		},
		"1728 hosts on 216 switches": func() (*subnet.Fabric, error) {
			return topogen.ThreeTier(topogen.ThreeTierOptions{Pods: 12, ToRs: 12, HostsPerToR: 12, Aggs: 3, Cores: 36})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topo, err := build()
			if err != nil {
				t.Fatal(err)
			}
			routes := map[string]uint64{}
			for _, engine := range []string{"minhop", "ftree"} {
				t.Run(engine, func(t *testing.T) { routes[engine] = everyTool(t, topo, engine) })
			}
			if routes["minhop"] == routes["ftree"] {
				t.Error("both engines made the same routes: one of them did not work")
			}
		})
	}
}

// atScale is a fabric that OpenSM configured with one routing engine.
type atScale struct {
	*lab
	engine string
	found  *subnet.Fabric // result of Fairlane's discovery
	at     string         // host that runs the tools
	watch  time.Time
}

// everyTool runs the queries on a cold fabric and returns a digest of the routes.
func everyTool(t *testing.T, topo *subnet.Fabric, engine string) uint64 {
	hosts := topo.Hosts()
	a := &atScale{
		lab:    newLab(t, topo, fabric.Config{}, simdev.Options{SMMode: simdev.Cold, TimeScale: 1e-3}),
		engine: engine, at: topo.Nodes[hosts[len(hosts)-1]].Name, watch: time.Now(),
	}
	s := a.startOpenSM(topo.Nodes[hosts[0]].Name, "transaction_timeout 2000\nrouting_engine "+engine+"\n")
	a.lap("OpenSM")
	noErrors(t, s)
	if want := engine + " tables configured on all switches"; s.Count(want) == 0 {
		t.Errorf("opensm's log does not say %q", want)
	}
	client, err := ibsim.Dial(t.Context(), a.server.Addr(), ibsim.Options{NodeID: a.at, InFlight: 256})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }() // the fabric ends with the test
	a.discovered(client)
	digest := a.routes()
	a.ibnetdiscover()
	a.iblinkinfo()
	a.queries(s)
	a.paths()
	a.traffic()
	a.ibccconfig()
	a.pushed(client)
	return digest
}

// lap logs the duration of a step.
func (a *atScale) lap(what string) {
	now := time.Now()
	a.t.Logf("%d nodes, %s: %s %s", len(a.topo.Nodes), a.engine, what, now.Sub(a.watch).Round(time.Millisecond))
	a.watch = now
}

// discovered sweeps the fabric and compares it with the model, including forwarding tables.
func (a *atScale) discovered(c *ibsim.Client) {
	t := a.t
	t.Helper()
	r, err := discover.Sweep(t.Context(), c, discover.Options{Parallel: 256})
	if err != nil {
		t.Fatal(err)
	}
	a.lap(fmt.Sprintf("our discovery, %d requests,", r.MADs))
	if len(r.Warnings) > 0 {
		t.Errorf("%d warnings, the first: %s", len(r.Warnings), r.Warnings[0])
	}
	sameFabric(t, a.topo, r.Fabric)
	a.found = r.Fabric
	wrong := 0
	a.dev.With(func(n *fabric.Network) {
		for _, sw := range a.topo.Switches() {
			at, _ := a.found.NodeByGUID(a.topo.Nodes[sw].GUID)
			for lid, port := range a.found.LFTs[at] {
				if n.LFTBlock(sw, lid/64)[lid%64] != port {
					wrong++
				}
			}
		}
	})
	if wrong > 0 {
		t.Errorf("%d entries of forwarding tables are not those of the network", wrong)
	}
}

// routes follows a path from every leaf to every host, which must be a shortest path, and digests the tables.
func (a *atScale) routes() uint64 {
	t := a.t
	t.Helper()
	best, err := subnet.ComputeMinHopRoutes(a.found)
	if err != nil {
		t.Fatal(err)
	}
	shortest, err := a.found.WithLFTs(best)
	if err != nil {
		t.Fatal(err)
	}
	h := fnv.New64a()
	for _, sw := range a.found.Switches() {
		for _, p := range a.found.LFTs[sw] {
			_, _ = h.Write([]byte{byte(p)})
		}
	}
	longer, seen := 0, map[int32]bool{}
	var way, want []subnet.PortRef
	for _, src := range a.found.Hosts() {
		leaf, _ := a.found.Peer(subnet.PortRef{Node: src, Port: 1})
		if seen[leaf.Node] {
			continue
		}
		seen[leaf.Node] = true
		for _, dst := range a.found.Hosts() {
			lid := a.found.Nodes[dst].Ports[1].LID
			from := subnet.PortRef{Node: src, Port: 1}
			if way, err = subnet.AppendPath(way[:0], a.found, from, lid); err != nil {
				t.Fatal(err)
			}
			if want, err = subnet.AppendPath(want[:0], shortest, from, lid); err != nil {
				t.Fatal(err)
			}
			if len(way) != len(want) {
				longer++
			}
		}
	}
	if longer > 0 {
		t.Errorf("%d paths are not shortest ones", longer)
	}
	a.lap("following routes")
	return h.Sum64()
}

func (a *atScale) ibnetdiscover() {
	a.t.Helper()
	got, err := topofile.ReadIbnetdiscover("ibnetdiscover", strings.NewReader(a.run(a.at, "ibnetdiscover")))
	if err != nil {
		a.t.Fatal(err)
	}
	a.lap("ibnetdiscover")
	sameFabric(a.t, a.topo, got)
	for i := range a.found.Nodes {
		n := &a.found.Nodes[i]
		at, ok := got.NodeByGUID(n.GUID)
		if !ok {
			continue
		}
		for p := range n.Ports {
			if g := got.Nodes[at].Ports[p]; g.LID != n.Ports[p].LID {
				a.t.Fatalf("%s: ibnetdiscover says LID %d, our discovery %d",
					a.found.PortName(subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}), g.LID, n.Ports[p].LID)
			}
		}
	}
}

// linkLine matches a link in the output of iblinkinfo: LID and port of both ends, with width, speed and state between
// them.
var linkLine = regexp.MustCompile(`(?m)^0x\w+ "[^"]*" +(\d+) +(\d+)\[..\] ==\( *(\d+)X +([0-9.]+) Gbps +Active/ +LinkUp\)==> +0x\w+ +(\d+) +(\d+)\[..\] `)

// iblinkinfo compares every line of iblinkinfo with a link of the model.
func (a *atScale) iblinkinfo() {
	t := a.t
	t.Helper()
	lines := linkLine.FindAllStringSubmatch(a.run(a.at, "iblinkinfo", "-l"), -1)
	a.lap("iblinkinfo")
	end := func(lid, port string) subnet.PortRef {
		p, ok := a.found.PortByLID(ident.LID(number(t, lid)))
		if !ok {
			t.Fatalf("iblinkinfo shows LID %s, which no port has", lid)
		}
		return subnet.PortRef{Node: p.Node, Port: ident.PortNum(number(t, port))}
	}
	seen := map[subnet.PortRef]bool{}
	for _, m := range lines {
		from, to := end(m[1], m[2]), end(m[5], m[6])
		if peer, ok := a.found.Peer(from); !ok || peer != to {
			t.Errorf("iblinkinfo joins %s to %s", a.found.PortName(from), a.found.PortName(to))
			continue
		}
		if l, _ := a.found.Link(from); fmt.Sprint(int(l.Width)) != m[3] || l.Speed == subnet.EDR && m[4] != "25.78125" {
			t.Errorf("iblinkinfo says %sX %s at %s, want %s", m[3], m[4], a.found.PortName(from), subnet.FormatWidthSpeed(l.Width, l.Speed))
		}
		seen[from] = true
	}
	if len(seen) != 2*len(a.found.Links) {
		t.Errorf("iblinkinfo shows %d ends of links, want %d", len(seen), 2*len(a.found.Links))
	}
}

// some selects n entries of a list, evenly spaced, including the first and the last.
func some[T any](list []T, n int) (out []T) {
	for i := range n {
		out = append(out, list[i*(len(list)-1)/(n-1)])
	}
	return out
}

// queries requests single attributes, and the subnet manager.
func (a *atScale) queries(s *ibsimtest.SM) {
	t := a.t
	t.Helper()
	top := a.found.TopLID()
	for _, sw := range some(a.topo.Switches(), 3) {
		n, lid := &a.topo.Nodes[sw], a.lid(sw)
		wantMatch(t, a.run(a.at, "smpquery", "nodeinfo", lid), `NodeType:\.+Switch$`, fmt.Sprintf(`^Guid:\.+0x%016x$`, uint64(n.GUID)), fmt.Sprintf(`NumPorts:\.+%d$`, len(n.Ports)-1))
		wantMatch(t, a.run(a.at, "smpquery", "nodedesc", lid), `Node Description:\.+`+regexp.QuoteMeta(n.Name)+`$`)
		wantMatch(t, a.run(a.at, "smpquery", "switchinfo", lid), fmt.Sprintf(`LinearFdbTop:\.+%d$`, top))
		wantMatch(t, a.run(a.at, "smpquery", "portinfo", lid, "1"), `LinkState:\.+Active$`, `PhysLinkState:\.+LinkUp$`)
	}
	sm := a.lid(a.topo.Hosts()[0])
	for _, h := range some(a.topo.Hosts(), 4) {
		n, lid := &a.topo.Nodes[h], a.lid(h)
		wantMatch(t, a.run(a.at, "smpquery", "nodeinfo", lid), `NodeType:\.+Channel Adapter$`, fmt.Sprintf(`PortGuid:\.+0x%016x$`, uint64(n.Ports[1].GUID)))
		wantMatch(t, a.run(a.at, "smpquery", "portinfo", lid, "1"), `^Lid:\.+`+lid+`$`, `SMLid:\.+`+sm+`$`, `LinkState:\.+Active$`)
		wantMatch(t, a.run(a.at, "smpquery", "pkeys", lid), `0: 0xffff 0x0000`)
	}
	wantMatch(t, a.run(a.at, "smpquery", "nodeinfo", "-D", "0,1"), `NodeType:\.+Switch$`)
	guid := a.topo.Nodes[a.topo.Hosts()[0]].Ports[1].GUID
	wantMatch(t, a.run(a.at, "sminfo"), fmt.Sprintf(`sm lid %s sm guid 0x%x, activity count \d+ priority 0 state 3 SMINFO_MASTER`, sm, uint64(guid)))
	noErrors(t, s)
	a.lap("smpquery and sminfo")
}

// traced matches a port through which ibtracert's path leaves a node.
var traced = regexp.MustCompile(`(?m)^\[(\d+)\]`)

// paths queries the subnet manager for paths between pairs of hosts, and traces some with ibtracert.
func (a *atScale) paths() {
	t := a.t
	t.Helper()
	hosts := some(a.topo.Hosts(), 7)
	for i, src := range hosts {
		dst := hosts[(i+3)%len(hosts)]
		slid, dlid := a.lid(src), a.lid(dst)
		wantMatch(t, a.run(a.at, "saquery", "PR", "--src-to-dst", slid+":"+dlid),
			`dlid\.+`+dlid+`$`, `slid\.+`+slid+`$`, `mtu\.+0x85$`, `rate\.+0x90$`, `pkey\.+0xFFFF$`)
		if i > 2 {
			continue
		}
		from, _ := a.found.NodeByGUID(a.topo.Nodes[src].GUID)
		way, err := subnet.Path(a.found, subnet.PortRef{Node: from, Port: 1}, ident.LID(number(t, dlid)))
		if err != nil {
			t.Fatal(err)
		}
		out := a.run(a.at, "ibtracert", "-n", slid, dlid)
		var want, got []string
		for _, p := range way {
			want = append(want, fmt.Sprint(p.Port))
		}
		for _, m := range traced.FindAllStringSubmatch(out, -1) {
			got = append(got, m[1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("path from LID %s to %s, Fairlane's and ibtracert's:\n%s\n%s", slid, dlid, diff, out)
		}
	}
	a.lap("saquery PR and ibtracert")
}

// traffic sends between distant hosts and compares perfquery's counters of a leaf with the packets sent.
func (a *atScale) traffic() {
	t := a.t
	t.Helper()
	hosts := a.topo.Hosts()
	src, dst := hosts[1], hosts[len(hosts)/2]
	a.send(src, dst, 0)
	leaf, _ := a.topo.Peer(subnet.PortRef{Node: dst, Port: 1})
	truth := a.counters(leaf.Node, leaf.Port)
	if truth.XmitPkts < 100 {
		t.Fatalf("only %d packets arrived", truth.XmitPkts)
	}
	for _, extended := range [][]string{{"-x"}, {}} {
		wantMatch(t, a.run(a.at, "perfquery", append(extended, a.lid(leaf.Node), fmt.Sprint(leaf.Port))...),
			fmt.Sprintf(`PortXmitData:\.+%d$`, truth.XmitBytes/4), fmt.Sprintf(`PortXmitPkts:\.+%d$`, truth.XmitPkts))
	}
	a.lap("perfquery")
}

// ibccconfig writes some devices with the tool, and checks them in the network and with ibccquery.
func (a *atScale) ibccconfig() {
	t := a.t
	t.Helper()
	for i, h := range some(a.topo.Hosts(), 3) {
		lid, timer := a.lid(h), uint16(150+i)
		a.run(a.at, "ibccconfig", "CACongestionSetting", lid, "1", "0xffff", fmt.Sprint(timer), "2", "9", "1")
		a.run(a.at, "ibccconfig", "CongestionControlTable", lid, "3", "0", "0:0", "1:2", "2:3", "3:16383")
		got := a.adapter(lid)
		want := ibcc.SLParams{Timer: timer, Increase: 2, Trigger: 9, Min: 1}
		a.dev.With(func(n *fabric.Network) {
			if perSL, p := n.CAParams(h, 1); !perSL || p != got.SLs || p[15] != want || n.CCTILimit(h, 1) != 3 || got.Limit != 3 {
				t.Errorf("LID %s: the network has %+v, ibccquery says %+v", lid, p, got)
			}
		})
	}
	for i, sw := range some(a.topo.Switches(), 3) {
		lid, rate := a.lid(sw), uint16(100+i)
		a.run(a.at, "ibccconfig", "SwitchCongestionSetting", lid, "0x1F", "0x6", "0", "12", "8", "0", "0:0", fmt.Sprint(rate))
		wantMatch(t, a.run(a.at, "ibccquery", "SwitchCongestionSetting", lid), `Threshold:\.+0x0c$`, fmt.Sprintf(`Marking_Rate:\.+%d$`, rate))
		a.dev.With(func(n *fabric.Network) {
			if got := n.SwitchCC(sw); got.MarkingRate != rate || got.Threshold != 12 {
				t.Errorf("switch with LID %s: the network has %+v", lid, got)
			}
		})
	}
	a.lap("ibccconfig and ibccquery")
}

// adapter returns ibccquery's output for an adapter's port.
func (l *lab) adapter(lid string, options ...string) (got ibcc.CASettings) {
	t := l.t
	t.Helper()
	sl := -1
	for _, x := range dump(l.run("", "ibccquery", append(options, "CACongestionSetting", lid)...)) {
		switch v := x.value; x.name {
		case "Port_Control":
			got.PerSL = number(t, v)&1 != 0
		case "SL":
			sl = int(number(t, v))
		case "CCTI_Timer":
			got.SLs[sl].Timer = uint16(number(t, v))
		case "CCTI_Increase":
			got.SLs[sl].Increase = uint8(number(t, v))
		case "Trigger_Threshold":
			got.SLs[sl].Trigger = uint8(number(t, v))
		case "CCTI_Min":
			got.SLs[sl].Min = uint8(number(t, v))
		}
	}
	for _, x := range dump(l.run("", "ibccquery", append(options, "CongestionControlTable", lid)...)) {
		switch v := x.value; x.name {
		case "CCTI_Limit":
			got.Limit = uint16(number(t, v))
		case "Entry":
			got.Table = append(got.Table, ibcc.Entry{})
		case "CCT_Shift":
			got.Table[len(got.Table)-1].Shift = uint8(number(t, v))
		case "CCT_Multiplier":
			got.Table[len(got.Table)-1].Multiplier = uint16(number(t, v))
		}
	}
	return got
}

// pushed writes unique settings to every adapter, reads all of them, and compares some with ibccquery.
func (a *atScale) pushed(c *ibsim.Client) {
	t := a.t
	t.Helper()
	d, err := ibmad.New(c, ibmad.Options{InFlight: 256})
	if err != nil {
		t.Fatal(err)
	}
	hosts := a.found.Hosts()
	wants := make([]ibcc.CASettings, len(hosts))
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(64)
	for i, h := range hosts {
		wants[i] = settingsOf(i)
		g.Go(func() error { return pushOne(ctx, d, a.found, h, wants[i]) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	a.lap(fmt.Sprintf("our push to %d adapters, read back,", len(hosts)))
	for i, h := range hosts {
		if i%(len(hosts)/6) != 0 {
			continue
		}
		if diff := cmp.Diff(wants[i], a.adapter(strconv.Itoa(int(a.found.Nodes[h].Ports[1].LID)))); diff != "" {
			t.Errorf("%s, ours and ibccquery's:\n%s", a.found.Nodes[h].Name, diff)
		}
	}
	a.lap("ibccquery of samples")
}

// settingsOf returns settings that are unique to an adapter.
func settingsOf(i int) ibcc.CASettings {
	s := ibcc.CASettings{PerSL: i%2 == 0, Limit: 127, Table: make([]ibcc.Entry, 128)}
	for e := range s.Table {
		s.Table[e] = ibcc.Entry{Shift: uint8(i % 4), Multiplier: uint16(e * (i%100 + 1))}
	}
	for sl := range s.SLs {
		s.SLs[sl] = ibcc.SLParams{Timer: uint16(1000 + i), Increase: uint8(sl + 1), Trigger: uint8(i), Min: uint8(sl)}
	}
	return s
}

// pushOne writes a host's port and reads it back.
func pushOne(ctx context.Context, d *ibmad.Driver, f *subnet.Fabric, h int32, want ibcc.CASettings) error {
	at := subnet.PortRef{Node: h, Port: 1}
	v := driver.Device{Plane: "ib", ID: f.PortID(at), Name: f.PortName(at), Kind: subnet.KindCA, LID: f.Nodes[h].Ports[1].LID}
	if _, err := d.Apply(ctx, v, driver.Settings{CA: &want}); err != nil {
		return fmt.Errorf("write %s: %w", v.Name, err)
	}
	got, err := d.Read(ctx, v)
	if err != nil {
		return fmt.Errorf("read %s: %w", v.Name, err)
	}
	if diff := (driver.Settings{CA: &want}).Diff(got); len(diff) > 0 {
		return fmt.Errorf("%s: %d settings differ, the first: %v", v.Name, len(diff), diff[0])
	}
	return nil
}
