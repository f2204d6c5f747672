// Package headroom computes the buffer that a lossless priority group of a switch port needs for the packets that arrive after it has
// sent a pause, and compares the needs of a switch with the memory that its ports share. All values are in bytes.
package headroom

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/quantity"
)

// DefaultMTU is the largest frame of a port whose configuration does not state one: the default of SONiC.
const DefaultMTU = 9100

// Limits of a link.
const (
	MaxMetres = 40000 // 40 km
	minMTU    = 64
	MaxMTU    = 9216
)

// Oversubscription is the default largest ratio of the headroom of all groups to the shared memory. Vendors' own profiles reach 2.8,
// since not all ports are paused at once; a ratio of 1 never loses a packet.
const Oversubscription = 3

const (
	signalSpeed = 198e6 // of signals in a cable, m/s
	pauseFrame  = 64    // bytes
)

// Link is the part of a port that determines its headroom.
type Link struct {
	Rate   quantity.BitRate // 0 if unknown
	Metres int              // cable length, 0 to MaxMetres; 0 if unknown
	MTU    int              // largest frame of the port, minMTU to MaxMTU
}

// ParseCable parses a cable length, such as "40m"; false if it is out of range.
func ParseCable(word string) (metres int, ok bool) {
	v, err := strconv.Atoi(strings.TrimSuffix(word, "m"))
	return v, err == nil && v >= 0 && v <= MaxMetres
}

// ParseMTU parses the largest frame of a port. It returns DefaultMTU for a value out of range.
func ParseMTU(word string) int {
	if v, err := strconv.Atoi(word); err == nil && v >= minMTU && v <= MaxMTU {
		return v
	}
	return DefaultMTU
}

// cable returns the bytes that are in the cable in both directions.
func (l Link) cable() float64 {
	return 2 * float64(l.Metres) * float64(l.Rate) / signalSpeed / 8
}

// Floor returns the need without the reaction time of the peer and without cells: one frame that delays the pause, one frame that the peer has
// started, and the cable in both directions. With less, a lossless group loses packets on any ASIC. Vendors' profiles are above it.
func (l Link) Floor() int64 {
	return int64(math.Ceil(2*float64(l.MTU) + l.cable() + pauseFrame))
}

// Group is a lossless priority group of a port.
type Group struct {
	Port   string
	Number uint8 // 0 to 7
	Link   Link
	XOff   int64 // bytes of its profile that may arrive after a pause
	Pool   string
}

// Pool is the memory that groups share for headroom.
type Pool struct {
	Name string
	Size int64 // bytes; 0 means that each group has its own
}

// Verdict is the result for one pool.
type Verdict struct {
	Pool   Pool
	Ports  []string // with lossless groups in the pool, in the order of the groups
	Groups int
	Demand int64   // bytes that all groups together may need
	Ratio  float64 // of the demand to the size; 0 for a pool of size 0
}

// Short returns the groups whose profile is smaller than the floor of their link.
func Short(groups []Group) []Group {
	var out []Group
	for _, g := range groups {
		if g.XOff < g.Link.Floor() {
			out = append(out, g)
		}
	}
	return out
}

// Judge returns the demand of each pool, by name. A group counts with the greater of its profile and the floor of its link.
func Judge(groups []Group, pools []Pool) []Verdict {
	out := make([]Verdict, 0, len(pools))
	for _, p := range pools {
		v := Verdict{Pool: p}
		seen := map[string]bool{}
		for _, g := range groups {
			if g.Pool != p.Name {
				continue
			}
			v.Groups++
			v.Demand += max(g.XOff, g.Link.Floor())
			if !seen[g.Port] {
				seen[g.Port] = true
				v.Ports = append(v.Ports, g.Port)
			}
		}
		if p.Size > 0 {
			v.Ratio = float64(v.Demand) / float64(p.Size)
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b Verdict) int { return cmp.Compare(a.Pool.Name, b.Pool.Name) })
	return out
}
