package scenario

import (
	"strings"
	"testing"

	"fairlane/internal/quantity"
)

func TestDefaultTimesGrowWithDuration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text             string
		interval, sample quantity.Picoseconds
	}{
		{"", ms, 10 * us},
		{"duration: 100s\n", ms, 10 * us},
		{"duration: 1000s\n", 10 * ms, 100 * us},
		{"duration: 1000s\ninterval: 1s\n", quantity.Second, 100 * us},
		{"duration: 1ms\ninterval: 5us\n", 5 * us, 5 * us},
	} {
		s := parse(t, c.text+"flows: [{src: h1, dst: h2}]\n")
		if s.Interval != c.interval || s.Ethernet.Sample != c.sample {
			t.Errorf("%q: interval %s, sample %s", c.text, s.Interval, s.Ethernet.Sample)
		}
	}
	s := parse(t, "flows: [{src: h1, dst: h2}]\n")
	if err := s.SetTimes(1000*quantity.Second, s.Interval); err != nil || s.Interval != 10*ms || s.Ethernet.Sample != 100*us {
		t.Errorf("%v, interval %s, sample %s", err, s.Interval, s.Ethernet.Sample)
	}
	s = parse(t, "interval: 1ms\nflows: [{src: h1, dst: h2}]\n")
	if err := s.SetTimes(1000*quantity.Second, s.Interval); err == nil || !strings.Contains(err.Error(), "interval 1 ms") {
		t.Errorf("an interval set in the file: %v", err)
	}
}
