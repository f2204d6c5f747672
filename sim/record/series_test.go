package record

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/internal/quantity"
)

// A series ends at its row limit, with a comment that gives the time of the first missing row. The other files continue.
func TestSeriesAreTruncated(t *testing.T) {
	t.Parallel()
	dir, err := NewDir(t.TempDir(), Header{Scenario: "x", Seed: 3, Version: "v"})
	if err != nil {
		t.Fatal(err)
	}
	flows, err := dir.FlowSeries("rate_bps", "alpha")
	if err != nil {
		t.Fatal(err)
	}
	queues, err := dir.QueueSeries()
	if err != nil {
		t.Fatal(err)
	}
	pauses, err := dir.Pauses()
	if err != nil {
		t.Fatal(err)
	}
	flows.most = 2
	for i := range quantity.Picoseconds(4) {
		at := (i + 1) * quantity.Microsecond
		if err := flows.Write(at, int64(i), int64(i)-1, []float64{1e9 + float64(i)/2, math.NaN()}); err != nil {
			t.Fatal(err)
		}
		if err := queues.Write(at, "sw1/P1", 10*int64(i)); err != nil {
			t.Fatal(err)
		}
		if err := pauses.Write(at, "sw1/P1", 3, i%2 == 0); err != nil {
			t.Fatal(err)
		}
	}
	if at, cut := flows.Cut(); !cut || at != 3*quantity.Microsecond {
		t.Errorf("rate decrease %v at %s", cut, at)
	}
	if _, cut := queues.Cut(); cut {
		t.Error("the queue series is cut off")
	}
	if err := dir.Finish(nil); err != nil {
		t.Fatal(err)
	}
	const head = "# scenario: x\n# seed: 3\n# version: v\n"
	for name, want := range map[string]string{
		"series-flows.csv":  "t_us,id,flow_id,rate_bps,alpha\n1.000000,0,,1000000000,\n2.000000,1,0,1000000000.5,\n# cut off: 2 rows; those from 3 us on are missing\n",
		"series-queues.csv": "t_us,port,bytes\n1.000000,sw1/P1,0\n2.000000,sw1/P1,10\n3.000000,sw1/P1,20\n4.000000,sw1/P1,30\n",
		"pauses.csv":        "t_us,port,class,event\n1.000000,sw1/P1,3,pause\n2.000000,sw1/P1,3,resume\n3.000000,sw1/P1,3,pause\n4.000000,sw1/P1,3,resume\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir.Path(), name))
		if err != nil || string(got) != head+want {
			t.Errorf("%s: %v\n%s", name, err, strings.TrimPrefix(string(got), head))
		}
	}
}
