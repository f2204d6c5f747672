package predict

import (
	"testing"

	"fairlane/internal/testkit/goldentest"
)

// Training by the documented procedure reproduces the built-in model byte by byte, and reaches the results that S3 reports.
// In S3, the test error falls to a third or less, and to a few percent in the end (table 1: 0.081 to 0.036).
func TestBuiltInModelIsReproducible(t *testing.T) {
	t.Parallel()
	m, rounds, err := TrainDefault()
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	goldentest.Compare(t, "model.json", got)
	for i, r := range rounds {
		t.Logf("round %2d: loss %.4f train, %.4f test; MAPE %.4f train, %.4f test", i+1, r.TrainLoss, r.TestLoss, r.TrainMAPE, r.TestMAPE)
	}
	if len(rounds) != 19 {
		t.Fatalf("%d rounds, want 19", len(rounds))
	}
	last := 0.0
	for _, r := range rounds[14:] {
		last += r.TestMAPE / 5
	}
	if last > rounds[0].TestMAPE/2 || last > 0.08 {
		t.Errorf("test MAPE %.3f after round 1, %.3f over the last five: want half or less, and at most 0.08", rounds[0].TestMAPE, last)
	}
}

func TestDefaultRowsAreBalancedAndTheModelBeatsTheBaselines(t *testing.T) {
	t.Parallel()
	m, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := DefaultRows(99) // not the rows of the training
	if err != nil {
		t.Fatal(err)
	}
	var in [Ranges]int
	var still, smooth tally
	for _, r := range rows {
		in[RangeOf(r.K[Sequence-1])]++
		still.add(r.K[Sequence-1], r.L) // guess: the next RTT equals the last one
		smooth.add(0, r.L)              // guess: the next RTT equals the smoothed one
	}
	if want := [Ranges]int{4765, 4765, 4765, 4765}; in != want {
		t.Errorf("rows by range %v, want %v", in, want)
	}
	_, ours := m.Evaluate(rows)
	_, a := still.mean()
	_, b := smooth.mean()
	t.Logf("MAPE %.4f; last RTT %.4f; smoothed RTT %.4f", ours, a, b)
	if ours > 0.8*a || ours > 0.8*b {
		t.Errorf("MAPE %.4f: the last RTT as the guess gives %.4f, the smoothed RTT %.4f", ours, a, b)
	}
}
