package headroom_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fairlane/ccconfig/headroom"
	"fairlane/internal/quantity"
)

func link(gbps, metres int) headroom.Link {
	return headroom.Link{Rate: quantity.BitRate(gbps) * quantity.Gbps, Metres: metres, MTU: headroom.DefaultMTU}
}

// No profile that a vendor ships is below the floor, so that the floor never accuses a stock switch.
func TestFloorIsBelowEveryVendorsProfile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gbps, metres int
		xoff         int64
	}{
		{100, 40, 38912}, {100, 40, 44032}, {200, 40, 55296}, {400, 5, 38912}, {400, 40, 77824}, {400, 300, 373760}, {400, 5, 307848}, {800, 300, 929132},
		{800, 5, 572516}, {400, 300, 839216}, {800, 300, 1621536}, {100, 300, 110592}, {400, 300, 315392}, {400, 2000, 1445888}, {100, 300, 385024}, {800, 300, 2850816},
	} {
		if floor := link(c.gbps, c.metres).Floor(); floor > c.xoff {
			t.Errorf("%d Gbit/s, %d m: floor %d above the vendor's %d", c.gbps, c.metres, floor, c.xoff)
		}
	}
}

func TestStockTomahawk5IsOversubscribedByTheStatedRatio(t *testing.T) {
	t.Parallel()
	var groups []headroom.Group
	for port := range 64 {
		for _, n := range []uint8{3, 4} {
			groups = append(groups, headroom.Group{Port: fmt.Sprint("Ethernet", 8*port), Number: n, Link: link(800, 40), XOff: 614172, Pool: "ingress_lossless_pool"})
		}
	}
	got := headroom.Judge(groups, []headroom.Pool{{Name: "ingress_lossless_pool", Size: 29500000}})
	if len(got) != 1 || math.Abs(got[0].Ratio-2.66) > 0.01 || got[0].Groups != 128 || len(got[0].Ports) != 64 {
		t.Errorf("%+v, want ratio 2.66 of 128 groups on 64 ports", got)
	}
}

func TestGroupsOfSeveralSpeedsAreJudgedByTheirOwnLinks(t *testing.T) {
	t.Parallel()
	groups := []headroom.Group{
		{Port: "Ethernet0", Number: 3, Link: link(100, 5), XOff: 40000, Pool: "p"},
		{Port: "Ethernet8", Number: 3, Link: link(800, 300), XOff: 40000, Pool: "p"}, // the cable alone holds 303 KB
	}
	short := headroom.Short(groups)
	if len(short) != 1 || short[0].Port != "Ethernet8" {
		t.Errorf("short: %+v, want Ethernet8 only", short)
	}
	v := headroom.Judge(groups, []headroom.Pool{{Name: "q"}, {Name: "p", Size: 1 << 20}})
	if v[0].Pool.Name != "p" || v[0].Demand != 40000+groups[1].Link.Floor() || v[1].Groups != 0 || v[1].Ratio != 0 {
		t.Errorf("%+v", v)
	}
	if !slices.Equal(v[0].Ports, []string{"Ethernet0", "Ethernet8"}) {
		t.Errorf("ports %q", v[0].Ports)
	}
}

func TestCablesAndMTUs(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]int{"40m": 40, "0m": 0, "7": 7, "40000m": headroom.MaxMetres, "40001m": -1, "-1m": -1, "m": -1, "4 m": -1, "": -1} {
		if got, ok := headroom.ParseCable(word); ok != (want >= 0) || ok && got != want {
			t.Errorf("cable %q: %d, %t", word, got, ok)
		}
	}
	for word, want := range map[string]int{"1500": 1500, "64": 64, "9216": 9216, "63": headroom.DefaultMTU, "9217": headroom.DefaultMTU, "": headroom.DefaultMTU, "x": headroom.DefaultMTU} {
		if got := headroom.ParseMTU(word); got != want {
			t.Errorf("MTU %q: %d, want %d", word, got, want)
		}
	}
}
