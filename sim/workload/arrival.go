package workload

import (
	"fmt"

	"fairlane/internal/quantity"
)

// Limits of a workload.
const (
	MaxHosts = 65_536  // hosts are numbered 0 to MaxHosts-1
	MaxBytes = 1 << 50 // payload of a flow, or of a collective
)

// maxSpan limits times to 10^6 s, far inside the range of Picoseconds.
const maxSpan = 1_000_000 * quantity.Second

// Arrival is the start of a flow.
type Arrival struct {
	At       quantity.Picoseconds // start of the flow
	Flow     int64                // flow number within its source, from 0; Merge preserves it
	Bytes    int64                // payload; 0 means unlimited
	Src, Dst int32                // different hosts
	Label
	Tags int32 // for a flow of a Trace: argument of Trace.Tags
}

// Label is the key by which reports group flows.
type Label struct {
	Tenant int32 // number of the tenant, from 0
	Tag    uint8 // kind of traffic, defined by the user of the package
}

// Source returns flows in the order of their start. After Next has returned false, it returns false forever. A source is not
// safe for concurrent use.
type Source interface {
	Next() (a Arrival, ok bool)
}

// Reactive is traffic whose flows wait for other flows. The slices that its methods return are valid until the next call.
type Reactive interface {
	// Start returns the flows that can start immediately. It is called once.
	Start() []Arrival
	// Done reports the delivery of a flow's last byte, and returns the flows that may start now, none earlier than at. A flow
	// that is not active is ignored.
	Done(flow int64, at quantity.Picoseconds) []Arrival
}

// checkRange returns an error for a value outside the range from low to high.
func checkRange[T int | int32 | int64](what string, v, low, high T) error {
	if v < low || v > high {
		return fmt.Errorf("%s %d: want %d to %d", what, v, low, high)
	}
	return nil
}

// checkInstant returns an error for a time before 0 or after maxSpan.
func checkInstant(what string, t quantity.Picoseconds) error {
	if t < 0 || t > maxSpan {
		return fmt.Errorf("%s %s: want 0 to %.0f s", what, t, maxSpan.Seconds())
	}
	return nil
}

// checkHosts returns an error for fewer than two hosts, and for hosts out of range or repeated.
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
			return fmt.Errorf("host %d appears twice: want each host once", h)
		}
		seen[h] = true
	}
	return nil
}

// HostRange returns the hosts first to first+n-1, or none if n is not positive. n is limited to MaxHosts.
func HostRange(first int32, n int) []int32 {
	hosts := make([]int32, min(max(n, 0), MaxHosts))
	for i := range hosts {
		hosts[i] = first + int32(i)
	}
	return hosts
}
