package ether

import (
	"slices"
	"testing"

	"fairlane/sim/cc"
)

// The ring of five switches deadlocks in one network and in three parts, and the cycle is found although no part contains all
// of it. With enough buffer there is no deadlock.
func TestDeadlockAcrossPartitionsIsFound(t *testing.T) {
	t.Parallel()
	run := func(static int64) (*Parallel, *Deadlock) {
		p, err := NewParallel(ring(t, 5), 3, func(int) (Config, error) {
			return Config{Buffer: Buffer{Static: static}, Algorithms: []cc.Algorithm{build(t, "none", nil)}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range int32(5) {
			if err := p.Add(FlowSpec{ID: int64(i), Src: i, Dst: (i + 2) % 5, Bytes: 2_000_000}); err != nil {
				t.Fatal(err)
			}
		}
		for p.Now() < 5*ms && !p.Finished() {
			p.RunUntil(p.Now() + 10*us)
			if d := p.Deadlock(); d != nil {
				return p, d
			}
		}
		return p, nil
	}
	p, d := run(5000)
	if d == nil {
		t.Fatalf("no deadlock: %+v", p.Stats())
	}
	want := []string{"s0/2", "s1/2", "s2/2", "s3/2", "s4/2"}
	at := slices.Index(want, d.Ports[0])
	if at < 0 || !slices.Equal(d.Ports, append(want[at:], want[:at]...)) || d.Class != 0 {
		t.Errorf("%v: want the five ports in the order of waiting", d)
	}
	before := p.Stats().DeliveredPackets
	p.RunUntil(100 * ms)
	if after := p.Stats().DeliveredPackets; after != before || p.Deadlock() == nil {
		t.Errorf("%d packets were sent during a deadlock", after-before)
	}
	if p, d := run(20_000_000); d != nil || !p.Finished() {
		t.Errorf("with ample memory: %v, %+v", d, p.Stats())
	}
}
