package fabric

import (
	"math"
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

const (
	us = quantity.Microsecond
	ms = quantity.Millisecond
)

// star returns hosts around one switch, with links of 100 Gbit/s and 1 us.
func star(t testing.TB, hosts int) *subnet.Fabric {
	t.Helper()
	f, err := topogen.Star(hosts, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func build(t testing.TB, f *subnet.Fabric, cfg Config) *Network {
	t.Helper()
	n, err := New(f, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// hostPort returns port 1 of the i-th host.
func hostPort(f *subnet.Fabric, i int) subnet.PortRef {
	return subnet.PortRef{Node: f.Hosts()[i], Port: 1}
}

// named returns port 1 of the host with the given name.
func named(t testing.TB, f *subnet.Fabric, name string) subnet.PortRef {
	t.Helper()
	nodes := f.NodesByName(name)
	if len(nodes) != 1 {
		t.Fatalf("%d nodes named %q, want 1", len(nodes), name)
	}
	return subnet.PortRef{Node: nodes[0], Port: 1}
}

func addFlow(t testing.TB, n *Network, f FlowSpec) FlowID {
	t.Helper()
	if f.QPs == 0 {
		f.QPs = 1
	}
	id, err := n.AddFlow(f)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// rates returns the delivered rate of each flow between from and end, in Gbit/s of whole packets. It runs the network to end.
func rates(n *Network, ids []FlowID, from, end quantity.Picoseconds) []float64 {
	n.RunUntil(from)
	before := make([]uint64, len(ids))
	for i, id := range ids {
		before[i] = n.Delivered(id)
	}
	n.RunUntil(end)
	r := make([]float64, len(ids))
	for i, id := range ids {
		r[i] = float64(n.Delivered(id)-before[i]) * 8 / (end - from).Seconds() / 1e9
	}
	return r
}

func sum(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}

// near fails unless got is within the fraction tol of want.
func near(t testing.TB, what string, got, want, tol float64) {
	t.Helper()
	if math.Abs(got-want) > tol*math.Abs(want) {
		t.Errorf("%s: got %.4g, want %.4g within %.2g %%", what, got, want, tol*100)
	}
}

// entryFor returns the entry with the rate factor nearest to 1/(1+x).
func entryFor(x float64) ibcc.Entry {
	for s := uint8(ibcc.MaxShift); ; s-- {
		if m := math.Round(x * float64(int(1)<<s)); m <= ibcc.MaxMultiplier || s == 0 {
			return ibcc.Entry{Shift: s, Multiplier: uint16(min(m, ibcc.MaxMultiplier))}
		}
	}
}

// geometric returns a table in which each entry reduces the rate by the factor q.
func geometric(q float64, entries int) []ibcc.Entry {
	t := make([]ibcc.Entry, entries)
	for i := range t {
		t[i] = entryFor(math.Pow(q, float64(i)) - 1)
	}
	return t
}

// timerUnits returns the wire value nearest to a period.
func timerUnits(p quantity.Picoseconds) uint16 {
	return uint16(math.Round(float64(p) / ibcc.TimerUnitPicoseconds))
}

func allSLs(p ibcc.SLParams) (a [ident.NumSLs]ibcc.SLParams) {
	for i := range a {
		a[i] = p
	}
	return a
}

// dumbbell returns two switches with hosts l1.. and r1..; all links are 100 Gbit/s.
func dumbbell(t testing.TB, left, right int) *subnet.Fabric {
	t.Helper()
	f, err := topogen.Dumbbell(topogen.DumbbellOptions{Left: left, Right: right})
	if err != nil {
		t.Fatal(err)
	}
	return f
}
