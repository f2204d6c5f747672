// Package niccount defines the arithmetic of RoCE NIC counters: their widths, valid differences, and that a counter which could
// not be read has no value, in particular not zero.
package niccount

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"fairlane/internal/phrase"
)

// Counter is one counter's value, or the error of its reading.
type Counter struct {
	Name  string
	Value uint64 // invalid if Err is set
	Err   error
}

// Read returns the value, or the error of the reading.
func (c Counter) Read() (uint64, error) {
	if c.Err != nil {
		return 0, phrase.Because(c.Err, phrase.Of("adopt.counter", "name", c.Name, "reason", c.Err))
	}
	return c.Value, nil
}

// Counters are the counters of one port by name.
type Counters map[string]Counter

// ErrAbsent reports a counter that the port does not have.
var ErrAbsent = errors.New("the port has no such counter")

// Read returns a counter's value, or ErrAbsent for a counter that the port does not have.
func (c Counters) Read(name string) (uint64, error) {
	k, ok := c[name]
	if !ok {
		k = Counter{Name: name, Err: ErrAbsent}
	}
	return k.Read()
}

// Unread returns the joined errors of the counters that could not be read; nil if there are none.
func (c Counters) Unread() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if _, err := c[name].Read(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Bits returns the width of a counter of an RDMA port: counters of congestion control have 64 bits, those of a queue counter
// set have 32 and wrap around (kernel's mlx5 driver). Copies for a representor have the prefix vport_.
func Bits(name string) int {
	name = strings.TrimPrefix(name, "vport_")
	if slices.Contains([]string{"np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled", "rp_cnp_ignored",
		"cc_rx_ce_pkts", "cc_rx_cnp_pkts", "cc_tx_cnp_pkts", "rdma_tx_packets", "rdma_rx_packets", "rdma_tx_bytes", "rdma_rx_bytes"}, name) {
		return 64
	}
	return 32
}
