package ether

import (
	"fmt"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

// simulation is the common interface of Network and Parallel.
type simulation interface {
	Add(f FlowSpec) error
	RunUntil(t quantity.Picoseconds)
	Finished() bool
	Now() quantity.Picoseconds
	Stats() Stats
	InFlight() (packets, bytes uint64)
}

var (
	_ simulation = (*Network)(nil)
	_ simulation = (*Parallel)(nil)
)

func smallTree(tb testing.TB) *subnet.Fabric {
	tb.Helper()
	topo, err := topogen.FatTree(topogen.FatTreeOptions{K: 4})
	if err != nil {
		tb.Fatal(err)
	}
	return topo
}

// load runs 200 flows between the hosts of the small tree to their end, with one RunUntil call per step.
func load(t *testing.T, s simulation, step quantity.Picoseconds) Stats {
	t.Helper()
	for i := range int32(200) {
		f := FlowSpec{ID: int64(i), Src: i % 16, Dst: (i*7 + 3) % 16, Bytes: int64(1000 + i*i*7), Start: quantity.Picoseconds(i/4) * 3 * quantity.Microsecond}
		if f.Src == f.Dst {
			f.Dst = (f.Dst + 1) % 16
		}
		if err := s.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	for !s.Finished() && s.Now() < 50*quantity.Millisecond {
		s.RunUntil(s.Now() + step)
		st := s.Stats()
		if k, _ := s.InFlight(); st.SentPackets != st.DeliveredPackets+st.DroppedPackets+k {
			t.Fatalf("at %s: %d packets sent, %d delivered, %d dropped, %d in flight", s.Now(), st.SentPackets, st.DeliveredPackets, st.DroppedPackets, k)
		}
	}
	if !s.Finished() {
		t.Fatal("flows are still running")
	}
	return s.Stats()
}

func cutInto(t *testing.T, parts int, name string, done *[]Done) *Parallel {
	t.Helper()
	p, err := NewParallel(smallTree(t), parts, func(int) (Config, error) {
		return Config{Seed: 3, Algorithms: []cc.Algorithm{build(t, name, nil)}, OnDone: func(d Done) { *done = append(*done, d) }}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// One part equals the network itself. Several parts repeat exactly, for any frequency of RunUntil calls, and carry the same
// bytes at nearly the same times.
func TestParallelPartsAgreeWithOneNetwork(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dcqcn-peer", "hpcc", "wrcc"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var whole []Done
			n, err := New(smallTree(t), Config{
				Seed: 3, Algorithms: []cc.Algorithm{build(t, name, nil)}, OnDone: func(d Done) { whole = append(whole, d) },
			})
			if err != nil {
				t.Fatal(err)
			}
			want := load(t, n, 20*quantity.Microsecond)
			var first []Done
			got := load(t, cutInto(t, 1, name, &first), 20*quantity.Microsecond)
			got.Digest, got.PeakPending = want.Digest, want.PeakPending // the digest is one of the parts' digests; parts receive starts of flows later
			if got != want || fmt.Sprint(first) != fmt.Sprint(whole) {
				t.Errorf("one part: %+v\nwhole: %+v", got, want)
			}
			for parts := 2; parts <= 4; parts++ {
				var a, b []Done
				sa := load(t, cutInto(t, parts, name, &a), 20*quantity.Microsecond)
				sb := load(t, cutInto(t, parts, name, &b), quantity.Millisecond)
				if sa.Digest != sb.Digest || fmt.Sprint(a) != fmt.Sprint(b) {
					t.Errorf("%d parts: two runs with the same input differ", parts)
				}
				if sa.PacketHops != want.PacketHops || sa.AcceptedBytes != want.AcceptedBytes || len(a) != len(whole) {
					t.Errorf("%d parts: %d hops, %d bytes, %d flows; whole %d, %d, %d", parts,
						sa.PacketHops, sa.AcceptedBytes, len(a), want.PacketHops, want.AcceptedBytes, len(whole))
				}
				if r := meanFCT(a) / meanFCT(whole); r < 0.98 || r > 1.02 {
					t.Errorf("%d parts: mean completion time is %.4f of that of one network", parts, r)
				}
			}
		})
	}
}

func meanFCT(d []Done) float64 {
	s := 0.0
	for i := range d {
		s += float64(d[i].FCT)
	}
	return s / float64(len(d))
}

func TestUndividableFabricIsRejected(t *testing.T) {
	t.Parallel()
	star, err := topogen.Star(4, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	for parts, want := range map[int]string{0: "want 1 to 64", 65: "want 1 to 64", 2: "want at most 1, the number"} {
		_, err := NewParallel(star, parts, func(int) (Config, error) {
			return Config{Algorithms: []cc.Algorithm{build(t, "none", nil)}}, nil
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d parts: %v, want %q", parts, err, want)
		}
	}
}

// BenchmarkParallel runs a fat-tree permutation in one part and in two parts.
func BenchmarkParallel(b *testing.B) {
	topo, err := topogen.FatTree(topogen.FatTreeOptions{K: 8})
	if err != nil {
		b.Fatal(err)
	}
	for parts := 1; parts <= 2; parts++ {
		b.Run(fmt.Sprint(parts), func(b *testing.B) {
			var hops uint64
			for b.Loop() {
				p, err := NewParallel(topo, parts, func(int) (Config, error) {
					return Config{Seed: 1, Algorithms: []cc.Algorithm{build(b, "dcqcn-peer", nil)}}, nil
				})
				if err != nil {
					b.Fatal(err)
				}
				for i := range int32(128) {
					if err := p.Add(FlowSpec{ID: int64(i), Src: i, Dst: (i*37 + 51) % 128, Bytes: 2_000_000}); err != nil {
						b.Fatal(err)
					}
				}
				for !p.Finished() {
					p.RunUntil(p.Now() + quantity.Millisecond)
				}
				hops += p.Stats().PacketHops
			}
			b.ReportMetric(float64(hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
		})
	}
}
