package telemetry

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestCountersOf32Bits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what   string
		sticks bool
		last   uint32
		now    uint32
		most   uint64
		moved  uint64
		err    error
	}{
		{"onwards", false, 10, 15, 100, 5, nil},
		{"still", false, 10, 10, 0, 0, nil},
		{"over its end", false, counterEnd - 4, 5, 100, 10, nil},
		{"cleared", false, 1 << 30, 5, 100, 0, ErrReset},
		{"too far", false, 10, 1000, 100, 0, ErrReset},
		{"after too long", false, 10, 15, 1 << 32, 0, ErrGap},
		{"at its end", false, 10, counterEnd, 1 << 40, 0, ErrSaturated},
		{"sticking, after long", true, 10, 1 << 31, 1 << 40, 1<<31 - 10, nil},
		{"sticking, cleared", true, 1 << 30, 5, 1 << 40, 0, ErrReset},
		{"sticking, at its end", true, 10, counterEnd, 100, 0, ErrSaturated},
	} {
		c := counter32{sticks: tt.sticks}
		if n, err := c.advance(tt.last, tt.most); n != 0 || err != nil {
			t.Errorf("%s: the base line moved %d: %v", tt.what, n, err)
		}
		if n, err := c.advance(tt.now, tt.most); n != tt.moved || !errors.Is(err, tt.err) {
			t.Errorf("%s: moved %d, want %d: %v", tt.what, n, tt.moved, err)
		}
		again, err := c.advance(tt.now, 0)
		if tt.err == ErrSaturated { //nolint:errorlint // the table's own value
			if !errors.Is(err, ErrSaturated) || !c.high() {
				t.Errorf("%s, again: %v", tt.what, err)
			}
			if c.cleared(); c.high() {
				t.Errorf("%s: high after it was cleared", tt.what)
			}
			continue
		}
		if again != 0 || err != nil {
			t.Errorf("%s: no new base line: %d, %v", tt.what, again, err)
		}
	}
}

// However a counter wraps, its reported move is its real one, as long as it is not cleared and is read often enough.
func TestWrappingCounterLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const most = 1 << 31
		total := uint64(rapid.Uint32Max(counterEnd-1).Draw(t, "start"))
		c, sum := counter32{}, uint64(0)
		if _, err := c.advance(uint32(total), most); err != nil {
			t.Fatal(err)
		}
		start := total
		for _, step := range rapid.SliceOf(rapid.Uint64Max(most)).Draw(t, "steps") {
			total += step
			if uint32(total) == counterEnd {
				total--
			}
			n, err := c.advance(uint32(total), most)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if sum != total-start {
			t.Fatalf("moved %d, want %d", sum, total-start)
		}
	})
}
