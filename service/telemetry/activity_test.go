package telemetry

import (
	"errors"
	"fmt"
	"testing"

	"fairlane/internal/quantity"
)

// What a device does not count has no rate, and neither has a count of which a reading failed; a count of zero is a rate of zero.
func TestPortsHaveTheRatesThatWereCounted(t *testing.T) {
	t.Parallel()
	adapter := PortCongestion{Adapter: true, Elapsed: quantity.Second / 2, Wait: 5}
	adapter.BECN[3] = 100
	noBECN := adapter
	noBECN.NoBECN = true
	lost := adapter
	lost.Err = errors.New("lost")
	port := PortCongestion{Elapsed: quantity.Second}
	port.Congested[1] = 7
	at := func(n uint64, s int) Octets { return Octets{N: n, At: quantity.Picoseconds(s) * quantity.Second} }
	unread := Octets{Err: errors.New("not served")}
	for name, c := range map[string]struct {
		got  []PortCount
		want string
	}{
		"adapter":               {adapter.rates(), "[{xmit-wait 0 10} {becn 3 200}]"},
		"adapter without BECNs": {noBECN.rates(), "[{xmit-wait 0 10}]"},
		"unread":                {lost.rates(), "[]"},
		"switch port":           {port.rates(), "[{xmit-wait 0 0} {congested 1 7}]"},
		"NIC": {loopRates(
			&LoopReading{Notices: Notices{Marks: at(10, 1), Sent: at(20, 1), Handled: at(30, 1)}, Pauses: unread, Paused: at(0, 1)},
			&LoopReading{Notices: Notices{Marks: at(30, 3), Sent: at(10, 3), Handled: at(30, 3)}, Pauses: unread, Paused: at(500_000, 3)},
		), "[{marks 0 10} {cnps-handled 0 0} {paused 0 0.25}]"},
		"NIC without counters": {loopRates(nil, &LoopReading{}), "[]"},
	} {
		if got := fmt.Sprint(c.got); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A card may count its port without the virtual functions, or have the port's counters for each of them.
func TestLoopCountsOfAPortIncludeItsFunctions(t *testing.T) {
	t.Parallel()
	read := func(port uint64, functions ...uint64) *NICReading {
		of := func(n uint64) Notices {
			return Notices{Marks: Octets{N: n}, Sent: Octets{N: n}, Handled: Octets{N: n}}
		}
		r := &NICReading{Loop: &LoopReading{Notices: of(port)}, Functions: map[int]FunctionRead{}}
		for i, n := range functions {
			r.Functions[i] = FunctionRead{Notices: new(of(n))}
		}
		return r
	}
	for name, c := range map[string]struct {
		a, b *NICReading
		want uint64
	}{
		"whole port":        {read(100, 40, 60), read(130, 50, 80), 30},
		"without functions": {read(1, 40, 60), read(1, 50, 80), 30},
		"no functions":      {read(1), read(8), 7},
		"port for each":     {read(100, 100, 100), read(130, 130, 130), 30},
		"a new function":    {read(100, 40), read(130, 50, 80), 30},
	} {
		var p LoopPort
		(&etherWindow{}).count(&p, c.a, c.b, 0)
		if p.Marks.N != c.want || p.Sent.N != c.want || p.Handled.N != c.want {
			t.Errorf("%s: %+v, want %d", name, p, c.want)
		}
	}
}
