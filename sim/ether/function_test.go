package ether

import (
	"math"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/subnet/topogen"
)

func TestFunctionsShareTheirPort(t *testing.T) {
	t.Parallel()
	const g = quantity.Gbps
	for _, c := range []struct {
		name   string
		shares [3]FunctionShare
		flows  [3]int // flows of each function
		port   quantity.BitRate
		want   [3]float64 // Gbit/s of data
	}{
		{"no settings", [3]FunctionShare{}, [3]int{1, 4, 1}, 0, [3]float64{33.3, 33.3, 33.3}},
		{"weights", [3]FunctionShare{{Weight: 5}, {Weight: 3}, {Weight: 2}}, [3]int{1, 8, 2}, 0, [3]float64{50, 30, 20}},
		{"a most", [3]FunctionShare{{Max: 10 * g}, {Weight: 2}, {}}, [3]int{4, 1, 1}, 0, [3]float64{10, 60, 30}},
		{"a least", [3]FunctionShare{{Min: 70 * g}, {}, {}}, [3]int{1, 1, 1}, 0, [3]float64{70, 15, 15}},
		{"leasts", [3]FunctionShare{{Min: 10 * g}, {Min: 20 * g}, {Min: 50 * g}}, [3]int{1, 4, 0}, 0, [3]float64{33.3, 66.7, 0}},
		{"two minimum rates, and none", [3]FunctionShare{{Min: 10 * g}, {Min: 20 * g}, {}}, [3]int{1, 1, 1}, 0, [3]float64{22.2, 44.4, 33.3}},
		{"one only", [3]FunctionShare{{Weight: 9}, {}, {Min: 50 * g}}, [3]int{0, 2, 0}, 0, [3]float64{0, 100, 0}},
		{"a maximum rate of the port", [3]FunctionShare{{Weight: 3}, {Weight: 1}, {Weight: 1}}, [3]int{1, 1, 1}, 40 * g, [3]float64{24, 8, 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			topo, err := topogen.Star(5, topogen.Wire{Rate: 100 * g, Delay: us})
			must(t, err)
			n, _ := on(t, topo, Config{Seed: 1})
			var number [3]int32
			for i := range number {
				number[i], err = n.AddFunction(0, FunctionShare{})
				must(t, err)
			}
			id := int64(0)
			for i, flows := range c.flows {
				for range flows {
					add(t, n, FlowSpec{ID: id, Src: 0, Dst: int32(1 + id%4), Function: number[i]})
					id++
				}
			}
			n.RunUntil(ms)
			for i := range number { // change the shares at run time
				must(t, n.SetFunction(number[i], c.shares[i]))
			}
			must(t, n.SetMaxRate(0, c.port))
			n.RunUntil(2 * ms)
			var before [3]FunctionStats
			for i := range number {
				before[i] = n.Function(number[i])
			}
			n.RunUntil(12 * ms)
			for i := range number {
				got := float64(n.Function(number[i]).TxOctets-before[i].TxOctets) * 8 / 0.01 / 1e9
				if math.Abs(got-c.want[i]) > 0.01*c.want[i]+0.1 {
					t.Errorf("function %d: %.2f Gbit/s, want %.1f", i, got, c.want[i])
				}
			}
		})
	}
}

// A function that was ahead or held back gets exactly its share again immediately afterwards.
func TestFunctionSharesHaveNoMemory(t *testing.T) {
	t.Parallel()
	const g = quantity.Gbps
	topo, err := topogen.Star(3, topogen.Wire{Rate: 100 * g, Delay: us})
	must(t, err)
	n, _ := on(t, topo, Config{Seed: 1})
	a, err := n.AddFunction(0, FunctionShare{})
	must(t, err)
	b, err := n.AddFunction(0, FunctionShare{})
	must(t, err)
	add(t, n, FlowSpec{ID: 0, Src: 0, Dst: 1, Function: a}, FlowSpec{ID: 1, Src: 0, Dst: 2, Function: b, Start: 10 * ms})
	share := func() float64 {
		before := [2]FunctionStats{n.Function(a), n.Function(b)}
		n.RunUntil(n.Now() + ms)
		x, y := float64(n.Function(a).TxOctets-before[0].TxOctets), float64(n.Function(b).TxOctets-before[1].TxOctets)
		return x / (x + y)
	}
	must(t, n.SetFunction(a, FunctionShare{Min: 20 * g}))
	n.RunUntil(10 * ms)
	for what, s := range []FunctionShare{{Min: 20 * g}, {}, {Max: 10 * g}, {}, {Min: 90 * g}, {}} {
		must(t, n.SetFunction(a, s))
		want := 0.5
		switch {
		case s.Max > 0:
			want = 0.1
		case s.Min > 50*g:
			want = 0.9
		}
		if got := share(); math.Abs(got-want) > 0.01 {
			t.Errorf("step %d, %+v: share %.3f, want %.1f", what, s, got, want)
		}
		n.RunUntil(n.Now() + 3*ms)
	}
}

func TestFunctionsAreChecked(t *testing.T) {
	t.Parallel()
	n, _ := star(t, 3, Config{})
	a, err := n.AddFunction(0, FunctionShare{})
	must(t, err)
	for want, err := range map[string]error{
		"host 9":                    func() error { _, err := n.AddFunction(9, FunctionShare{}); return err }(),
		"minimum rate":              n.SetFunction(a, FunctionShare{Min: 2, Max: 1}),
		"function 7":                n.SetFunction(7, FunctionShare{}),
		"rates of a function":       n.SetFunction(a, FunctionShare{Max: -1}),
		"host with functions":       n.SetMaxRate(1, 5),
		"has functions":             n.Add(FlowSpec{Src: 0, Dst: 1}),
		"want a function of host 1": n.Add(FlowSpec{Src: 1, Dst: 0, Function: a}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	add(t, n, FlowSpec{Src: 1, Dst: 0, PeerFunction: a}, FlowSpec{Src: 0, Dst: 1, Function: a})
	if _, err := n.AddFunction(1, FunctionShare{}); err == nil {
		t.Error("AddFunction accepted a first function after flows")
	}
	if _, err := n.AddFunction(0, FunctionShare{}); err != nil {
		t.Error(err)
	}
}

// Events of flows are counted for the functions at their ends: those of a sender and a receiver that all flows of a host use add up to the
// host's, and a function whose flow crosses no congested link counts none.
func TestEventsAreCountedByFunction(t *testing.T) {
	t.Parallel()
	n, _ := ports(t, 4, 100*quantity.Gbps, Config{Seed: 5})
	number := func(host int32) int32 {
		f, err := n.AddFunction(host, FunctionShare{})
		must(t, err)
		return f
	}
	a, b, quiet, x, y := number(0), number(0), number(0), number(2), number(2)
	must(t, n.SetFunction(quiet, FunctionShare{Max: 5 * quantity.Gbps}))
	add(t, n, FlowSpec{ID: 0, Src: 0, Dst: 2, Function: a, PeerFunction: x}, FlowSpec{ID: 1, Src: 0, Dst: 2, Function: b, PeerFunction: y},
		FlowSpec{ID: 2, Src: 1, Dst: 2, PeerFunction: y}, FlowSpec{ID: 3, Src: 0, Dst: 3, Function: quiet})
	n.RunUntil(10 * ms)
	sum := func(numbers ...int32) (s HostStats) {
		for _, i := range numbers {
			f := n.Function(i)
			s.Marked, s.CNPsSent, s.CNPsHandled = s.Marked+f.Marked, s.CNPsSent+f.CNPsSent, s.CNPsHandled+f.CNPsHandled
		}
		return s
	}
	if got, want := sum(a, b), n.Host(0); got != want || n.Function(a).CNPsHandled == 0 || n.Function(b).CNPsHandled == 0 {
		t.Errorf("functions of the sender %+v, the host %+v", got, want)
	}
	if got, want := sum(x, y), n.Host(2); got != want || got.CNPsSent == 0 || n.Function(x).Marked == 0 {
		t.Errorf("functions of the receiver %+v, the host %+v", got, want)
	}
	if got := n.Function(quiet); got.HostStats != (HostStats{}) || got.TxPackets == 0 {
		t.Errorf("a flow without congestion: %+v", got)
	}
}
