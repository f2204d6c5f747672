package gnmidev

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/nic/niccount"
	"fairlane/internal/quantity"
	"fairlane/sim/plane"
)

// Directories of an RDMA port.
const (
	hwCounterDir = "hw_counters"
	counterDir   = "counters"
	lifespan     = "lifespan" // lifetime of cached values, in ms
)

// hwCounters returns the counters of the port of an RDMA device, a card's or a function's. Counters of events that never occur in the simulation are zero. Counters
// that the data plane does not model are missing.
func hwCounters() map[string]func(*plane.TransportCounters) uint64 {
	never := func(*plane.TransportCounters) uint64 { return 0 }
	return map[string]func(*plane.TransportCounters) uint64{
		"np_ecn_marked_roce_packets": func(c *plane.TransportCounters) uint64 { return c.ECNMarked },
		"np_cnp_sent":                func(c *plane.TransportCounters) uint64 { return c.CNPsSent },
		"rp_cnp_handled":             func(c *plane.TransportCounters) uint64 { return c.CNPsHandled },
		"rp_cnp_ignored":             func(c *plane.TransportCounters) uint64 { return c.CNPsIgnored },
		"out_of_sequence":            func(c *plane.TransportCounters) uint64 { return c.Sequence },
		"packet_seq_err":             func(c *plane.TransportCounters) uint64 { return c.Nacks },
		"local_ack_timeout_err":      func(c *plane.TransportCounters) uint64 { return c.Timeouts },
		"rnr_nak_retry_err":          never,
		"out_of_buffer":              never,
		"rx_icrc_encapsulated":       never,
	}
}

// hwCounter returns the value of a file in hw_counters, with its width and the port's faults. The caller holds the card's lock.
func (p *port) hwCounter(name string, now *plane.TransportCounters) (uint64, error) {
	of, ok := p.card.layout.hw[name]
	if !ok {
		return 0, fs.ErrNotExist
	}
	if err := p.faults.readable(name); err != nil {
		return 0, err
	}
	return p.faults.count(of(now), niccount.Bits(name)), nil
}

// counterFile returns a file of a port's counters.
func (p *port) counterFile(name string) (file, bool) {
	dir, name, _ := strings.Cut(name, "/")
	switch dir {
	case hwCounterDir:
		if name == lifespan {
			return file{port: p, read: func() (string, error) { return "12", nil }}, true
		}
		if p.card.layout.hw[name] == nil {
			return file{}, false
		}
		return file{port: p, read: func() (string, error) {
			now := p.plane.Measure()
			v, err := p.hwCounter(name, &now.TransportCounters)
			return strconv.FormatUint(v, 10), err
		}}, true
	case counterDir:
		all := p.card.layout.counters
		i := slices.IndexFunc(all, func(c portCounter) bool { return c.rdma && c.name == name })
		if i < 0 {
			return file{}, false
		}
		return file{port: p, read: func() (string, error) {
			now := p.plane.Measure()
			v, _ := all[i].of(&now, 0)
			return strconv.FormatUint(p.faults.count(v, 64), 10), p.faults.readable(name)
		}}, true
	}
	return file{}, false
}

// counterNames returns the file names in a directory of counters; it returns nil for any other directory.
func (p *port) counterNames(dir string) []string {
	switch dir {
	case hwCounterDir:
		return slices.Clone(p.card.layout.hwNames)
	case counterDir:
		var out []string
		for _, c := range p.card.layout.counters {
			if c.rdma {
				out = append(out, c.name)
			}
		}
		return out
	}
	return nil
}

// portCounter is a counter of a whole port: in the directory counters of its RDMA device, or in ethtool.
type portCounter struct {
	name string
	rdma bool
	// of returns the value, and false if the port has no such counter. paused is the bit mask of the priorities with pause.
	of func(c *plane.PortCounters, paused uint8) (uint64, bool)
}

// words is the size of the words in which RDMA ports count octets.
const words = 4

func portCounters() []portCounter {
	one := func(name string, rdma bool, of func(*plane.PortCounters) uint64) portCounter {
		return portCounter{name, rdma, func(c *plane.PortCounters, _ uint8) (uint64, bool) { return of(c), true }}
	}
	out := []portCounter{
		one("port_xmit_data", true, func(c *plane.PortCounters) uint64 { return c.TxOctets / words }),
		one("port_rcv_data", true, func(c *plane.PortCounters) uint64 { return c.RxOctets / words }),
		one("port_xmit_packets", true, func(c *plane.PortCounters) uint64 { return c.TxPackets }),
		one("port_rcv_packets", true, func(c *plane.PortCounters) uint64 { return c.RxPackets }),
		one("tx_bytes_phy", false, func(c *plane.PortCounters) uint64 { return c.TxOctets }),
		one("rx_bytes_phy", false, func(c *plane.PortCounters) uint64 { return c.RxOctets }),
		one("tx_packets_phy", false, func(c *plane.PortCounters) uint64 { return c.TxPackets }),
		one("rx_packets_phy", false, func(c *plane.PortCounters) uint64 { return c.RxPackets }),
	}
	for prio := range plane.Priorities {
		name := "_prio" + strconv.Itoa(prio) + "_"
		paused := func(of func(*plane.PortCounters) uint64) func(*plane.PortCounters, uint8) (uint64, bool) {
			return func(c *plane.PortCounters, on uint8) (uint64, bool) { return of(c), on>>prio&1 == 1 }
		}
		out = append(out,
			portCounter{"rx" + name + "pause", false, paused(func(c *plane.PortCounters) uint64 { return c.PausesReceived[prio] })},
			portCounter{"tx" + name + "pause", false, paused(func(c *plane.PortCounters) uint64 { return c.PausesSent[prio] })},
			portCounter{"rx" + name + "pause_duration", false, paused(func(c *plane.PortCounters) uint64 {
				return uint64(c.PausedTimes[prio] / quantity.Microsecond) // time only increases
			})},
			one("tx"+name+"bytes", false, func(c *plane.PortCounters) uint64 { return c.Sent[prio].Octets }),
			one("tx"+name+"packets", false, func(c *plane.PortCounters) uint64 { return c.Sent[prio].Packets }))
	}
	return out
}
