package workload

import (
	"fmt"

	"fairlane/internal/quantity"
)

// Bounds of a workload.
const (
	MaxHosts = 65_536  // hosts are numbered 0 to MaxHosts-1
	MaxBytes = 1 << 50 // payload of a flow, or of a collective
)

// maxSpan bounds instants: 10^6 s, far inside the range of Picoseconds.
const maxSpan = 1_000_000 * quantity.Second

// Arrival is a flow that starts.
type Arrival struct {
	At       quantity.Picoseconds // when it starts
	Flow     int64                // the source's own number of the flow, from 0; Merge keeps it
	Bytes    int64                // payload; 0 is endless
	Src, Dst int32                // hosts, never equal
	Label
	Tags int32 // of a flow of a Trace: Trace.Tags has them
}

// Label is what a report groups flows by.
type Label struct {
	Tenant int32 // number of the tenant, from 0
	Tag    uint8 // kind of traffic, as the user of the package likes
}

// Source hands out flows in the order of their start. Once Next has returned false it always does.
// A source is used by one goroutine at a time.
type Source interface {
	Next() (a Arrival, ok bool)
}

// Reactive is traffic whose flows wait for others. The slices that its methods return are valid
// until the next call.
type Reactive interface {
	// Start returns the flows that wait for nothing. It is called once.
	Start() []Arrival
	// Done says that the last byte of a flow was delivered, and returns the flows that this sets
	// free. None of them starts before at. A flow that is not on its way is ignored.
	Done(flow int64, at quantity.Picoseconds) []Arrival
}

// checkRange reports a value outside low..high.
func checkRange[T int | int32 | int64](what string, v, low, high T) error {
	if v < low || v > high {
		return fmt.Errorf("%s %d: want %d to %d", what, v, low, high)
	}
	return nil
}

// checkInstant reports an instant before 0 or after maxSpan.
func checkInstant(what string, t quantity.Picoseconds) error {
	if t < 0 || t > maxSpan {
		return fmt.Errorf("%s %s: want 0 to %.0f s", what, t, maxSpan.Seconds())
	}
	return nil
}

// checkHosts reports fewer than two hosts, and hosts out of range or named twice.
func checkHosts(hosts []int32) error {
	if err := checkRange("number of hosts", len(hosts), 2, MaxHosts); err != nil {
		return err
	}
	seen := make(map[int32]bool, len(hosts))
	for _, h := range hosts {
		if err := checkRange("host", h, 0, MaxHosts-1); err != nil {
			return err
		}
		if seen[h] {
			return fmt.Errorf("host %d is named twice: want each once", h)
		}
		seen[h] = true
	}
	return nil
}

// HostRange returns the hosts first to first+n-1; none when n is not positive. n is cut to MaxHosts.
func HostRange(first int32, n int) []int32 {
	hosts := make([]int32, min(max(n, 0), MaxHosts))
	for i := range hosts {
		hosts[i] = first + int32(i)
	}
	return hosts
}
