package draw_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/subnet"
	"fairlane/subnet/draw"
	"fairlane/subnet/ident"
	"fairlane/subnet/subnettest"
	"fairlane/subnet/topogen"
)

func picture(t testing.TB, f *subnet.Fabric, o draw.Options) (svg, dot string) {
	t.Helper()
	var s, d bytes.Buffer
	if err := draw.SVG(&s, f, o); err != nil {
		t.Fatal(err)
	}
	if err := draw.DOT(&d, f, o); err != nil {
		t.Fatal(err)
	}
	return s.String(), d.String()
}

func leafSpine(t testing.TB, leaves, hosts, spines int) *subnet.Fabric {
	t.Helper()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: leaves, HostsPerLeaf: hosts, Spines: spines})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// box is a text of the picture with its position.
type box struct {
	text string
	x, y float64
}

var textElement = regexp.MustCompile(`<text class="(?:n f\d|f\d)"(?: text-anchor="middle")? x="([\d.]+)" y="([\d.]+)">([^<]*)`)

func names(t testing.TB, svg string) []box {
	t.Helper()
	var out []box
	for _, m := range textElement.FindAllStringSubmatch(svg, -1) {
		x, err1 := strconv.ParseFloat(m[1], 64)
		y, err2 := strconv.ParseFloat(m[2], 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		out = append(out, box{m[3], x, y})
	}
	return out
}

var sizes = regexp.MustCompile(`^<svg [^>]*width="(\d+)" height="(\d+)"`)

// TestNamesDoNotOverlapAndFitTheDrawing draws small and large fabrics and measures their texts.
func TestNamesDoNotOverlapAndFitTheDrawing(t *testing.T) {
	t.Parallel()
	fat, err := topogen.FatTree(topogen.FatTreeOptions{K: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*subnet.Fabric{leafSpine(t, 1, 2, 1), leafSpine(t, 16, 16, 8), leafSpine(t, 4, 40, 2), fat} {
		svg, _ := picture(t, f, draw.Options{})
		m := sizes.FindStringSubmatch(svg)
		if m == nil {
			t.Fatalf("no size in %.200s", svg)
		}
		width, _ := strconv.ParseFloat(m[1], 64)
		height, _ := strconv.ParseFloat(m[2], 64)
		all := names(t, svg)
		if len(all) != len(f.Nodes) {
			t.Errorf("%d names for %d nodes", len(all), len(f.Nodes))
		}
		for i, a := range all {
			if a.x < 0 || a.x > width || a.y < 0 || a.y > height {
				t.Errorf("%q at %.0f, %.0f is outside of %.0f x %.0f", a.text, a.x, a.y, width, height)
			}
			for _, b := range all[:i] {
				if dx, dy := a.x-b.x, a.y-b.y; dx*dx < 55*55 && dy*dy < 14*14 {
					t.Errorf("%q and %q overlap", a.text, b.text)
				}
			}
		}
	}
}

func TestTiersAreRows(t *testing.T) {
	t.Parallel()
	svg, dot := picture(t, leafSpine(t, 3, 2, 2), draw.Options{Title: "a & b"})
	at := map[string]box{}
	for _, b := range names(t, svg) {
		at[b.text] = b
	}
	if at["spine1"].y != at["spine2"].y || at["leaf1"].y != at["leaf3"].y || at["spine1"].y >= at["leaf1"].y || at["leaf1"].y >= at["host-001"].y {
		t.Errorf("rows are mixed up: %v", at)
	}
	if !strings.Contains(svg, "a &amp; b") || !strings.Contains(svg, "5 switches, 6 hosts, 12 links") {
		t.Error("the title is missing")
	}
	for _, want := range []string{"{ rank=same; n3; n4; }", "{ rank=same; n0; n1; n2; }", `label="host-001\nLID 6"`, `[label="4xEDR", taillabel="3", headlabel="1"]`} {
		if !strings.Contains(dot, want) {
			t.Errorf("no %s in\n%s", want, dot)
		}
	}
}

func TestMarksAreShownInColourAndAsText(t *testing.T) {
	t.Parallel()
	f := leafSpine(t, 2, 2, 1)
	leaf, host := f.NodesByName("leaf2")[0], f.NodesByName("host-001")[0]
	o := draw.Options{
		Nodes: map[ident.GUID]draw.Mark{f.Nodes[leaf].GUID: draw.Warning},
		Ports: map[ident.PortID]draw.Mark{
			f.PortID(subnet.PortRef{Node: host, Port: 1}): draw.Error,
			f.PortID(subnet.PortRef{Node: leaf, Port: 3}): draw.Info,
		},
	}
	svg, dot := picture(t, f, o)
	for _, want := range []string{"! leaf2", "✗ host-001", "warning: 1", "error: 1", "info: 1", `class="l m1"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in the picture", want)
		}
	}
	if plain, _ := picture(t, f, draw.Options{}); strings.Contains(plain, "✗") || strings.Contains(plain, `m3"`) {
		t.Error("a picture without marks shows some")
	}
	if strings.Count(dot, "style=dashed") != 1 || strings.Count(dot, "style=bold") != 1 {
		t.Errorf("want one dashed node and one bold edge:\n%s", dot)
	}
}

// TestAnythingCanBeDrawn draws random fabrics, with loops, hosts back to back and names with special characters of XML
// and Graphviz, and reads the picture back.
func TestAnythingCanBeDrawn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := subnettest.Fabric(rt, subnettest.Shape{})
		var a, b, d bytes.Buffer
		for _, w := range []io.Writer{&a, &b} {
			if err := draw.SVG(w, f, draw.Options{}); err != nil {
				rt.Fatal(err)
			}
		}
		if a.String() != b.String() {
			rt.Fatal("the same fabric gives two pictures")
		}
		x := xml.NewDecoder(&a)
		for {
			if _, err := x.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				rt.Fatalf("not XML: %v", err)
			}
		}
		if n := len(names(t, b.String())); n < len(f.Nodes)-countEmptyNames(f) {
			rt.Fatalf("%d names for %d nodes", n, len(f.Nodes))
		}
		if err := draw.DOT(&d, f, draw.Options{}); err != nil {
			rt.Fatal(err)
		}
		if got := strings.Count(d.String(), " -- n"); got != len(f.Links) {
			rt.Fatalf("%d edges for %d links", got, len(f.Links))
		}
		for line := range strings.Lines(d.String()) {
			if strings.Count(strings.NewReplacer(`\\`, "", `\"`, "").Replace(line), `"`)%2 != 0 {
				rt.Fatalf("unbalanced quotes: %s", line)
			}
		}
	})
}

func countEmptyNames(f *subnet.Fabric) int {
	n := 0
	for i := range f.Nodes {
		if f.Nodes[i].Name == "" {
			n++
		}
	}
	return n
}

func TestTooManyNodesAreRefused(t *testing.T) {
	t.Parallel()
	f := &subnet.Fabric{Nodes: make([]subnet.Node, draw.MaxNodes+1)}
	for _, w := range []func(io.Writer, *subnet.Fabric, draw.Options) error{draw.SVG, draw.DOT} {
		if err := w(io.Discard, f, draw.Options{}); err == nil || !strings.Contains(err.Error(), fmt.Sprint(draw.MaxNodes)) {
			t.Errorf("error %v: want one with the allowed number", err)
		}
	}
}

// full is a writer that accepts this number of bytes and then fails.
type full int

func (f *full) Write(p []byte) (int, error) {
	if *f -= full(len(p)); *f < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestAFullDiskIsAnError(t *testing.T) {
	t.Parallel()
	f := leafSpine(t, 8, 16, 4)
	for i, w := range []func(io.Writer, *subnet.Fabric, draw.Options) error{draw.SVG, draw.DOT} {
		room := full(5000)
		if err := w(&room, f, draw.Options{}); err == nil {
			t.Errorf("writer %d: no error", i)
		}
	}
}
