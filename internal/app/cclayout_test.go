package app

import (
	"testing"

	"fairlane/internal/config"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
)

func TestTheFirstLayoutThatFitsANodeCounts(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(3, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	hosts := f.Hosts()
	first := f.Nodes[hosts[0]].Name
	ls, err := newCCLayouts([]string{first + "=packed-ca", "*=wide-ports+libibmad-log"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []mad.CCLayout{{PackedCA: true}, {WidePorts: true, LibibmadLog: true}} {
		if got := ls.of(f, ident.PortID{Node: f.Nodes[hosts[i]].GUID, Port: 1}); got != want {
			t.Errorf("host %d: %+v, want %+v", i, got, want)
		}
	}
	if got := ls.of(f, ident.PortID{Node: 1}); got != (mad.CCLayout{}) {
		t.Errorf("a node that is not there: %+v", got)
	}
	for _, word := range config.CCLayoutSwitches() {
		one, err := newCCLayouts([]string{"*=" + word})
		if err != nil || one.of(f, ident.PortID{Node: f.Nodes[hosts[0]].GUID}) == (mad.CCLayout{}) {
			t.Errorf("%s changes nothing: %v", word, err)
		}
	}
	if _, err := newCCLayouts([]string{"*=other"}); err == nil {
		t.Error("an unknown layout was taken")
	}
}
