package topofile_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/quantity"
	"fairlane/internal/testkit/zhtest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topofile"
)

const smallYAML = `# two hosts on one switch
version: 1
nodes:
  - {name: leaf1, kind: switch, ports: 4, mtu: 4096, vls: 8}
  - name: host1
    kind: host
    port:
      1: {mtu: 2048, guid: 0x77}
  - {name: gw, kind: router, ports: 2, guid: "0x0002c90300a1b2c3", domain: dc2}
links:
  - {a: host1/P1, b: leaf1/3, rate: 100Gbit/s, delay: 500ns}
  - {a: "0x0002c90300a1b2c3:2", b: leaf1:1, width: 4x, speed: HDR}
lids:
  - {port: leaf1:0, lid: 1}
  - {port: host1:1, lid: 4, lmc: 2}
lfts:
  - {switch: leaf1, routes: "1=0 4..7=3"}
`

func TestYAMLFabric(t *testing.T) {
	t.Parallel()
	f, err := topofile.Read("some/where/pod.yaml", strings.NewReader(smallYAML))
	if err != nil {
		t.Fatal(err)
	}
	if f.Name != "pod" {
		t.Errorf("name %q, want that of the file", f.Name)
	}
	leaf, host, gw := node(t, f, "leaf1"), node(t, f, "host1"), node(t, f, "gw")
	if leaf.GUID != 0x200000 || leaf.Ports[0].GUID != 0x200000 || leaf.Ports[0].LID != 1 || leaf.Ports[4].VLCap != 8 {
		t.Errorf("leaf1: %+v", leaf)
	}
	wantHost := subnet.Port{Num: 1, GUID: 0x77, LID: 4, LMC: 2, MTU: 2048, Link: 1}
	if host.GUID != 0x100000 || host.Ports[1] != wantHost {
		t.Errorf("host1: %+v", host)
	}
	if gw.GUID != 0x2c90300a1b2c3 || gw.Domain != "dc2" || gw.Ports[2].GUID != gw.GUID+2 {
		t.Errorf("gw: %+v", gw)
	}
	want := []subnet.Link{
		{A: subnet.PortRef{Node: 0, Port: 1}, B: subnet.PortRef{Node: 2, Port: 2}, Width: 4, Speed: subnet.HDR, Rate: 200 * quantity.Gbps},
		{A: subnet.PortRef{Node: 0, Port: 3}, B: subnet.PortRef{Node: 1, Port: 1}, Width: 4, Speed: subnet.EDR, Rate: 100 * quantity.Gbps, Delay: 500 * quantity.Nanosecond},
	}
	if diff := cmp.Diff(want, f.Links); diff != "" {
		t.Errorf("links (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]ident.PortNum{255, 0, 255, 255, 3, 3, 3, 3}, f.LFTs[0]); diff != "" {
		t.Errorf("lft (-want +got)\n%s", diff)
	}
}

func TestFormatIsDetected(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"yaml":               smallYAML,
		"yaml with a mark":   "---\n" + smallYAML,
		"yaml with CRLF":     strings.ReplaceAll(smallYAML, "\n", "\r\n"),
		"yaml with BOM":      "\xef\xbb\xbf" + smallYAML,
		"json":               `{"version": 1, "nodes": [{"name": "leaf1", "kind": "switch", "ports": 4}]}`,
		"ibnetdiscover":      "# a: b\nvendid=0x1\nSwitch 4 \"leaf1\"\n",
		"ibsim":              "Switch 4 \"leaf1\"\n",
		"ibsim with CRLF":    "Switch 4 \"leaf1\"\r\n[1] \"h\"\r\nCa 1 \"h\"\r\n[1] \"leaf1\"[1]\r\n",
		"headings of groups": "Hostname: gateway\nSwitch 4 \"leaf1\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := topofile.Read("f", strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			node(t, f, "leaf1")
		})
	}
}

func TestFaultyYAMLIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	const head = "version: 1\nnodes:\n  - {name: s, kind: switch, ports: 4}\n  - {name: h, kind: host}\n"
	for name, c := range map[string]struct{ text, want string }{
		"no version":          {"nodes: []\n", `f.yaml:1: version: found "none": want version: 1`},
		"another version":     {"version: 2\nnodes: []\n", `f.yaml:1: version: found "2": want a number from 1 to 1`},
		"no nodes":            {"version: 1\n", `f.yaml:1: nodes: found "none": want a list of at least one node`},
		"not YAML":            {"version: 1\nnodes:\n  - {name: s\n", `f.yaml:`},
		"empty":               {"---\n", `f.yaml:2: file: found "": want a mapping with version, name`},
		"a list":              {"--- [1]\n", `f.yaml:1: file: found "a list": want a mapping`},
		"unknown key":         {head + "cables: []\n", `f.yaml:5: unknown key in file: found "cables": want one of version, name, nodes, links, lids, lfts`},
		"unknown node key":    {head + "  - {name: x, kind: host,\n     colour: red}\n", `f.yaml:6: unknown key in node: found "colour": want one of name, kind,`},
		"repeated key":        {head + "name: a\nname: b\n", `f.yaml:6: repeated key in file: found "name": want each key once`},
		"alias":               {"version: 1\nnodes: &n\n  - {name: s, kind: switch, ports: 4}\nlinks: *n\n", `f.yaml:4: links: found "*n": want a list`},
		"no kind":             {"version: 1\nnodes:\n  - {name: s}\n", `f.yaml:3: kind: found "none": want host, switch or router`},
		"bad kind":            {"version: 1\nnodes:\n  - {name: s, kind: hub}\n", `f.yaml:3: kind: found "hub": want host, switch or router`},
		"switch without size": {"version: 1\nnodes:\n  - {name: s, kind: switch}\n", `f.yaml:3: ports: found "none": want the number of a switch's ports, 1 to 254`},
		"too many ports":      {"version: 1\nnodes:\n  - {name: s, kind: switch, ports: 255}\n", `f.yaml:3: ports: found "255": want a number from 1 to 254`},
		"bad MTU":             {"version: 1\nnodes:\n  - {name: s, kind: host, mtu: 1500}\n", `f.yaml:3: node "s": port 1: MTU 1500: want 256, 512, 1024, 2048 or 4096`},
		"bad VLs":             {"version: 1\nnodes:\n  - {name: s, kind: host, vls: 3}\n", `f.yaml:3: node "s": port 1: 3 data VLs: want 1, 2, 4, 8 or 15`},
		"bad state":           {"version: 1\nnodes:\n  - {name: s, kind: host, state: up}\n", `f.yaml:3: state: found "up": want down, init, armed, active or unknown`},
		"bad GUID":            {"version: 1\nnodes:\n  - {name: s, kind: host, guid: host}\n", `f.yaml:3: guid: found "host": want 1 to 16 hexadecimal digits`},
		"bad vendor":          {"version: 1\nnodes:\n  - {name: s, kind: host, vendor_id: 0x1000000}\n", `f.yaml:3: vendor_id: found "0x1000000": want a number from 0 to 16777215`},
		"duplicate GUID":      {head + "  - {name: x, kind: host, guid: 0x200000}\n", `f.yaml:5: node "x": node GUID 0x0000000000200000 is also that of node "s"`},
		"port 0 of a host":    {"version: 1\nnodes:\n  - {name: s, kind: host, port: {0: {mtu: 256}}}\n", `f.yaml:3: port number: found "0": want a number from 1 to 1`},
		"repeated port":       {"version: 1\nnodes:\n  - {name: s, kind: host, port: {1: {mtu: 256}, 0x1: {}}}\n", `f.yaml:3: repeated port number: found "0x1"`},
		"port is a list":      {"version: 1\nnodes:\n  - {name: s, kind: host, port: [1]}\n", `f.yaml:3: port: found "a list": want a mapping from port numbers`},
		"link without end":    {head + "links:\n  - {a: h:1, rate: 1G}\n", `f.yaml:6: b: found "none": want NODE:PORT`},
		"link without port":   {head + "links:\n  - {a: h, b: s:1, rate: 1G}\n", `f.yaml:6: a: found "h": want NODE:PORT`},
		"link to nowhere":     {head + "links:\n  - {a: h:1, b: t:1, rate: 1G}\n", `f.yaml:6: b: found "t:1": want the name or GUID of a node in nodes`},
		"link to port 0":      {head + "links:\n  - {a: h:1, b: s:0, rate: 1G}\n", `f.yaml:6: b: found "s:0": want a port number from 1 to 4`},
		"link to port 300":    {head + "links:\n  - {a: h:1, b: s:300, rate: 1G}\n", `f.yaml:6: b: found "s:300": want NODE:PORT, such as leaf1:3 or leaf1/P3`},
		"link to port 5":      {head + "links:\n  - {a: h:1, b: s:5, rate: 1G}\n", `f.yaml:6: b: found "s:5": want a port number from 1 to 4`},
		"link without rate":   {head + "links:\n  - {a: h:1, b: s:1}\n", `f.yaml:6: rate: found "none": want a rate, or a width and a speed`},
		"bad rate":            {head + "links:\n  - {a: h:1, b: s:1, rate: fast}\n", `f.yaml:6: rate: found "fast": want a number above 0 to 100 Tbit/s with a unit`},
		"rate 0":              {head + "links:\n  - {a: h:1, b: s:1, rate: 0}\n", `f.yaml:6: rate: found "0": want a number above 0 to 100 Tbit/s with a unit`},
		"bad width":           {head + "links:\n  - {a: h:1, b: s:1, width: 3x}\n", `f.yaml:6: width: found "3x": want 1x, 2x, 4x, 8x, 12x or unknown`},
		"bad speed":           {head + "links:\n  - {a: h:1, b: s:1, speed: FAST}\n", `f.yaml:6: speed: found "FAST": want SDR,`},
		"bad delay":           {head + "links:\n  - {a: h:1, b: s:1, rate: 1G, delay: 5}\n", `f.yaml:6: delay: found "5": want 0 to 1 s with a unit`},
		"long delay":          {head + "links:\n  - {a: h:1, b: s:1, rate: 1G, delay: 2s}\n", `f.yaml:6: link s/P1 - h/P1: delay 2 s: want 0 to 1 s`},
		"port used twice":     {head + "links:\n  - {a: h:1, b: s:1, rate: 1G}\n  - {a: s:2, b: h:1, rate: 1G}\n", `f.yaml:7: two links at port h/P1`},
		"ambiguous name":      {head + "  - {name: h, kind: host}\nlinks:\n  - {a: h:1, b: s:1, rate: 1G}\n", `f.yaml:7: a: found "h:1": want a unique name: 2 nodes have this one`},
		"LID of a host node":  {head + "lids:\n  - {port: h:0, lid: 1}\n", `f.yaml:6: port: found "h:0": want a port from 1 on`},
		"LID twice":           {head + "lids:\n  - {port: h:1, lid: 1}\n  - {port: h:1, lid: 2}\n", `f.yaml:7: port: found "h:1": want each port once`},
		"LID of two ports":    {head + "lids:\n  - {port: h:1, lid: 1}\n  - {port: s:0, lid: 1}\n", `f.yaml:4: node "h": port 1: LID 1 is also that of port 0 of node "s"`},
		"no LID":              {head + "lids:\n  - {port: h:1}\n", `f.yaml:6: lid: found "none": want 1 to 49151`},
		"bad LMC":             {head + "lids:\n  - {port: h:1, lid: 8, lmc: 8}\n", `f.yaml:6: lmc: found "8": want a number from 0 to 7`},
		"table of a host":     {head + "lfts:\n  - {switch: h, routes: \"1=0\"}\n", `f.yaml:6: switch: found "h": want the name or GUID of a switch: this is a host`},
		"table twice":         {head + "lfts:\n  - {switch: s, routes: \"1=0\"}\n  - {switch: s, routes: \"1=0\"}\n", `f.yaml:7: switch: found "s": want each switch once`},
		"no routes":           {head + "lfts:\n  - {switch: s}\n", `f.yaml:6: routes: found "none": want words such as 1=5`},
		"bad route":           {head + "lfts:\n  - switch: s\n    routes:\n      - 1=0\n      - 2-3=1\n", `f.yaml:9: routes: found "2-3=1": want LID=PORT or LID..LID=PORT`},
		"falling routes":      {head + "lfts:\n  - {switch: s, routes: \"5=1 3..6=2\"}\n", `f.yaml:6: routes: found "3..6=2": want rising LIDs from 6 to 49151`},
		"route to no port":    {head + "lfts:\n  - {switch: s, routes: \"5=5\"}\n", `f.yaml:6: routes: found "5=5": want a port from 0 to 4`},
		"LID out of range":    {head + "lfts:\n  - {switch: s, routes: \"1..49152=1\"}\n", `f.yaml:6: routes: found "1..49152=1": want rising LIDs`},
		"kind is a list":      {"version: 1\nnodes:\n  - {kind: [host]}\n", `f.yaml:3: kind: found "a list": want a single value`},
		"ports is a mapping":  {"version: 1\nnodes:\n  - {kind: host, ports: {a: 1}}\n", `f.yaml:3: ports: found "a mapping": want a single value`},
		"GUID is a list":      {"version: 1\nnodes:\n  - {kind: host, guid: []}\n", `f.yaml:3: guid: found "a list": want a single value`},
		"node is a word":      {"version: 1\nnodes:\n  - host\n", `f.yaml:3: node: found "host": want a mapping with name, kind`},
		"link is a word":      {head + "links:\n  - cable\n", `f.yaml:6: link: found "cable": want a mapping with a, b`},
		"LID is a word":       {head + "lids:\n  - one\n", `f.yaml:6: lids: found "one": want a mapping with port, lid, lmc`},
		"table is a word":     {head + "lfts:\n  - one\n", `f.yaml:6: lfts: found "one": want a mapping with switch, routes`},
		"tables are a word":   {head + "lfts: all\n", `f.yaml:5: lfts: found "all": want a list`},
		"empty table":         {head + "lfts:\n  - {routes: 1=0}\n", `f.yaml:6: switch: found "none": want the name or GUID of a switch`},
		"table of two":        {head + "lfts:\n  - {switch: [s, h], routes: 1=0}\n", `f.yaml:6: switch: found "a list": want a single value`},
		"routes in a mapping": {head + "lfts:\n  - {switch: s, routes: {1: 0}}\n", `f.yaml:6: routes: found "a mapping": want a single value`},
		"route is no number":  {head + "lfts:\n  - {switch: s, routes: x=0}\n", `f.yaml:6: routes: found "x=0": want LID=PORT`},
		"route without port":  {head + "lfts:\n  - {switch: s, routes: \"7\"}\n", `f.yaml:6: routes: found "7": want LID=PORT`},
		"end is a list":       {head + "links:\n  - {a: [h], b: s:1, rate: 1G}\n", `f.yaml:6: a: found "a list": want a single value`},
		"bad LID":             {head + "lids:\n  - {port: h:1, lid: 49152}\n", `f.yaml:6: lid: found "49152": want a number from 1 to 49151`},
		"port with a bad key": {"version: 1\nnodes:\n  - {kind: host, port: {1: {lid: 4}}}\n", `f.yaml:3: unknown key in port: found "lid": want one of guid, mtu, vls, state`},
		"port with bad MTU":   {"version: 1\nnodes:\n  - {kind: host, port: {1: {mtu: 9000}}}\n", `f.yaml:3: mtu: found "9000": want a number from 0 to 4096`},
		"port with bad VLs":   {"version: 1\nnodes:\n  - {kind: host, port: {1: {vls: 16}}}\n", `f.yaml:3: vls: found "16": want a number from 0 to 15`},
		"port with bad GUID":  {"version: 1\nnodes:\n  - {kind: host, port: {1: {guid: x}}}\n", `f.yaml:3: guid: found "x": want 1 to 16 hexadecimal digits`},
		"two documents":       {head + "---\nversion: 1\n", `f.yaml:5: file: found "a second document": want one YAML document`},
		"too many marks":      {"version: 1\nnodes: [" + strings.Repeat(strings.Repeat(",", 60_000)+"\n", 70) + "]\n", `f.yaml: file size: found "4200`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := topofile.Read("f.yaml", strings.NewReader(c.text))
			var parse *topofile.ParseError
			if !errors.As(err, &parse) {
				t.Fatalf("error %v, want a ParseError", err)
			}
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %q\nwant   %q", err, c.want)
			}
			zhtest.Error(t, name, err, strings.Fields(yamlKeys)...)
		})
	}
}

func TestSmallFileWithHugeTablesIsRejected(t *testing.T) {
	t.Parallel()
	// A small file must not cause gigabytes of memory: 2,000 tables with one entry at the top LID are 98 million entries.
	var b bytes.Buffer
	b.WriteString("version: 1\nnodes:\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "  - {name: s%d, kind: switch, ports: 1}\n", i)
	}
	b.WriteString("lfts:\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "  - {switch: s%d, routes: 49151=1}\n", i)
	}
	_, err := topofile.ReadYAML("f.yaml", &b)
	if err == nil || !strings.Contains(err.Error(), "at most 67108864 entries in all") {
		t.Errorf("error %v", err)
	}
}

func FuzzReadYAML(f *testing.F) {
	f.Add([]byte(smallYAML))
	f.Add([]byte(`{"version": 1, "name": "\u0001\"", "nodes": [{"kind": "router", "ports": 3, "port": {"2": {"state": "armed"}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := topofile.ReadYAML("fuzz.yaml", bytes.NewReader(text))
		if err != nil {
			var parse *topofile.ParseError
			if !errors.As(err, &parse) {
				t.Fatalf("error %v is no ParseError", err)
			}
			return
		}
		out := yamlText(t, got)
		again, err := topofile.ReadYAML("fuzz.yaml", bytes.NewReader(out))
		if err != nil {
			t.Fatalf("our own text: %v\n%s", err, out)
		}
		if diff := cmp.Diff(got, again, same()); diff != "" {
			t.Fatalf("(-read +read again)\n%s\n%s", diff, out)
		}
	})
}

// yamlKeys are words of the format, and of an error of the YAML library, that no language translates.
const yamlKeys = "did not find expected or version name nodes links lids lfts kind guid system_guid vendor_id device_id revision domain ports mtu vls state port width speed rate delay lid lmc switch routes such leaf1"
