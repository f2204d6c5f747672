package subnet

import (
	"fmt"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
)

// lane describes one signalling generation. Base and ext are the one-bit codes of
// LinkSpeedActive and LinkSpeedExtActive (IBTA vol. 1, 14.2.5.6, table PortInfo).
type lane struct {
	name      string
	rate      quantity.BitRate
	base, ext uint8
}

// laneOf returns the description of a generation. Rates are after 8b/10b or 64b/66b coding. With an extended speed
// the base field has code 4, 10 Gbit/s, as on devices. FDR10 is a vendor's speed, which PortInfo reports as QDR.
func laneOf(s Speed) lane {
	switch s {
	case SDR:
		return lane{"SDR", 2 * quantity.Gbps, 1, 0}
	case DDR:
		return lane{"DDR", 4 * quantity.Gbps, 2, 0}
	case QDR:
		return lane{"QDR", 8 * quantity.Gbps, 4, 0}
	case FDR10:
		return lane{"FDR10", 10 * quantity.Gbps, 4, 0}
	case FDR:
		return lane{"FDR", 13_636_363_636 * quantity.BitPerSecond, 4, 1} // 14.0625 x 64/66
	case EDR:
		return lane{"EDR", 25 * quantity.Gbps, 4, 2}
	case HDR:
		return lane{"HDR", 50 * quantity.Gbps, 4, 4}
	case NDR:
		return lane{"NDR", 100 * quantity.Gbps, 4, 8}
	case XDR:
		return lane{"XDR", 200 * quantity.Gbps, 4, 16}
	default:
		return lane{}
	}
}

// LaneRate returns the data rate of one lane in one direction, after line coding; 0 when the speed is unknown.
func (s Speed) LaneRate() quantity.BitRate { return laneOf(s).rate }

// String returns the generation's name, such as "EDR". An unknown one is "???", as in InfiniBand tools.
func (s Speed) String() string {
	if n := laneOf(s).name; n != "" {
		return n
	}
	return "???"
}

// ParseSpeed parses a generation's name, SDR to XDR, in either case.
func ParseSpeed(t string) (Speed, error) {
	for s := SDR; s <= XDR; s++ {
		if strings.EqualFold(t, laneOf(s).name) {
			return s, nil
		}
	}
	return SpeedUnknown, fault(phrase.Of("subnet.speed", "found", strconv.Quote(t)))
}

// Codes returns the codes of the speed for PortInfo: base for LinkSpeedActive (1, 2 or 4) and ext for LinkSpeedExtActive
// (1 FDR, 2 EDR, 4 HDR, 8 NDR, 0 none). XDR's code, 16, does not fit the four-bit field and needs a device with the
// second extended-speed field. Both are 0 when the speed is unknown.
func (s Speed) Codes() (base, ext uint8) {
	l := laneOf(s)
	return l.base, l.ext
}

// SpeedFromCodes returns the inverse of Codes: a non-zero extended code takes precedence. For a field with several bits, as in
// the enabled and supported fields, it returns the fastest; for an unknown code, SpeedUnknown. QDR's code may also mean
// FDR10.
func SpeedFromCodes(base, ext uint8) Speed {
	for s := XDR; s >= FDR; s-- {
		if _, e := s.Codes(); e&ext != 0 {
			return s
		}
	}
	if ext != 0 {
		return SpeedUnknown
	}
	for s := QDR; s >= SDR; s-- {
		if b, _ := s.Codes(); b&base != 0 {
			return s
		}
	}
	return SpeedUnknown
}

// Code returns the width's one-bit code in LinkWidthActive: 1x 1, 4x 2, 8x 4, 12x 8, 2x 16; 0 when the width is unknown.
func (w Width) Code() uint8 {
	switch w {
	case 1:
		return 1
	case 4:
		return 2
	case 8:
		return 4
	case 12:
		return 8
	case 2:
		return 16
	default:
		return 0
	}
}

// WidthFromCode returns the inverse of Width.Code. For a field with several bits it returns the widest; for an unknown code,
// 0.
func WidthFromCode(c uint8) Width {
	for _, w := range [...]Width{12, 8, 4, 2, 1} {
		if w.Code()&c != 0 {
			return w
		}
	}
	return 0
}

// String returns the width as "4x". An unknown one is "??", as in InfiniBand tools.
func (w Width) String() string {
	if w.Code() == 0 {
		return "??"
	}
	return fmt.Sprintf("%dx", uint8(w))
}

// ParseWidth parses "4x" or "4".
func ParseWidth(t string) (Width, error) {
	switch strings.TrimSuffix(strings.ToLower(t), "x") {
	case "1":
		return 1, nil
	case "2":
		return 2, nil
	case "4":
		return 4, nil
	case "8":
		return 8, nil
	case "12":
		return 12, nil
	}
	return 0, fault(phrase.Of("subnet.width", "found", strconv.Quote(t)))
}

// FormatWidthSpeed formats both as "4xEDR", the form that ibnetdiscover uses.
func FormatWidthSpeed(w Width, s Speed) string { return w.String() + s.String() }

// ParseWidthSpeed parses "4xEDR". The marks "??" and "???" mean unknown.
func ParseWidthSpeed(t string) (w Width, s Speed, err error) {
	rest, found := strings.CutPrefix(t, "??")
	if !found {
		i := strings.IndexAny(t, "xX")
		if i < 0 {
			return 0, 0, fault(phrase.Of("subnet.width-speed", "found", strconv.Quote(t)))
		}
		if w, err = ParseWidth(t[:i]); err != nil {
			return 0, 0, err
		}
		rest = t[i+1:]
	}
	if rest == "???" {
		return w, SpeedUnknown, nil
	}
	s, err = ParseSpeed(rest)
	if err != nil {
		return 0, 0, err
	}
	return w, s, nil
}

// LinkRate returns the data rate of a link in one direction: lanes times the rate of a lane; 0 when either is unknown.
func LinkRate(w Width, s Speed) quantity.BitRate {
	return quantity.BitRate(w) * s.LaneRate()
}

// WidthSpeedFor returns the width and speed with exactly the given data rate: four lanes first, as in real cables, then
// narrower, then wider, and older generations first. It prefers speeds that PortInfo can distinguish over FDR10. False
// means that no combination has this rate.
func WidthSpeedFor(r quantity.BitRate) (Width, Speed, bool) {
	if r <= 0 {
		return 0, SpeedUnknown, false
	}
	try := func(vendor bool) (Width, Speed, bool) {
		for _, w := range [...]Width{4, 2, 1, 8, 12} {
			for s := SDR; s <= XDR; s++ {
				if (s == FDR10) == vendor && LinkRate(w, s) == r {
					return w, s, true
				}
			}
		}
		return 0, SpeedUnknown, false
	}
	if w, s, ok := try(false); ok {
		return w, s, true
	}
	return try(true)
}

// String returns the kind as "CA", "switch" or "router".
func (k NodeKind) String() string {
	switch k {
	case KindCA:
		return "CA"
	case KindSwitch:
		return "switch"
	case KindRouter:
		return "router"
	default:
		return fmt.Sprintf("node kind %d", uint8(k))
	}
}

// String returns the state as "down", "init", "armed", "active", or "unknown".
func (s PortState) String() string {
	switch s {
	case PortDown:
		return "down"
	case PortInit:
		return "init"
	case PortArmed:
		return "armed"
	case PortActive:
		return "active"
	default:
		return "unknown"
	}
}
