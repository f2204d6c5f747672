package cmdline

import (
	"strings"
	"testing"
)

func TestSeeds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{"0": 0, "7": 7, "0x10": 16, "18446744073709551615": 1<<64 - 1} {
		var v seedValue
		if err := v.Set(text); err != nil || uint64(v) != want {
			t.Errorf("%s: %d, %v", text, v, err)
		}
	}
	for _, text := range []string{"-1", "", "1.5", "much", "18446744073709551616"} {
		v := seedValue(3)
		if err := v.Set(text); err == nil || !strings.Contains(err.Error(), "want a whole number from 0 to 18446744073709551615") || v != 3 {
			t.Errorf("%q: %d, %v", text, v, err)
		}
	}
}
