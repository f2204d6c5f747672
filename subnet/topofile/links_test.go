package topofile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/internal/testkit/zhtest"
	"fairlane/subnet"
)

// table is a table of links under the header.
func table(lines ...string) string { return LinksHeader + "\n" + strings.Join(lines, "\n") + "\n" }

func TestReadLinks(t *testing.T) {
	t.Parallel()
	f, err := ReadLinks("some/net.csv", strings.NewReader(table(
		"7,switch,3,2,host,1,25000000000,1500.25", "3,host,1,7,switch,1,100000000000,0", "7,switch,9,1,switch,2,400000000000,1000000000")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range f.Nodes {
		n := &f.Nodes[i]
		got = append(got, fmt.Sprintf("%s %d %d", n.Name, n.Kind, len(n.Ports)-1))
	}
	if want := "[2 1 1 3 1 1 1 2 2 7 2 9]"; fmt.Sprint(got) != want {
		t.Errorf("nodes %v, want %s: hosts first, in the order of numbers", got, want)
	}
	if f.Name != "net" || len(f.Links) != 3 {
		t.Fatalf("fabric %s with %d links", f.Name, len(f.Links))
	}
	for _, c := range []struct {
		host  int32
		port  int
		rate  quantity.BitRate
		delay quantity.Picoseconds
	}{{0, 3, 25 * quantity.Gbps, 1_500_250}, {1, 1, 100 * quantity.Gbps, 0}} {
		ref := subnet.PortRef{Node: c.host, Port: 1}
		l, _ := f.Link(ref)
		peer, ok := f.Peer(ref)
		if !ok || peer.Node != 3 || int(peer.Port) != c.port || l.Rate != c.rate || l.Delay != c.delay {
			t.Errorf("host %d: link %+v to %v", c.host, l, peer)
		}
	}
	if _, err := ReadLinks("crlf.csv", strings.NewReader(strings.ReplaceAll(table("0,host,1,1,host,1,1,0"), "\n", "\r\n"))); err != nil {
		t.Errorf("lines that end as on Windows: %v", err)
	}
}

func TestFaultsOfLinksNameLineAndColumn(t *testing.T) {
	t.Parallel()
	const good = "0,host,1,9,switch,1,100,1"
	for _, c := range []struct{ text, want string }{
		{"", `x.csv:1: links: found "none": want a line`},
		{"a,b\n", `x.csv:1: header: found "a,b": want node_a,kind_a`},
		{LinksHeader, `x.csv:1: links: found "none"`},
		{table(""), `x.csv:2: line: found "": want 8 columns: node_a`},
		{table(good, good+",5"), `x.csv:3: line: found`},
		{table("x,host,1,9,switch,1,100,1"), `x.csv:2: column node_a: found "x": want a whole number from 0 to 65535`},
		{table("0,host,1,70000,switch,1,100,1"), `x.csv:2: column node_b: found "70000"`},
		{table("0,router,1,9,switch,1,100,1"), `x.csv:2: column kind_a: found "router": want host or switch`},
		{table("0,host,0,9,switch,1,100,1"), `x.csv:2: column port_a: found "0": want a whole number from 1 to 254`},
		{table("0,host,1,9,switch,255,100,1"), `x.csv:2: column port_b: found "255"`},
		{table(good, "1,host,1,9,switch,1,100,1"), `x.csv:3: column port_b: found "1": want a port of node 9 that no line above has`},
		{table(good, "0,host,2,9,switch,2,100,1"), `x.csv:3: column node_a: found "0": want a host in one line only`},
		{table(good, "0,switch,2,9,switch,2,100,1"), `x.csv:3: column kind_a: found "switch": want the kind that node 0 has in the lines above`},
		{table("4,switch,1,4,switch,2,100,1"), `x.csv:2: column node_b: found "4": want another node than node_a`},
		{table("0,host,1,9,switch,1,0,1"), `x.csv:2: column rate_bps: found "0": want a whole number from 1 to 100000000000000`},
		{table("0,host,1,9,switch,1,1e9,1"), `x.csv:2: column rate_bps`},
		{table("0,host,1,9,switch,1,100,-1"), `x.csv:2: column delay_ns: found "-1": want a number from 0 to 1000000000`},
		{table("0,host,1,9,switch,1,100,1.0001"), `x.csv:2: column delay_ns`},
		{table("0,host,1,9,switch,1,100,1000000000.001"), `x.csv:2: column delay_ns`},
	} {
		_, err := ReadLinks("x.csv", strings.NewReader(c.text))
		var pe *ParseError
		if !errors.As(err, &pe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
		zhtest.Error(t, c.want, err, strings.Fields("links nodes "+strings.ReplaceAll(LinksHeader, ",", " "))...)
	}
}

// A table of many nodes with high port numbers must be rejected before all ports are allocated.
func TestTooManyPortsAreRefused(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(LinksHeader + "\n")
	for i := range 4500 {
		fmt.Fprintf(&b, "%d,switch,254,%d,switch,254,100,1\n", 2*i, 2*i+1)
	}
	if _, err := ReadLinks("x.csv", strings.NewReader(b.String())); err == nil || !strings.Contains(err.Error(), "2000000 ports in all") {
		t.Errorf("got %v", err)
	}
}

func FuzzReadLinks(f *testing.F) {
	f.Add(table("0,host,1,9,switch,1,100,1", "1,host,1,9,switch,2,100,1.5"))
	f.Add(table("1,switch,254,2,switch,254,100000000000000,1000000000"))
	f.Fuzz(func(t *testing.T, text string) {
		fabric, err := ReadLinks("fuzz.csv", strings.NewReader(text))
		if (fabric == nil) == (err == nil) {
			t.Fatalf("fabric %v with error %v", fabric, err)
		}
		var pe *ParseError
		if err != nil && !errors.As(err, &pe) {
			t.Fatalf("%T is not a ParseError: %v", err, err)
		}
		if err == nil && len(fabric.Links) != strings.Count(strings.TrimRight(text, "\n"), "\n") {
			t.Fatalf("%d links of %q", len(fabric.Links), text)
		}
	})
}
