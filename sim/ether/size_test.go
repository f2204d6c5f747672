package ether

import (
	"testing"
	"unsafe"
)

// Packets and flows are read from memory very often, so they must fill cache lines exactly.
func TestPacketsAndFlowsFillCacheLines(t *testing.T) {
	t.Parallel()
	if p, f, r := unsafe.Sizeof(packet{}), unsafe.Sizeof(flow{}), unsafe.Offsetof(flow{}.moved); p != 64 || f != 128 || r != 64 {
		t.Errorf("packet %d, flow %d bytes, receiving half from %d: want 64, 128 and 64", p, f, r)
	}
}
