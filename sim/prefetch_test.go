package sim

import "testing"

// Prefetch faults on no address and leaves what it points to alone.
func TestPrefetchChangesNothing(t *testing.T) {
	var lines [16]uint64
	for i := range lines {
		lines[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	was := lines
	for i := range lines {
		Prefetch(&lines[i])
	}
	Prefetch[uint64](nil)
	if lines != was {
		t.Errorf("memory is %x, was %x", lines, was)
	}
	if n := testing.AllocsPerRun(10, func() { Prefetch(new(uint64)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
