package dci

import (
	"errors"
	"fmt"

	"fairlane/internal/quantity"
)

// DefaultVOQs is the number of virtual output queues of a DCI switch (BiCC as configured in S0, 4.1.1).
const DefaultVOQs = 128

// MaxVOQs limits the memory of a switch and the search for a free queue.
const MaxVOQs = 4096

// Config holds the settings of a DCI switch.
type Config struct {
	VOQs           int                  // virtual output queues, 1 to MaxVOQs
	LineRate       quantity.BitRate     // rate of the receivers' ports, and maximum rate of a VOQ
	LocalRTT       quantity.Picoseconds // largest round trip time inside the receiver's data centre
	HaulRTT        quantity.Picoseconds // round trip time of the long haul
	CNPInterval    quantity.Picoseconds // minimum gap between CNPs to one flow, and between rate cuts of a VOQ
	NoticeBytes    int64                // target backlog of a VOQ, and limit of the near switch's virtual queue
	NoticeInterval quantity.Picoseconds // minimum gap between notices for one destination
	Payload, Wire  int                  // bytes of a full packet, without and with headers
}

const cnpGap = 50 * quantity.Microsecond

// DefaultConfig returns settings for a rate of the receivers' ports and the round trip times inside a data centre and across
// the long haul. CNPs keep DCQCN's gap of 50 us (SIGCOMM 2015, section 3.1). NoticeBytes is two bandwidth-delay products of the
// data centre, which the near-destination loop needs to work. Notices are sent twenty times per round trip of the long haul,
// but not more often than CNPs.
func DefaultConfig(line quantity.BitRate, local, longHaul quantity.Picoseconds) Config {
	return Config{
		VOQs: DefaultVOQs, LineRate: line, LocalRTT: local, HaulRTT: longHaul, CNPInterval: cnpGap,
		NoticeBytes: int64(2 * float64(line) / 8 * local.Seconds()), NoticeInterval: max(longHaul/20, cnpGap),
		Payload: 1000, Wire: 1048,
	}
}

// Validate reports every field out of range, with the value found and the allowed range.
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
	add(c.NoticeBytes >= 1, "target backlog of %d bytes: want at least 1", c.NoticeBytes)
	add(c.Payload >= 1 && c.Payload <= c.Wire, "payload of %d bytes in a packet of %d: want 1 to %d", c.Payload, c.Wire, c.Wire)
	return errors.Join(errs...)
}

func span(d quantity.Picoseconds) bool { return d > 0 && d <= quantity.Second }

// never is earlier than every instant. It can be subtracted from an instant, or an instant from it, without overflow.
const never quantity.Picoseconds = -1 << 62
