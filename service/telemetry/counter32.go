package telemetry

import "fmt"

// counter32 follows a counter of 32 bits that wraps, sticks at its end, or is cleared by others.
type counter32 struct {
	sticks bool // it saturates, as the standard requires for those of PortCounters (IBTA vol. 1, 16.1.3.5)
	seen   bool
	last   uint32
}

// advance returns how far the counter moved since the last reading; most is the largest possible move. The first reading
// is the baseline and moves nothing. A saturated counter (ErrSaturated), an impossible move (ErrReset), and a counter
// that may have wrapped more than once (ErrGap) set a new baseline and return 0.
func (c *counter32) advance(v uint32, most uint64) (uint64, error) {
	last, seen := c.last, c.seen
	c.last, c.seen = v, v != counterEnd
	moved := uint64(v - last) // modulo 2^32: correct over one wrap
	switch {
	case v == counterEnd:
		return 0, ErrSaturated
	case !seen:
		return 0, nil
	case c.sticks && v >= last:
		return moved, nil
	case !c.sticks && most > counterEnd:
		return 0, ErrGap
	case c.sticks || moved > most:
		return 0, fmt.Errorf("from %d to %d: %w", last, v, ErrReset)
	}
	return moved, nil
}

// cleared records that the counter was set to zero right after the last reading.
func (c *counter32) cleared() { c.seen, c.last = true, 0 }

// high reports whether the counter is beyond half its range, so that it may soon saturate.
func (c *counter32) high() bool { return !c.seen || c.last >= clearAt }

// advanceAll advances several counters, in order; the error is the first.
func advanceAll(cs []counter32, vs []uint32, most uint64, moved []uint64) (err error) {
	for i, v := range vs {
		n, fault := cs[i].advance(v, most)
		moved[i] = n
		if fault != nil && err == nil {
			err = fmt.Errorf("counter %d: %w", i, fault)
		}
	}
	return err
}
