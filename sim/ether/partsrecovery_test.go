package ether

import (
	"fmt"
	"testing"

	"fairlane/sim/cc"
)

// Loss recovery and coalesced acknowledgements also work across parts: every byte arrives, runs repeat exactly, and no part
// leaks a packet or a scoreboard.
func TestPartsRecoverFromLoss(t *testing.T) {
	t.Parallel()
	for _, mode := range []RecoveryMode{GoBackN, SelectiveRepeat} {
		for _, lossy := range []bool{false, true} {
			t.Run(fmt.Sprintf("mode %d, lossy %v", mode, lossy), func(t *testing.T) {
				t.Parallel()
				run := func() (Stats, int64, *Parallel) {
					var bytes int64
					p, err := NewParallel(smallTree(t), 2, func(int) (Config, error) {
						return Config{
							Seed: 3, AckEvery: 16, Classes: []Class{{Lossy: lossy}}, Recovery: Recovery{Mode: mode, Timeout: ms, NackGap: 10 * us},
							Buffer: Buffer{Bytes: 250_000}, Algorithms: []cc.Algorithm{build(t, "hpcc", nil)}, OnDone: func(d Done) { bytes += d.Bytes },
						}, nil
					})
					if err != nil {
						t.Fatal(err)
					}
					st := load(t, p, 10*us)
					p.RunUntil(p.Now() + 10*ms)
					return st, bytes, p
				}
				a, bytes, p := run()
				b, _, _ := run()
				if a != b {
					t.Errorf("two runs differ:\n%+v\n%+v", a, b)
				}
				if int64(a.AcceptedBytes) != bytes || a.Completed != 200 || (a.DroppedPackets > 0) != lossy {
					t.Errorf("%d bytes of flows that ended, %+v", bytes, a)
				}
				for i, n := range p.parts {
					if n.pool.used != 0 || len(n.selective)+len(n.kept) != 0 {
						t.Errorf("part %d still holds %d packets, %d and %d scoreboards", i, n.pool.used, len(n.selective), len(n.kept))
					}
				}
			})
		}
	}
}
