package subnet_test

import (
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/subnet"
)

func TestSpeedTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s         subnet.Speed
		name      string
		lane      quantity.BitRate
		base, ext uint8
	}{
		{subnet.SDR, "SDR", 2e9, 1, 0}, {subnet.DDR, "DDR", 4e9, 2, 0}, {subnet.QDR, "QDR", 8e9, 4, 0},
		{subnet.FDR10, "FDR10", 10e9, 4, 0}, {subnet.FDR, "FDR", 13_636_363_636, 4, 1}, {subnet.EDR, "EDR", 25e9, 4, 2},
		{subnet.HDR, "HDR", 50e9, 4, 4}, {subnet.NDR, "NDR", 100e9, 4, 8}, {subnet.XDR, "XDR", 200e9, 4, 16},
		{subnet.SpeedUnknown, "???", 0, 0, 0}, {subnet.XDR + 1, "???", 0, 0, 0},
	} {
		base, ext := c.s.Codes()
		if c.s.String() != c.name || c.s.LaneRate() != c.lane || base != c.base || ext != c.ext {
			t.Errorf("speed %d: %s, %d bit/s, codes %d %d; want %+v", c.s, c.s, c.s.LaneRate(), base, ext, c)
		}
		if c.lane == 0 {
			continue
		}
		if got, err := subnet.ParseSpeed(strings.ToLower(c.name)); err != nil || got != c.s {
			t.Errorf("parse %s: %v, %v", c.name, got, err)
		}
		want := c.s
		if want == subnet.FDR10 {
			want = subnet.QDR // PortInfo does not distinguish them
		}
		if got := subnet.SpeedFromCodes(base, ext); got != want {
			t.Errorf("codes of %s give %s", c.s, got)
		}
	}
}

func TestSpeedFromCodesOfMasksAndNonsense(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base, ext uint8
		want      subnet.Speed
	}{
		{0, 0, subnet.SpeedUnknown}, {7, 0, subnet.QDR}, {3, 0, subnet.DDR}, {7, 15, subnet.NDR}, {0, 3, subnet.EDR},
		{8, 0, subnet.SpeedUnknown}, {4, 32, subnet.SpeedUnknown}, {255, 255, subnet.XDR},
	} {
		if got := subnet.SpeedFromCodes(c.base, c.ext); got != c.want {
			t.Errorf("codes %d %d give %s, want %s", c.base, c.ext, got, c.want)
		}
	}
}

func TestWidthTable(t *testing.T) {
	t.Parallel()
	for w, code := range map[subnet.Width]uint8{1: 1, 4: 2, 8: 4, 12: 8, 2: 16, 0: 0, 3: 0, 255: 0} {
		if w.Code() != code {
			t.Errorf("width %d has code %d, want %d", w, w.Code(), code)
		}
		if code == 0 {
			if w.String() != "??" {
				t.Errorf("width %d is formatted as %s", w, w)
			}
			continue
		}
		if got := subnet.WidthFromCode(code); got != w {
			t.Errorf("code %d gives %s, want %s", code, got, w)
		}
		for _, text := range []string{w.String(), strings.ToUpper(w.String()), strings.TrimSuffix(w.String(), "x")} {
			if got, err := subnet.ParseWidth(text); err != nil || got != w {
				t.Errorf("parse %s: %v, %v", text, got, err)
			}
		}
	}
	if got := subnet.WidthFromCode(0x0b); got != 12 {
		t.Errorf("mask 1x 4x 12x gives %s", got)
	}
}

func TestWidthSpeedText(t *testing.T) {
	t.Parallel()
	for _, w := range []subnet.Width{0, 1, 2, 4, 8, 12} {
		for s := subnet.SpeedUnknown; s <= subnet.XDR; s++ {
			text := subnet.FormatWidthSpeed(w, s)
			if gw, gs, err := subnet.ParseWidthSpeed(text); err != nil || gw != w || gs != s {
				t.Errorf("%s reads as %s%s, %v", text, gw, gs, err)
			}
		}
	}
	for _, text := range []string{"", "4", "x", "EDR", "3xEDR", "4xABC", "4x", "??", "??x", "4x ????"} {
		if w, s, err := subnet.ParseWidthSpeed(text); err == nil {
			t.Errorf("%q reads as %s%s", text, w, s)
		}
	}
}

func TestLinkRates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		w    subnet.Width
		s    subnet.Speed
		rate quantity.BitRate
	}{
		{4, subnet.SDR, 8e9}, {4, subnet.QDR, 32e9}, {4, subnet.EDR, 100e9}, {2, subnet.HDR, 100e9}, {4, subnet.NDR, 400e9},
		{12, subnet.XDR, 2400e9}, {0, subnet.EDR, 0}, {4, 0, 0},
	} {
		if got := subnet.LinkRate(c.w, c.s); got != c.rate {
			t.Errorf("%s%s: %s, want %s", c.w, c.s, got, c.rate)
		}
	}
}

func TestWidthSpeedFor(t *testing.T) {
	t.Parallel()
	for rate, want := range map[quantity.BitRate]string{
		100e9: "4xEDR", 200e9: "4xHDR", 400e9: "4xNDR", 800e9: "4xXDR", 10e9: "1xFDR10", 25e9: "1xEDR", 8e9: "4xSDR", 32e9: "4xQDR",
		40e9: "4xFDR10", 50e9: "2xEDR", 54_545_454_544: "4xFDR",
	} {
		w, s, ok := subnet.WidthSpeedFor(rate)
		if got := subnet.FormatWidthSpeed(w, s); !ok || got != want {
			t.Errorf("%s: %s, want %s", rate, got, want)
		}
		if subnet.LinkRate(w, s) != rate {
			t.Errorf("%s is not the rate of %s%s", rate, w, s)
		}
	}
	for _, rate := range []quantity.BitRate{0, -1, 1, 33e9, quantity.MaxBitRate} {
		if w, s, ok := subnet.WidthSpeedFor(rate); ok {
			t.Errorf("%s is described as %s%s", rate, w, s)
		}
	}
}

func TestTextsOfKindsAndStates(t *testing.T) {
	t.Parallel()
	for k, want := range map[subnet.NodeKind]string{1: "CA", 2: "switch", 3: "router", 9: "node kind 9"} {
		if k.String() != want {
			t.Errorf("kind %d is %q", uint8(k), k)
		}
	}
	for s, want := range map[subnet.PortState]string{0: "unknown", 1: "down", 2: "init", 3: "armed", 4: "active", 7: "unknown"} {
		if s.String() != want {
			t.Errorf("state %d is %q", uint8(s), s)
		}
	}
}
