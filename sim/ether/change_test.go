package ether

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet/topogen"
)

// changes drives a network with random changes at random times.
type changes struct {
	n       *Network
	m       *cc.MlxPorts
	numbers []int32
	refs    []FlowRef
}

func drawChanges(t *rapid.T) []func(*changes) error {
	d := dice(func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) })
	var out []func(*changes) error
	for range d("changes", 1, 25) {
		kind, a, b, c := d("kind", 0, 9), d("a", 0, 5), d("b", 0, 100), d("c", 0, 1)
		out = append(out, func(x *changes) error { return x.apply(kind, a, b, c) })
	}
	return out
}

func (x *changes) apply(kind, a, b, c int) error {
	n := x.n
	at := n.HostPort(int32(a))
	leaf := n.ref(n.ports[n.hosts[a].port].peer)
	switch kind {
	case 0:
		s := dcqcn.Default()
		s.TimeReset, s.GD, s.AlphaPeriod, s.MonitorPeriod = uint32(1+b*10), uint8(8+c*3), uint32(1+b%7), uint32(1+b)
		return x.m.Set(a, n.Now(), &s, b%9 != 0)
	case 1:
		return n.SetNotification(int32(a), Notification{Off: b%5 == 0, PerPort: c == 1, Gap: quantity.Picoseconds(b) * us})
	case 2:
		return n.SetECN(leaf, 0, ECN{Min: int64(b) * 1000, Max: int64(b) * 2000, PMax: float64(b) / 100, Off: b%11 == 0})
	case 3:
		return n.SetFunction(x.numbers[a], FunctionShare{Weight: uint32(b), Min: quantity.BitRate(b%3) * quantity.Gbps, Max: quantity.BitRate(b%4) * 10 * quantity.Gbps / 4 * 4})
	case 4:
		return n.SetMaxRate(int32(a), quantity.BitRate(b*c)*quantity.Gbps/10)
	case 5:
		return n.SetLink(at, false)
	case 6:
		return n.SetLink(at, true)
	case 7:
		up := n.ref(n.ports[int(n.first[leaf.Node+1])-1].peer)
		return n.SetLink(up, c == 1)
	case 8:
		if x.refs[a] != (FlowRef{}) {
			n.Stop(x.refs[a])
		}
		return nil
	default:
		if _, ok := n.Flow(x.refs[a]); ok {
			return n.SetDemand(x.refs[a], quantity.BitRate(b)*quantity.Gbps/8)
		}
		return nil
	}
}

// buildChanges builds the network for the random changes.
func buildChanges(t *rapid.T, tb testing.TB) *changes {
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 3, Spines: 2})
	must(tb, err)
	d := dcqcn.Default()
	m, err := cc.NewMlxPorts(6, &d)
	must(tb, err)
	x := &changes{m: m, refs: make([]FlowRef, 6)}
	x.n, err = New(topo, Config{
		Seed: 3, Algorithms: []cc.Algorithm{m}, CNPs: true, CNPGap: 4 * us, Recovery: Recovery{Timeout: ms}, AckEvery: 3,
		Buffer: Buffer{Static: 50_000}, OnStart: func(id int64, ref FlowRef) { x.refs[id] = ref },
	})
	if err != nil {
		t.Fatal(err)
	}
	for h := range int32(6) {
		number, err := x.n.AddFunction(h, FunctionShare{})
		must(tb, err)
		x.numbers = append(x.numbers, number)
	}
	for i := range int32(6) {
		dst := (i + 3) % 6
		if i%3 == 0 {
			dst = (i + 4) % 6
		}
		add(tb, x.n, FlowSpec{ID: int64(i), Src: i, Dst: dst, Function: x.numbers[i], PeerFunction: x.numbers[dst], Start: quantity.Picoseconds(i) * 20 * us})
	}
	return x
}

// Accounts stay consistent under random changes. The same changes at the same times give the same packets.
func TestAccountingIsConsistentUnderRandomChanges(tb *testing.T) {
	tb.Parallel()
	rapid.Check(tb, func(t *rapid.T) {
		plan := drawChanges(t)
		gaps := make([]quantity.Picoseconds, len(plan))
		for i := range gaps {
			gaps[i] = quantity.Picoseconds(rapid.IntRange(0, 200_000_000).Draw(t, "gap"))
		}
		run := func() (Stats, string) {
			x := buildChanges(t, tb)
			log := ""
			for i, change := range plan {
				x.n.RunUntil(x.n.Now() + gaps[i])
				if err := change(x); err != nil {
					t.Fatal(err)
				}
				if err := x.n.audit(); err != nil {
					t.Fatalf("after change %d at %s: %v", i, x.n.Now(), err)
				}
			}
			x.n.RunUntil(x.n.Now() + ms)
			if err := x.n.audit(); err != nil {
				t.Fatal(err)
			}
			for _, number := range x.numbers {
				log += fmt.Sprint(x.n.Function(number))
			}
			return x.n.Stats(), log
		}
		a, left := run()
		if b, right := run(); a != b || left != right {
			t.Errorf("the same changes give %+v and %+v", a, b)
		}
	})
}
