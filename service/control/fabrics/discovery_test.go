package fabrics_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fairlane/internal/phrase"
	"fairlane/service/control/controltest"
)

func TestDiscoveryKeepsOneSnapshotOfOneTopology(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	first, topo, err := r.Service.Topology(t.Context(), "lab", "")
	if err != nil {
		t.Fatal(err)
	}
	star, err := controltest.Star()
	if err != nil {
		t.Fatal(err)
	}
	if len(topo.Nodes) != len(star.Nodes) || len(topo.Links) != len(star.Links) {
		t.Errorf("topology has %d nodes and %d links", len(topo.Nodes), len(topo.Links))
	}
	again, err := r.Service.Discover(t.Context(), "lab")
	if err != nil || again.SHA256 != first.SHA256 || !again.TakenAt.Equal(first.TakenAt) || !again.SeenAt.After(first.SeenAt) {
		t.Errorf("second discovery is %+v, %v", again, err)
	}
	r.Devices.Break(errors.New("no light"))
	if _, err := r.Service.Discover(t.Context(), "lab"); controltest.Code(err) != "discovery-failed" || !strings.Contains(err.Error(), "no light") {
		t.Errorf("failed discovery gives %v", err)
	}
}

// The caller receives the warnings of a discovery; devices of another plane than the fabric's cause one.
func TestDiscoveryReturnsWarnings(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	warnings := func() []string {
		t.Helper()
		snap, err := r.Service.Discover(t.Context(), "lab")
		if err != nil {
			t.Fatal(err)
		}
		return phrase.English(snap.Stats.Warnings)
	}
	if got := warnings(); len(got) > 0 {
		t.Errorf("a fabric in order has %q", got)
	}
	r.Devices.Warn("ib", "leaf1: it does not answer")
	if got := warnings(); !slices.Equal(got, []string{"leaf1: it does not answer"}) {
		t.Errorf("one silent device: %q", got)
	}
	r.Devices.Warn("roce", "leaf1: it does not answer")
	if got := warnings(); len(got) != 2 || !strings.Contains(got[0], `fabric "lab" is of plane ib, its switches are for plane roce`) {
		t.Errorf("devices of another plane: %q", got)
	}
	r.Devices.Warn("", slices.Repeat([]string{"x"}, 103)...)
	if got := warnings(); len(got) != 101 || got[100] != "and 3 more" {
		t.Errorf("103 warnings are %d: %q", len(got), got[len(got)-1])
	}
}
