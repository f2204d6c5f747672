package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

func TestNamesOfTheSameDevice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"leaf-1", "leaf-1", true},
		{"leaf-1", "LEAF-1", true},
		{"leaf-1", "leaf-1.dc1.example.net", true},
		{"leaf-1.dc1.example.net", "Leaf-1.DC1.example.net.", true},
		{"leaf-1", "leaf-1.", true},
		{"leaf-1", "leaf-2", false},
		{"leaf-1", "leaf-10", false},
		{"leaf-1.dc1", "leaf-1.dc2", false},
		{"leaf-1.dc1", "leaf-1.dc1.example.net", false},
		{"leaf 1", "leaf-1", false},
	} {
		if got := driver.SameName(c.a, c.b); got != c.same || driver.SameName(c.b, c.a) != got {
			t.Errorf("%q and %q: %v, want %v both ways", c.a, c.b, got, c.same)
		}
	}
}

func TestADeviceOfAnotherName(t *testing.T) {
	t.Parallel()
	d := driver.Device{Plane: driver.PlaneRoCE, ID: ident.PortID{Node: 0x11}, Name: "leaf-1", Kind: subnet.KindSwitch, Ports: 4}
	for _, quiet := range [][2]string{{"leaf-1", "leaf-1"}, {"leaf-1", ""}, {"", "leaf-2"}} {
		if err := driver.CheckName(d, "10.0.0.1:1", quiet[0], quiet[1]); err != nil {
			t.Errorf("want %q, found %q: %v", quiet[0], quiet[1], err)
		}
	}
	err := fmt.Errorf("apply: %w", driver.CheckName(d, "10.0.0.1:1", "leaf-1", "leaf-2"))
	if !errors.Is(err, driver.ErrConflict) || errors.Is(err, driver.ErrInvalid) {
		t.Errorf("error %v, want a conflict and nothing else", err)
	}
	for _, word := range []string{d.String(), `calls itself "leaf-2", want "leaf-1"`, "10.0.0.1:1", `hostname: "leaf-2"`} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not contain %q", err, word)
		}
	}
	long := driver.CheckName(d, "10.0.0.1:1", "leaf-1", strings.Repeat("x", 1<<20))
	if n := len(long.Error()); n > 2000 {
		t.Errorf("a name of 1 MiB makes an error of %d bytes", n)
	}
}
