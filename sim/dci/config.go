package dci

import (
	"errors"
	"fmt"

	"fairlane/internal/quantity"
)

// DefaultVOQs is the number of virtual output queues of a DCI switch (BiCC as configured in S0, 4.1.1).
const DefaultVOQs = 128

// MaxVOQs bounds the memory of a switch and the search for a free queue.
const MaxVOQs = 4096

// Config says how a DCI switch behaves.
type Config struct {
	VOQs           int                  // virtual output queues, 1 to MaxVOQs
	LineRate       quantity.BitRate     // of the receivers' ports: a VOQ never leaves faster
	LocalRTT       quantity.Picoseconds // largest round trip inside the receiver's data centre
	HaulRTT        quantity.Picoseconds // round trip of the long haul
	CNPInterval    quantity.Picoseconds // least gap between CNPs to one flow, and between cuts of a VOQ
	NoticeBytes    int64                // backlog that a VOQ may hold, and the near switch's virtual queue
	NoticeInterval quantity.Picoseconds // least gap between notices of one destination
	Payload, Wire  int                  // bytes of a full packet, without and with headers
}

const cnpGap = 50 * quantity.Microsecond

// DefaultConfig returns settings for receivers' ports of a rate, a round trip inside a data centre
// and one across the long haul. CNPs keep DCQCN's gap of 50 us (SIGCOMM 2015, section 3.1). A VOQ may
// hold two bandwidth-delay products of its data centre, what the near-destination loop needs to work
// in. Notices come twenty times in a round trip of the long haul, but no faster than CNPs.
func DefaultConfig(line quantity.BitRate, local, longHaul quantity.Picoseconds) Config {
	return Config{
		VOQs: DefaultVOQs, LineRate: line, LocalRTT: local, HaulRTT: longHaul, CNPInterval: cnpGap,
		NoticeBytes: int64(2 * float64(line) / 8 * local.Seconds()), NoticeInterval: max(longHaul/20, cnpGap),
		Payload: 1000, Wire: 1048,
	}
}

// Validate reports every field out of range; the error names what was found and what is allowed.
func (c *Config) Validate() error {
	var errs []error
	add := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(c.VOQs >= 1 && c.VOQs <= MaxVOQs, "%d virtual output queues: want 1 to %d", c.VOQs, MaxVOQs)
	add(c.LineRate >= quantity.Mbps && c.LineRate <= quantity.MaxBitRate, "line rate %s: want 1 Mbit/s to %s", c.LineRate, quantity.MaxBitRate)
	add(span(c.LocalRTT), "round trip inside the data centre %s: want above 0 to 1 s", c.LocalRTT)
	add(span(c.HaulRTT), "round trip of the long haul %s: want above 0 to 1 s", c.HaulRTT)
	add(span(c.CNPInterval), "gap between CNPs %s: want above 0 to 1 s", c.CNPInterval)
	add(span(c.NoticeInterval), "gap between notices %s: want above 0 to 1 s", c.NoticeInterval)
	add(c.NoticeBytes >= 1, "backlog that is told %d bytes: want at least 1", c.NoticeBytes)
	add(c.Payload >= 1 && c.Payload <= c.Wire, "payload of %d bytes in a packet of %d: want 1 to %d", c.Payload, c.Wire, c.Wire)
	return errors.Join(errs...)
}

func span(d quantity.Picoseconds) bool { return d > 0 && d <= quantity.Second }

// never is an instant before every other, far enough from the end of the range to subtract from.
const never quantity.Picoseconds = -1 << 62
