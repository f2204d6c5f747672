// Package headroom computes the buffer that a lossless priority group of a switch port needs for the packets that arrive after it has
// sent a pause, and compares the needs of a switch with the memory that its ports share. All values are in bytes.
package headroom

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fairlane/internal/quantity"
)

// DefaultMTU is the largest frame of a port whose configuration does not state one: the default of SONiC.
const DefaultMTU = 9100

// Limits of a link.
const (
	MaxMetres = 40000 // 40 km
	MaxMTU    = 9216
)

// Oversubscription is the default largest ratio of the headroom of all groups to the shared memory. Vendors' own profiles reach 2.8,
// since not all ports are paused at once; a ratio of 1 never loses a packet.
const Oversubscription = 3

// Speed of signals in a cable, in m/s, and constant parts of the need: the frame with the pause, and the delay of its sender.
const (
	signalSpeed = 198e6
	ownDelay    = 819
	quantum     = 64 // a pause quantum is 512 bits
	kilo        = 1024
)

// Link is the part of a port that determines its headroom.
type Link struct {
	Rate   quantity.BitRate
	Metres int // cable length
	MTU    int // largest frame of the port
}

// Validate returns an error that names the value out of range.
func (l Link) Validate() error {
	switch {
	case l.Rate <= 0:
		return fmt.Errorf("rate %s, want more than 0", l.Rate)
	case l.Metres < 0 || l.Metres > MaxMetres:
		return fmt.Errorf("cable of %d m, want 0 to %d", l.Metres, MaxMetres)
	case l.MTU < 64 || l.MTU > MaxMTU:
		return fmt.Errorf("MTU %d, want 64 to %d", l.MTU, MaxMTU)
	}
	return nil
}

// cable returns the bytes that are in the cable in both directions.
func (l Link) cable() float64 {
	return 2 * float64(l.Metres) * float64(l.Rate) / signalSpeed / 8
}

// Floor returns the need without the reaction time of the peer and without cells: one frame that delays the pause, one frame that the peer has
// started, and the cable in both directions. With less, a lossless group loses packets on any ASIC. Vendors' profiles are above it.
func (l Link) Floor() int64 {
	return int64(math.Ceil(2*float64(l.MTU) + l.cable() + quantum))
}

// Family is an ASIC family whose formula is public.
type Family uint8

// Families. Formulas of other ASICs are not public: their profiles are compared with Floor only.
const (
	Unknown   Family = 0
	Spectrum1 Family = 1
	Spectrum2 Family = 2
	Spectrum3 Family = 3
	Spectrum4 Family = 4
	Spectrum5 Family = 5
	Spectrum6 Family = 6
)

// cell returns the size of a buffer cell.
func (f Family) cell() int {
	switch f {
	case Spectrum1:
		return 96
	case Spectrum2, Spectrum3:
		return 144
	case Spectrum4, Spectrum5:
		return 192
	case Spectrum6:
		return 256
	case Unknown:
	}
	return 0
}

// peerQuanta returns the reaction time of the peer in pause quanta, by the rate of the link.
func peerQuanta(rate quantity.BitRate) int {
	switch {
	case rate <= 100*quantity.Gbps:
		return 394
	case rate <= 200*quantity.Gbps:
		return 453
	}
	return 905
}

// Need returns the vendor's formula for a group whose traffic consists of small packets only, which fill cells worst. frame is the
// largest frame of lossless traffic. It returns false for a family without a public formula.
func (f Family) Need(l Link, frame int) (int64, bool) {
	cell := f.cell()
	if cell == 0 {
		return 0, false
	}
	worst := math.Ceil(float64(cell) / 64)
	if cell <= 128 {
		worst = math.Ceil(2 * float64(cell) / float64(cell+1))
	}
	sum := float64(l.MTU) + l.cable() + ownDelay + float64(peerQuanta(l.Rate)*quantum)
	if f == Spectrum4 || f == Spectrum5 {
		sum += 15 * float64(l.Rate) / float64(quantity.Gbps)
	}
	need := ceil(float64(frame) + sum*worst)
	if f == Spectrum6 {
		need += 18 * kilo
	}
	return need, true
}

// ceil rounds up to a multiple of 1024.
func ceil(v float64) int64 { return int64(math.Ceil(v/kilo)) * kilo }

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
