package topofile_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/quantity"
	"fairlane/internal/testkit/zhtest"
	"fairlane/subnet"
	"fairlane/subnet/ibsim/ibsimtest"
	"fairlane/subnet/ident"
	"fairlane/subnet/topofile"
)

func readText(t *testing.T, text string) *subnet.Fabric {
	t.Helper()
	f, err := topofile.Read("test.net", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func node(t *testing.T, f *subnet.Fabric, name string) *subnet.Node {
	t.Helper()
	at := f.NodesByName(name)
	if len(at) != 1 {
		t.Fatalf("%d nodes are named %q, want 1", len(at), name)
	}
	return &f.Nodes[at[0]]
}

func TestACapturedFabricIsReadInFull(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/small-cluster.net")
	if err != nil {
		t.Fatal(err)
	}
	f, err := topofile.Read("testdata/small-cluster.net", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if f.Name != "small-cluster" || len(f.Switches()) != 3 || len(f.Hosts()) != 5 || len(f.Links) != 10 {
		t.Errorf("name %q, %d switches, %d hosts, %d links", f.Name, len(f.Switches()), len(f.Hosts()), len(f.Links))
	}
	leaf := node(t, f, "MF0;leaf-sw-1:MQM8700/U1")
	want := subnet.Node{GUID: 0x2000000005e0100, SystemGUID: 0x2000000005e0100, Kind: subnet.KindSwitch,
		Name: "MF0;leaf-sw-1:MQM8700/U1", VendorID: 0x2c9, DeviceID: 0xd2f0}
	got := *leaf
	got.Ports = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("leaf (-want +got)\n%s", diff)
	}
	if p := leaf.Ports[0]; len(leaf.Ports) != 42 || p.LID != 2 || p.GUID != 0x2000000005e0100 {
		t.Errorf("leaf: %d ports, port 0 %+v", len(leaf.Ports)-1, p)
	}
	gpu := node(t, f, "gpu-01 mlx5_0")
	if p := gpu.Ports[2]; p.GUID != 0x200000000a10002 || p.LID != 20 || p.LMC != 1 {
		t.Errorf("gpu-01 port 2: %+v", p)
	}
	if n := node(t, f, `storage "nvme" mlx5_0`); n.Ports[1].LID != 22 || n.Ports[2].Link != -1 {
		t.Errorf("storage: %+v", n.Ports)
	}
	if n := node(t, f, "ib-router"); n.Kind != subnet.KindRouter || n.SystemGUID != 0 {
		t.Errorf("router: kind %s, system GUID %s", n.Kind, n.SystemGUID)
	}
	ref, err := f.ResolvePort("storage \"nvme\" mlx5_0")
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := f.Link(ref); l.Width != 4 || l.Speed != subnet.FDR || l.Rate != 54_545_454_544*quantity.BitPerSecond {
		t.Errorf("storage's link: %s at %s", subnet.FormatWidthSpeed(l.Width, l.Speed), l.Rate)
	}
	if r, ok := f.PortByLID(21); !ok || f.PortName(r) != "gpu-01 mlx5_0/P2" {
		t.Errorf("LID 21, within the LMC, is %s", f.PortName(r))
	}
	// Except for the date, the first line of the comment and the switches' kind of port 0, our text equals that of
	// ibnetdiscover.
	if diff := cmp.Diff(significant(string(text)), significant(string(ibnetText(t, f)))); diff != "" {
		t.Errorf("(-ibnetdiscover +ours)\n%s", diff)
	}
}

func significant(text string) []string {
	text = strings.ReplaceAll(text, "enhanced port 0", "base port 0")
	lines := strings.Split(text, "\n")
	for len(lines) > 0 && lines[0] != "" {
		lines = lines[1:]
	}
	return lines
}

func TestIbsimExamplesAreRead(t *testing.T) {
	t.Parallel()
	// By file: the numbers of nodes and links, and the peer of the last host's first plugged-in port.
	for name, want := range map[string]struct {
		nodes, links int
		last, peer   string
	}{
		"net":                   {4, 4, "Hca2/P2", "Switch1/P2"},
		"net.1":                 {3, 2, "Hca2/P1", "Switch1/P4"},
		"net.2sw2path":          {4, 4, "Hca2/P1", "Switch2/P1"},
		"net.2sw2path4hca":      {6, 6, "Hca4/P1", "Switch2/P2"},
		"net.2sw2path4hca2port": {4, 6, "Hca2/P2", "Switch2/P2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(ibsimtest.NetExamples, name)
			ibsimtest.RequireFile(t, path)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := topofile.Read(name, bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Nodes) != want.nodes || len(f.Links) != want.links {
				t.Errorf("%d nodes and %d links, want %d and %d", len(f.Nodes), len(f.Links), want.nodes, want.links)
			}
			r, err := f.ResolvePort(want.last)
			if err != nil {
				t.Fatal(err)
			}
			if peer, _ := f.Peer(r); f.PortName(peer) != want.peer {
				t.Errorf("%s is plugged into %s, want %s", want.last, f.PortName(peer), want.peer)
			}
			// ibsim gives the same GUIDs, names and speeds to the fabric that it builds from the file.
			out := discoverOnIbsimAs(t, text, "Hca1")
			real, err := topofile.Read("out.net", bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			if d := subnet.Diff(f, real); !d.Empty() {
				t.Errorf("ibsim has another fabric:\n%s", d)
			}
		})
	}
}

func TestIbsimDialect(t *testing.T) {
	t.Parallel()
	const text = `# comment
width=3
devid=0x5a44
Switch 8 "S1"
# a comment between the ports
[1] "H1"   # no port: 1
[2] "H1"[2] w=1
[3]"R1"[1]
caguid=0x5000
Hca	2 "H1"  # first host lid 7 lmc 1
[1] "S1"[1]	s=1 # lid 8 lmc 1
[2] "S1"[2]
Hca 1 "H2"
caguid+0x100
Hca 1 "H3"
Rt 1 "R1"
[1] "S1"[3]
module="east"
width=2
Switch 4 "S1"
[1] "H1"[1]
@[2] "uplink"
Ca 1 "H1"
[1] "east#S1"[1]
module="west"
Ca 2 "H1"
[1] "east@uplink"
DR path slid 0; dlid 0; 0,1 -> ...
`
	f := readText(t, text)
	type brief struct {
		GUID, System, Port ident.GUID
		Device             uint16
	}
	for name, want := range map[string]brief{
		"S1":         {0x200000, 0x200000, 0x200000, 0x5a44},
		"first host": {0x5000, 0, 0, 0x5a44},
		"H2":         {0x5003, 0x5003, 0x5004, 0x5a44},
		"H3":         {0x5100, 0, 0x5101, 0x5a44},
		"R1":         {0x300000, 0x300000, 0x300001, 0x5a44},
		"east#S1":    {0x200001, 0x200001, 0x200001, 0x5a44},
		"east#H1":    {0x5102, 0x5102, 0x5103, 0x5a44},
		"west#H1":    {0x5104, 0x5104, 0x5105, 0x5a44},
	} {
		n := node(t, f, name)
		port := n.Ports[len(n.Ports)-1].GUID
		switch {
		case n.Kind == subnet.KindSwitch:
			port = n.Ports[0].GUID
		case name == "first host":
			if n.Ports[1].GUID != 0x5001 || n.Ports[1].LID != 8 || n.Ports[1].LMC != 1 {
				t.Errorf("%s port 1: %+v", name, n.Ports[1])
			}
			port = 0
		case len(n.Ports) > 1:
			port = n.Ports[1].GUID
		}
		if got := (brief{n.GUID, n.SystemGUID, port, n.DeviceID}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	var links []string
	for _, l := range f.Links {
		links = append(links, f.PortName(l.A)+" "+f.PortName(l.B)+" "+subnet.FormatWidthSpeed(l.Width, l.Speed))
	}
	want := []string{
		"S1/P1 first host/P1 4xSDR", "S1/P2 first host/P2 1xSDR", "S1/P3 R1/P1 4xSDR",
		"east#S1/P1 east#H1/P1 4xSDR", "east#S1/P2 west#H1/P1 4xSDR",
	}
	if diff := cmp.Diff(want, links); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestGroupedAndFullOutputOfIbnetdiscoverIsRead(t *testing.T) {
	t.Parallel()
	const text = `
Chassis 1 (guid 0x200000000000001)

# Spine Nodes
vendid=0x2c9
devid=0xb924
sysimgguid=0x200000000000001		# Chassis 1
switchguid=0x200000000000001(200000000000001)	# ISR9288 Spine 1
Switch	24 "S-0200000000000001"		# "spine" base port 0 lid 3 lmc 0
[4][ext 6]	"H-0200000000000010"[1][ext 2](200000000000011) 		# "host" lid 9 4xQDR s=4 w=2 v=4

vendid=0x2c9
devid=0x1003
caguid=0x200000000000010
Ca	1 "H-0200000000000010"		# "host" (scp)
[1](200000000000011) 	"S-0200000000000001"[4][ext 6]		# lid 9 lmc 0 "spine" lid 3 4xQDR s=4 w=2 v=5
`
	f := readText(t, text)
	if s := node(t, f, "spine"); s.Ports[4].VLCap != 8 || s.SystemGUID != 0x200000000000001 {
		t.Errorf("spine: %d VLs, system GUID %s", s.Ports[4].VLCap, s.SystemGUID)
	}
	if h := node(t, f, "host"); h.Ports[1].VLCap != 15 || h.Ports[1].LID != 9 || h.Ports[1].Link != 0 {
		t.Errorf("host: %+v", h.Ports[1])
	}
}

func TestFaultyTextIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	const pair = "Switch 8 \"S1\"\n[1] \"H1\"[1]\n\nCa 1 \"H1\"\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":                       {"", `test.net:1: file: found "no node": want at least one node`},
		"only comments":               {"# nothing\n\n", `test.net:2: file: found "no node"`},
		"truncated in a line":         {"Switch 8 \"S1\"\n[1] \"H1", `test.net:2: remote node: found "[1] \"H1"`},
		"truncated in a header":       {"Switch 8 \"S", `test.net:1: node id: found "S": want a name in double quotes`},
		"truncated between records":   {"Switch 8 \"S1\"\n[1] \"H1\"[1]\n", `test.net:2: remote node: found "H1": want the id of a node that the file has a record of`},
		"link on one side":            {pair, `test.net:2: link: found "S1[1] - H1[1]": want the same link in the record of "H1", which begins in line 4`},
		"link to another port":        {pair + "[1] \"S1\"[2]\n", `test.net:2: link: found "S1[1] - H1[1]": want the same link at the other end: line 5 has "S1"[2]`},
		"speeds differ":               {"Switch 8 \"S1\"\n[1] \"H1\"[1] # \"h\" lid 1 4xEDR\nCa 1 \"H1\"\n[1] \"S1\"[1] # lid 1 lmc 0 \"s\" lid 2 4xHDR\n", `test.net:2: link width and speed: found "4xEDR": want the same at the other end: line 4 has 4xHDR`},
		"no width in common":          {"Switch 8 \"S1\"\n[1] \"H1\"[1] w=1\nCa 1 \"H1\"\n[1] \"S1\"[1] w=2\n", `test.net:2: link options: found "w=1 s=1"`},
		"duplicate GUID":              {"switchguid=0x5\nSwitch 8 \"S1\"\nswitchguid=0x5\nSwitch 8 \"S2\"\n", `test.net:4: node "S2": node GUID 0x0000000000000005 is also that of node "S1"`},
		"duplicate node id":           {"Switch 8 \"S1\"\n\nSwitch 8 \"S1\"\n", `test.net:3: node id: found "S1": want unique node ids: line 1 has it too`},
		"duplicate port":              {"Switch 8 \"S1\"\n[1] \"H1\"\n[1] \"H2\"\n", `test.net:3: port number: found "1": want one line for each port`},
		"port out of range":           {"Switch 8 \"S1\"\n[9] \"H1\"[1]\n", `test.net:2: port number: found "9": want a number from 1 to 8`},
		"port is no number":           {"Switch 8 \"S1\"\n[x] \"H1\"[1]\n", `test.net:2: port number: found "x"`},
		"remote port out of range":    {"Switch 8 \"S1\"\n[1] \"H1\"[2]\nCa 1 \"H1\"\n", `test.net:2: remote port: found "2": want 1 to 1, the ports of "H1"`},
		"too many ports":              {"Switch 255 \"S1\"\n", `test.net:1: number of ports: found "255": want a number from 1 to 254`},
		"no ports":                    {"Switch \"S1\"\n", `test.net:1: number of ports: found ""`},
		"bad LID":                     {"Switch 8 \"S1\" # \"s\" base port 0 lid 49152 lmc 0\n", `test.net:1: lid: found "49152": want a number from 0 to 49151`},
		"bad LMC":                     {"Ca 1 \"H1\"\n[1] \"S1\"[1] # lid 8 lmc 8\n", `test.net:2: lmc: found "8": want a number from 0 to 7`},
		"unaligned LID":               {"Switch 8 \"S1\" # \"s\" enhanced port 0 lid 3 lmc 1\n", `test.net:1: node "s": port 0: LID 3 with LMC 1: want a multiple of 2`},
		"bad GUID":                    {"switchguid=0xxyz\n", `test.net:1: switchguid: found "0xxyz": want 1 to 16 hexadecimal digits`},
		"bad port GUID":               {"Ca 1 \"H1\"\n[1](zz) \"S1\"[1]\n", `test.net:2: port GUID: found "zz"`},
		"bad vendor":                  {"vendid=0x1000000\n", `test.net:1: vendid: found "0x1000000": want a number from 0 to 16777215`},
		"bad width and speed":         {"Ca 1 \"H1\"\n[1] \"S1\"[1] # \"s\" lid 1 3xEDR\n", `test.net:2: link width and speed: found "3xEDR"`},
		"bad option":                  {"Ca 1 \"H1\"\n[1] \"S1\"[1] q=1\n", `test.net:2: link option: found "q=1": want w=1..15`},
		"unknown line":                {"Swich 8 \"S1\"\n", `test.net:1: line: found "Swich 8 \"S1\"": want Switch, Ca, Hca`},
		"unknown assignment":          {"color=3\n", `test.net:1: line: found "color=3"`},
		"port before a node":          {"[1] \"S1\"[1]\n", `test.net:1: port: found`},
		"include":                     {"include \"other\"\n", `test.net:1: line: found "include \"other\"": want no ibsim command`},
		"unknown alias":               {"Switch 8 \"S1\"\n[1] \"x@y\"\n", `test.net:2: remote alias: found "x@y"`},
		"port linked to itself":       {"Switch 8 \"S1\"\n[1] \"S1\"[1]\n", `test.net:2: link from S1/P1 to itself`},
		"GUIDs of a port differ":      {"Switch 8 \"S1\"\n[1] \"H1\"[1](7)\nCa 1 \"H1\"\n[1](8) \"S1\"[1]\n", `test.net:2: port GUID of the remote: found "0x0000000000000007": want that of the port's own line, 0x0000000000000008`},
		"name too long":               {"Switch 8 \"S1\" # \"" + strings.Repeat("x", 65) + "\"\n", `test.net:1: node "xxx`},
		"line too long":               {"# ok\n# " + strings.Repeat("x", topofile.MaxLine) + "\n", `test.net:2: line: found`},
		"relative vendor":             {"vendid+0x1\n", `test.net:1: vendid: found "vendid+0x1": want = after it`},
		"prefix without quotes":       {"module=m\n", `test.net:1: module: found "m": want a prefix of at most 32 bytes in double quotes`},
		"no id":                       {"Switch 8 S1\n", `test.net:1: node: found "8 S1": want PORTS "id"`},
		"text behind the id":          {"Switch 8 \"S1\" big\n", `test.net:1: node: found "big": want nothing or a # comment`},
		"reserved character in id":    {"Switch 8 \"S@1\"\n", `test.net:1: node id: found "S@1"`},
		"port without bracket":        {"Switch 8 \"S1\"\n[1 \"H1\"\n", `test.net:2: port: found`},
		"ext without bracket":         {"Switch 8 \"S1\"\n[1][ext 5 \"H1\"\n", `test.net:2: port: found`},
		"GUID without parenthesis":    {"Switch 8 \"S1\"\n[1](5 \"H1\"\n", `test.net:2: port GUID: found`},
		"remote without bracket":      {"Switch 8 \"S1\"\n[1] \"H1\"[1\n", `test.net:2: remote port: found "[1"`},
		"remote port is no number":    {"Switch 8 \"S1\"\n[1] \"H1\"[x]\n", `test.net:2: remote port: found "x": want a number from 1 to 254`},
		"remote GUID":                 {"Switch 8 \"S1\"\n[1] \"H1\"[1](x)\n", `test.net:2: port GUID: found "x"`},
		"bad w":                       {"Switch 8 \"S1\"\n[1] \"H1\"[1] w=16\n", `test.net:2: w (enabled widths): found "16": want a number from 1 to 15`},
		"bad remote LID":              {"Switch 8 \"S1\"\n[1] \"H1\"[1] # \"h\" lid x\n", `test.net:2: remote lid: found "x"`},
		"bad VL code":                 {"Switch 8 \"S1\"\n[1] \"H1\"[1] # \"h\" lid 1 4xEDR v=6\n", `test.net:2: v (VL code): found "6": want a number from 0 to 5`},
		"alias with reserved mark":    {"Switch 8 \"S1\"\n@[1] \"a#b\"\n", `test.net:2: alias: found "a#b": want a name without # and @`},
		"alias twice":                 {"Switch 8 \"S1\"\n@[1] \"a\"\n@[2] \"a\"\n", `test.net:3: alias: found "@a": want unique aliases`},
		"bad GUID in parentheses":     {"switchguid=0x5(x)\n", `test.net:1: port GUID: found "x"`},
		"bad width line":              {"width=16\n", `test.net:1: width: found "16": want a number from 1 to 15`},
		"node without GUID (overrun)": {"switchguid=0x0\nSwitch 8 \"S1\"\n", `test.net:2: node "S1": node GUID is 0`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := topofile.Read("test.net", strings.NewReader(c.text))
			var parse *topofile.ParseError
			if !errors.As(err, &parse) {
				t.Fatalf("error %v, want a ParseError", err)
			}
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %q\nwant   %q", err, c.want)
			}
			zhtest.Error(t, name, err, strings.Fields(ibnetKeys)...)
		})
	}
}

func TestTruncatedCaptureIsRejected(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/small-cluster.net")
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.TrimRight(text, "\n")
	// Within the last line all links are known already; before the first port line nothing can be missed.
	for end := range bytes.LastIndexByte(body, '\n') {
		if f, err := topofile.Read("cut.net", bytes.NewReader(body[:end])); err == nil && len(f.Links) > 0 {
			t.Fatalf("cut at byte %d of %d: read %d nodes and %d links without an error", end, len(body), len(f.Nodes), len(f.Links))
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("cable cut") }

func TestAReadErrorIsPassedOn(t *testing.T) {
	t.Parallel()
	for _, read := range []func() (*subnet.Fabric, error){
		func() (*subnet.Fabric, error) { return topofile.Read("f", brokenReader{}) },
		func() (*subnet.Fabric, error) { return topofile.ReadYAML("f", brokenReader{}) },
		func() (*subnet.Fabric, error) { return topofile.ReadIbnetdiscover("f", brokenReader{}) },
	} {
		if _, err := read(); err == nil || err.Error() != "read f: cable cut" {
			t.Errorf("error %v", err)
		}
	}
}

// endless is a file without end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '\n'
	}
	return len(b), nil
}

func TestAnEndlessFileIsRefused(t *testing.T) {
	t.Parallel()
	_, err := topofile.Read("big", endless{})
	if err == nil || !strings.Contains(err.Error(), "at most 64 MiB") {
		t.Errorf("error %v", err)
	}
}

func FuzzReadIbnetdiscover(f *testing.F) {
	for _, name := range []string{"testdata/small-cluster.net"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("module=\"m\"\nSwitch 8 \"S1\"\n@[1] \"up\"\n[2] \"H1\"[1](5) w=3 # \"x\" lid 1 4xEDR v=4\nHca 1 \"H1\"\n[1] \"S1\"[2]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := topofile.ReadIbnetdiscover("fuzz.net", bytes.NewReader(text))
		if err != nil {
			var parse *topofile.ParseError
			if !errors.As(err, &parse) {
				t.Fatalf("error %v is no ParseError", err)
			}
			return
		}
		again, err := topofile.ReadIbnetdiscover("fuzz.net", bytes.NewReader(ibnetText(t, got)))
		if err != nil {
			t.Fatalf("our own text: %v\n%s", err, ibnetText(t, got))
		}
		if d := subnet.Diff(got, again); len(d.NodesAdded)+len(d.NodesRemoved)+len(d.LinksAdded)+len(d.LinksRemoved) > 0 {
			t.Fatalf("written and read again:\n%s", d)
		}
	})
}

// TestIbsimReadsACaptureAsWeDo covers features that the generated fabrics lack: several ports, routers, LMCs, mixed
// speeds, odd names.
func TestIbsimReadsACaptureAsWeDo(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/small-cluster.net")
	if err != nil {
		t.Fatal(err)
	}
	// ibsim 0.10 leaves a router's links at 4x SDR and without a LID, and ends a name at its first quote.
	text = bytes.ReplaceAll(text, []byte("1xQDR"), []byte("4xSDR"))
	text = bytes.ReplaceAll(text, []byte(`storage "nvme"`), []byte("storage # 1"))
	f, err := topofile.Read("capture.net", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	out := discoverOnIbsim(t, ibnetText(t, f), node(t, f, "gpu-01 mlx5_0").GUID)
	got, err := topofile.Read("out.net", bytes.NewReader(out))
	if err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	var ours []subnet.Change
	for _, c := range subnet.Diff(f, got).Changes {
		// ibsim numbers GUIDs of ports and chassis itself and has one device ID for all.
		router := f.PortID(routerPort(t, f)).String()
		if c.Field != "guid" && c.Field != "system_guid" && c.Field != "device_id" && !(c.Field == "lid" && c.What == router) {
			ours = append(ours, c)
		}
	}
	if d := subnet.Diff(f, got); len(ours)+len(d.NodesAdded)+len(d.NodesRemoved)+len(d.LinksAdded)+len(d.LinksRemoved) > 0 {
		t.Errorf("ibsim's fabric differs from ours:\n%s", d)
	}
}

func routerPort(t *testing.T, f *subnet.Fabric) subnet.PortRef {
	t.Helper()
	r, err := f.ResolvePort("ib-router/P1")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnIDOfIbnetdiscoverIsItsGUID(t *testing.T) {
	t.Parallel()
	f := readText(t, "Switch 8 \"S-0000000000000abc\"\n[1] \"H-0000000000000def\"[1](df0)\nCa 1 \"H-0000000000000def\"\n[1] \"S-0000000000000abc\"[1]\n")
	if f.Nodes[0].GUID != 0xabc || f.Nodes[1].GUID != 0xdef || f.Nodes[1].Ports[1].GUID != 0xdf0 {
		t.Errorf("GUIDs %s, %s, port %s", f.Nodes[0].GUID, f.Nodes[1].GUID, f.Nodes[1].Ports[1].GUID)
	}
}

func TestControlCharactersDoNotReachTheText(t *testing.T) {
	t.Parallel()
	f, err := subnet.New("x", []subnet.Node{{GUID: 1, Kind: subnet.KindCA, Name: "a\nvendid=0x1\x1b[2J", Ports: subnet.NewPorts(1)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(ibnetText(t, f)); strings.Contains(text, "\nvendid=0x1\x1b") || !strings.Contains(text, "\"a vendid=0x1 [2J\"") {
		t.Errorf("text %q", text)
	}
}

func TestLongFileNameIsTruncatedToAFabricName(t *testing.T) {
	t.Parallel()
	f, err := topofile.Read(strings.Repeat("ü", 40)+".net", strings.NewReader("Switch 1 \"S\"\n"))
	if err != nil || f.Name != strings.Repeat("ü", 32) {
		t.Errorf("error %v", err)
	}
}

// full is a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAWriteErrorIsPassedOn(t *testing.T) {
	t.Parallel()
	f := readText(t, "Switch 1 \"S\"\n")
	for _, write := range []func(io.Writer, *subnet.Fabric) error{topofile.WriteIbnetdiscover, topofile.WriteYAML} {
		if err := write(full{}, f); err == nil || err.Error() != "write fabric test: disk full" {
			t.Errorf("error %v", err)
		}
	}
}

func TestAParseErrorOfTheFabricUnwraps(t *testing.T) {
	t.Parallel()
	_, err := topofile.Read("f", strings.NewReader("switchguid=5\nSwitch 8 \"S1\"\nswitchguid=5\nSwitch 8 \"S2\"\n"))
	var fault *subnet.BuildError
	if !errors.As(err, &fault) || fault.Node != 1 || fault.Unwrap() == nil {
		t.Errorf("error %v", err)
	}
}

// ibnetKeys are words of the format that no language translates.
const ibnetKeys = "port vendid devid sysimgguid switchguid caguid rtguid module width speed lid lmc Switch Ca Hca Rt ext ibsim"
