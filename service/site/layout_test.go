package site

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/internal/usage"
	"fairlane/service/config"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
)

// modelsOf reads ib_profiles and cc_layouts as the service does.
func modelsOf(file string, layouts []string) (deviceModels, error) {
	s, err := ReadSettings(&config.Config{IBProfiles: file, CCLayouts: layouts})
	return s.models, err
}

func TestTheFirstMatchingLayoutApplies(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(3, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	hosts := f.Hosts()
	first := f.Nodes[hosts[0]].Name
	ls, err := modelsOf("", []string{first + "=packed-ca", "*=wide-ports+libibmad-log"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []mad.CCLayout{{PackedCA: true}, {WidePorts: true, LibibmadLog: true}} {
		if got := ls.layout(f, ident.PortID{Node: f.Nodes[hosts[i]].GUID, Port: 1}); got != want {
			t.Errorf("host %d: %+v, want %+v", i, got, want)
		}
	}
	if got := ls.layout(f, ident.PortID{Node: 1}); got != (mad.CCLayout{}) {
		t.Errorf("a node that is not there: %+v", got)
	}
	for _, word := range config.CCLayoutSwitches() {
		one, err := modelsOf("", []string{"*=" + word})
		if err != nil || one.layout(f, ident.PortID{Node: f.Nodes[hosts[0]].GUID}) == (mad.CCLayout{}) {
			t.Errorf("%s has no effect: %v", word, err)
		}
	}
	if _, err := modelsOf("", []string{"*=other"}); err == nil {
		t.Error("an unknown layout was taken")
	}
}

// Layouts come from the device's profile; entries of the deprecated cc_layouts override it on the nodes that they name.
func TestLayoutsComeFromProfilesUnlessCCLayoutsNamesTheNode(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(3, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(t.TempDir(), "site.yaml")
	text := "version: 1\nprofiles:\n  - {name: old, kind: adapter, origin: inventory, layouts: [packed-ca]}\nassign:\n  - {profile: old, name: \"*\"}\n"
	if err := os.WriteFile(site, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	hosts := f.Hosts()
	ls, err := modelsOf(site, []string{f.Nodes[hosts[0]].Name + "=libibmad-log"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []mad.CCLayout{{LibibmadLog: true}, {PackedCA: true}} {
		if got := ls.layout(f, ident.PortID{Node: f.Nodes[hosts[i]].GUID, Port: 1}); got != want {
			t.Errorf("host %d: %+v, want %+v", i, got, want)
		}
	}
	if got := ls.layout(f, ident.PortID{Node: f.Nodes[f.Switches()[0]].GUID}); got != (mad.CCLayout{}) {
		t.Errorf("the switch: %+v", got)
	}
	if _, err := modelsOf(site+".not", nil); err == nil || !errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), "ib_profiles") {
		t.Errorf("a file that does not exist: %v", err)
	}
}
