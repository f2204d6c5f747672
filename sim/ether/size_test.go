package ether

import (
	"testing"
	"unsafe"
)

// Packets and flows are read from memory all the time: they must fill cache lines exactly.
func TestPacketsAndFlowsFillCacheLines(t *testing.T) {
	t.Parallel()
	if p, f, r := unsafe.Sizeof(packet{}), unsafe.Sizeof(flow{}), unsafe.Sizeof(receiver{}); p != 64 || f != 128 || r != 32 {
		t.Errorf("packet %d, flow %d, receiver %d bytes: want 64, 128 and 32", p, f, r)
	}
}
