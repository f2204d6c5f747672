package topofile_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fairlane/subnet"
	"fairlane/subnet/subnettest"
	"fairlane/subnet/topofile"
	"fairlane/subnet/topogen"
)

func same() cmp.Option { return cmpopts.IgnoreUnexported(subnet.Fabric{}) }

func yamlText(t interface{ Fatalf(string, ...any) }, f *subnet.Fabric) []byte {
	var b bytes.Buffer
	if err := topofile.WriteYAML(&b, f); err != nil {
		t.Fatalf("write YAML: %v", err)
	}
	return b.Bytes()
}

func ibnetText(t interface{ Fatalf(string, ...any) }, f *subnet.Fabric) []byte {
	var b bytes.Buffer
	if err := topofile.WriteIbnetdiscover(&b, f); err != nil {
		t.Fatalf("write ibnetdiscover text: %v", err)
	}
	return b.Bytes()
}

func TestYAMLKeepsAllOfARandomFabric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := subnettest.Fabric(t, subnettest.Shape{})
		if f.TopLID() > 0 {
			lfts, err := subnet.ComputeRoutes(f)
			if err != nil {
				t.Fatal(err)
			}
			if f, err = f.WithLFTs(lfts); err != nil {
				t.Fatal(err)
			}
		}
		text := yamlText(t, f)
		got, err := topofile.Read("drawn.yaml", bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if diff := cmp.Diff(f, got, same()); diff != "" {
			t.Fatalf("(-written +read)\n%s\n%s", diff, text)
		}
		if again := yamlText(t, got); !bytes.Equal(text, again) {
			t.Fatal("the same fabric gave different bytes")
		}
	})
}

func TestIbnetdiscoverTextKeepsRepresentableData(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := subnettest.Fabric(t, subnettest.Shape{PlainText: true})
		text := ibnetText(t, f)
		got, err := topofile.Read("drawn.net", bytes.NewReader(text))
		if len(f.Nodes) == 0 { // The tool's text begins with a node.
			if err == nil || !strings.Contains(err.Error(), "no node") {
				t.Fatalf("a text without a node: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if diff := cmp.Diff(f, got, same()); diff != "" {
			t.Fatalf("(-written +read)\n%s\n%s", diff, text)
		}
	})
}

// builtins returns one of each generated fabric.
func builtins(t *testing.T) map[string]*subnet.Fabric {
	t.Helper()
	m := make(map[string]*subnet.Fabric)
	keep := func(f *subnet.Fabric, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		m[f.Name] = f
	}
	keep(topogen.Star(20, topogen.Wire{}))
	keep(topogen.S1Testbed())
	keep(topogen.Dumbbell(topogen.DumbbellOptions{LeftDomain: "west", RightDomain: "east"}))
	keep(topogen.LeafSpine(topogen.LeafSpineOptions{Wire: topogen.Wire{LMC: 2}}))
	keep(topogen.FatTree(topogen.FatTreeOptions{}))
	return m
}

func TestBuiltinFabricsSurviveBothFormats(t *testing.T) {
	t.Parallel()
	for name, f := range builtins(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := topofile.Read(name+".yaml", bytes.NewReader(yamlText(t, f)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(f, got, same()); diff != "" {
				t.Errorf("YAML (-written +read)\n%s", diff)
			}
			got, err = topofile.Read(name+".net", bytes.NewReader(ibnetText(t, f)))
			if err != nil {
				t.Fatal(err)
			}
			// A field that the text cannot hold is unknown on one side, so it is no difference.
			if d := subnet.Diff(f, got); !d.Empty() {
				t.Errorf("ibnetdiscover text: %s", d)
			}
		})
	}
}

func TestIbsimAndIbnetdiscoverReadOurText(t *testing.T) {
	t.Parallel()
	for name, f := range builtins(t) {
		if name == "star" || name == "s1-testbed" {
			continue // FDR10 and the wide star add nothing
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := discoverOnIbsim(t, ibnetText(t, f), f.Nodes[f.Hosts()[0]].GUID)
			got, err := topofile.ReadIbnetdiscover("out.net", bytes.NewReader(out))
			if err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			if d := subnet.Diff(f, got); !d.Empty() {
				t.Errorf("ibsim's fabric differs from ours:\n%s", d)
			}
		})
	}
}
