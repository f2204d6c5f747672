// Package niccount says what the counters of a RoCE NIC mean for arithmetic: how wide they are, when a difference is a
// difference, and that a counter which could not be read has no value, least of all zero.
package niccount

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Counter is one counter as it was read, or the reason why it was not.
type Counter struct {
	Name  string
	Value uint64 // meaningless when Err is set
	Err   error
}

// Read returns the value, or the error of a counter that was not read.
func (c Counter) Read() (uint64, error) {
	if c.Err != nil {
		return 0, fmt.Errorf("counter %s: %w", c.Name, c.Err)
	}
	return c.Value, nil
}

// Counters are the counters of one port by name.
type Counters map[string]Counter

// ErrAbsent is that of a counter that the port does not have.
var ErrAbsent = errors.New("the port has no such counter")

// Read returns a counter's value; ErrAbsent for one that the port has not.
func (c Counters) Read(name string) (uint64, error) {
	k, ok := c[name]
	if !ok {
		k = Counter{Name: name, Err: ErrAbsent}
	}
	return k.Read()
}

// Unread lists the errors of the counters that were not read, joined; nil when all were.
func (c Counters) Unread() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if _, err := c[name].Read(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Bits is the width of a counter of an RDMA port: those of congestion control have 64 bits, those of a queue counter
// set have 32 and wrap (kernel's mlx5 driver). Copies of a representor begin with vport_.
func Bits(name string) int {
	name = strings.TrimPrefix(name, "vport_")
	if slices.Contains([]string{"np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled", "rp_cnp_ignored",
		"cc_rx_ce_pkts", "cc_rx_cnp_pkts", "cc_tx_cnp_pkts", "rdma_tx_packets", "rdma_rx_packets", "rdma_tx_bytes", "rdma_rx_bytes"}, name) {
		return 64
	}
	return 32
}
