package site

import (
	"strings"
	"testing"
)

func TestNICsOfSeveralVendorsAreNamed(t *testing.T) {
	t.Parallel()
	c := &etherCensus{}
	c.countVendor("NVIDIA", "host-2/P1")
	c.countVendor("NVIDIA", "host-1/P1")
	if found := c.mixedVendors(); len(found) != 0 {
		t.Errorf("one vendor: %v", found)
	}
	c.countVendor("Broadcom", "host-3/P1")
	c.countVendor("", "host-4/P1")
	found := c.mixedVendors()
	if len(found) != 1 {
		t.Fatalf("%v", found)
	}
	for _, part := range []string{"NVIDIA: host-1/P1, host-2/P1", "Broadcom: host-3/P1", "unknown vendor: host-4/P1"} {
		if !strings.Contains(found[0].String(), part) {
			t.Errorf("%q does not contain %q", found[0], part)
		}
	}
	var o Found
	if c.summarize(&o); len(o.Warnings) != 1 || o.Settings != 1 {
		t.Errorf("%d warnings, %d of them about settings; want one, or the doctor reports devices that do not answer", len(o.Warnings), o.Settings)
	}
}
