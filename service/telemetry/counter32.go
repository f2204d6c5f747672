package telemetry

import "fmt"

// counter32 follows a counter of 32 bits that wraps, sticks at its end, or is cleared by others.
type counter32 struct {
	sticks bool // it never wraps, as the standard has it for those of PortCounters (IBTA vol. 1, 16.1.3.5)
	seen   bool
	last   uint32
}

// advance returns how far the counter moved since it was last read, of which most is the furthest there can be. The
// first reading is a base line and moves nothing. A counter at its end (ErrSaturated), one that cannot have moved so
// (ErrReset), and one that may have wrapped more than once (ErrGap) begin with a new base line; what is returned is then
// 0.
func (c *counter32) advance(v uint32, most uint64) (uint64, error) {
	last, seen := c.last, c.seen
	c.last, c.seen = v, v != counterEnd
	moved := uint64(v - last) // modulo 2^32: right over one wrap
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

// cleared says that the counter was set to zero right after it was last read.
func (c *counter32) cleared() { c.seen, c.last = true, 0 }

// high reports that the counter is beyond half its range, so that it may soon stick at its end.
func (c *counter32) high() bool { return !c.seen || c.last >= clearAt }

// advanceAll is advance of several counters, in order; the error is the first.
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
