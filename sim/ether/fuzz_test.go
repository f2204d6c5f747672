package ether

import (
	"testing"

	"fairlane/internal/quantity"
)

// FuzzConfig builds small fabrics from bytes and runs them for a while, with configurations in and out of range: no panic, no
// endless loop, and consistent accounts.
func FuzzConfig(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 2, 1, 4, 4, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 10, 3, 0, 0, 0, 0, 0, 0, 9})
	f.Add([]byte{5, 3, 1, 5, 3, 7, 3, 9, 1, 1, 1, 1, 40, 1, 1, 1, 5, 3, 2, 1, 1, 1, 1, 1, 50, 3, 1, 1, 1, 200, 17, 31})
	f.Fuzz(func(t *testing.T, data []byte) {
		d := dice(func(_ string, low, high int) int {
			v := 0
			for span := high - low; span > 0 && len(data) > 0; span >>= 8 {
				v = v<<8 | int(data[0])
				data = data[1:]
			}
			return low + v%(high-low+1)
		})
		s := drawScenario(t, d)
		c := &s.cfg
		switch d("spoil", 0, 9) { // a configuration that may be invalid must be rejected or run
		case 0:
			c.Buffer.Bytes = int64(d("bytes", 0, 1<<16)) - 10
			c.Buffer.Headroom = float64(d("headroom", 0, 3000)) - 5
		case 1:
			c.Recovery.Timeout = quantity.Picoseconds(d("timeout", 0, 1<<24)) - 100
			c.AckDelay = quantity.Picoseconds(d("delay", 0, 1<<24)) - 100
		case 2:
			c.Headers = Headers{Data: d("data", 0, 600) - 1, Ack: d("ack", 0, 2000) - 1, CNP: d("cnp", 0, 2000) - 1, Pause: d("pause", 0, 2000) - 1}
		case 3:
			c.ECN = ECN{Min: int64(d("min", 0, 1000)), Max: int64(d("max", 0, 1000)), RatePer: quantity.BitRate(d("per", 0, 1000)) - 10, PMax: float64(d("p", 0, 5)) - 1}
		}
		cfg := *c
		cfg.Algorithms = algorithms(t)
		n, err := New(s.topo, cfg)
		if err != nil {
			return
		}
		for _, fl := range s.flows {
			fl.Start += quantity.Picoseconds(d("shift", 0, 1000) - 500)
			fl.Src += int32(d("wrong host", 0, 40)) / 40
			_ = n.Add(fl)
		}
		for range 50 {
			n.RunUntil(n.Now() + quantity.Microsecond)
			if err := n.audit(); err != nil {
				t.Fatal(err)
			}
			_ = n.Deadlock()
			if n.eng.Processed() > 100_000 {
				break
			}
		}
	})
}
