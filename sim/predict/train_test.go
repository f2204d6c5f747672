package predict

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"fairlane/sim"
)

func TestMAPEIsEquation13(t *testing.T) {
	t.Parallel()
	// |0.1-0|/1 = 0.1, |0.5-1|/2 = 0.25, |-0.2+0.5|/0.5 = 0.6: mean 0.95/3; losses 0.1, 0.5, 0.3.
	var y tally
	for _, c := range [][2]float64{{0.1, 0}, {0.5, 1}, {-0.2, -0.5}} {
		y.add(c[0], c[1])
	}
	loss, mape := y.mean()
	if math.Abs(loss-0.3) > 1e-15 || math.Abs(mape-0.95/3) > 1e-15 {
		t.Errorf("loss %v, MAPE %v; want 0.3 and %v", loss, mape, 0.95/3)
	}
	// The same in terms of RTTs: with S = 10 us, the predicted RTTs are 11, 15 and 8, the actual ones 10, 20 and 5.
	rtts := (1.0/10 + 5.0/20 + 3.0/5) / 3
	if math.Abs(mape-rtts) > 1e-15 {
		t.Errorf("MAPE %v by labels, %v by RTTs", mape, rtts)
	}
	var m Model
	m.w[atOutB] = 0.1
	if loss, mape := m.Evaluate([]Row{{L: 0}, {L: 0.6}}); math.Abs(loss-0.3) > 1e-15 || math.Abs(mape-(0.1+0.5/1.6)/2) > 1e-15 {
		t.Errorf("Evaluate: loss %v, MAPE %v", loss, mape)
	}
	if loss, mape := m.Evaluate(nil); loss != 0 || mape != 0 {
		t.Errorf("Evaluate of nothing: %v, %v", loss, mape)
	}
}

// learnable returns rows whose label is a smooth function of all three features.
func learnable(n int, seed uint64) []Row {
	rng := sim.NewRNG(seed)
	out := make([]Row, n)
	for i := range out {
		k := &out[i].K
		for j := range k {
			k[j] = rng.Float64() - 0.5
		}
		out[i].L = 0.6*k[2] - 0.3*k[1] + 0.5*k[0]*k[2]
	}
	return out
}

func TestTrainingLowersTheLossOnLearnableData(t *testing.T) {
	t.Parallel()
	for _, batch := range []int{1, 8} {
		o := DefaultOptions(1)
		o.Batch = batch
		m, rounds, err := Train(learnable(19_000, 4), o)
		if err != nil {
			t.Fatal(err)
		}
		first, last := rounds[0], rounds[len(rounds)-1]
		if last.TestLoss > first.TestLoss/4 || last.TrainLoss > first.TrainLoss/4 {
			t.Errorf("batch %d: test loss %.4f to %.4f, training loss %.4f to %.4f: want at most a quarter",
				batch, first.TestLoss, last.TestLoss, first.TrainLoss, last.TrainLoss)
		}
		loss, _ := m.Evaluate(learnable(1000, 5))
		if loss > 2*last.TestLoss {
			t.Errorf("batch %d: loss %.4f on new rows, %.4f in the last round", batch, loss, last.TestLoss)
		}
	}
}

func TestTrainingIsAFunctionOfItsArguments(t *testing.T) {
	t.Parallel()
	rows := learnable(500, 1)
	train := func(seed uint64) ([]byte, []Round) {
		o := Options{Rounds: 4, TrainRows: 200, TestRows: 50, Batch: 3, Rate: 0.01, Seed: seed}
		m, rounds, err := Train(rows, o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return b, rounds
	}
	a, ra := train(1)
	b, rb := train(1)
	c, _ := train(2)
	if !bytes.Equal(a, b) || !slices.Equal(ra, rb) {
		t.Error("the same seed gives a different model")
	}
	if bytes.Equal(a, c) {
		t.Error("another seed gives the same model")
	}
}

func TestRoundsUseNewRowsWhileThereAreAny(t *testing.T) {
	t.Parallel()
	tr := newTrainer(learnable(100, 1), Options{Rounds: 9, TrainRows: 20, TestRows: 10, Batch: 1, Rate: 0.1, Seed: 3})
	for pass := range 2 {
		used := map[int]int{}
		for range 3 {
			for _, i := range tr.draw(30) {
				used[i]++
			}
		}
		if len(used) != 90 {
			t.Errorf("pass %d: three rounds of 30 use %d of 100 rows, want 90 different ones", pass, len(used))
		}
	}
}

func TestAdamStepsByHand(t *testing.T) {
	t.Parallel()
	var a adam
	a.rate = 0.1
	var w, g [Params]float64
	g[0], g[1] = 4, -0.5
	a.update(&w, &g) // bias correction makes the first step equal to the rate for any gradient
	if math.Abs(w[0]+0.1) > 1e-8 || math.Abs(w[1]-0.1) > 1e-8 || w[2] != 0 {
		t.Errorf("after one step %v, want -0.1, 0.1, 0", w[:3])
	}
	g[0] = 1
	a.update(&w, &g)
	// m = 0.9*0.4+0.1 = 0.46, over 1-0.81: 2.42105; v = 0.999*0.016+0.001 = 0.016984, over 1-0.998001: 8.49625.
	want := -0.1 - 0.1*2.4210526/math.Sqrt(8.4962481)
	if math.Abs(w[0]-want) > 1e-6 {
		t.Errorf("after two steps %v, want %v", w[0], want)
	}
}

func TestTrainRejectsInvalidRows(t *testing.T) {
	t.Parallel()
	good := Options{Rounds: 1, TrainRows: 8, TestRows: 2, Batch: 1, Rate: 0.1}
	for _, c := range []struct {
		name string
		edit func(rows []Row, o *Options)
		want string
	}{
		{"no rounds", func(_ []Row, o *Options) { o.Rounds = 0 }, "rounds 0"},
		{"too many rounds", func(_ []Row, o *Options) { o.Rounds = MaxRounds + 1 }, "want 1 to 10000"},
		{"no training rows", func(_ []Row, o *Options) { o.TrainRows = 0 }, "at least 1 of each"},
		{"no test rows", func(_ []Row, o *Options) { o.TestRows = -1 }, "at least 1 of each"},
		{"too few rows", func(_ []Row, o *Options) { o.TestRows = 3 }, "10 rows: want at least the 8 training and 3 test"},
		{"rows that overflow", func(_ []Row, o *Options) { o.TrainRows, o.TestRows = math.MaxInt, math.MaxInt }, "10 rows"},
		{"no batch", func(_ []Row, o *Options) { o.Batch = 0 }, "want 1 to 8"},
		{"batch above the round", func(_ []Row, o *Options) { o.Batch = 9 }, "want 1 to 8"},
		{"no rate", func(_ []Row, o *Options) { o.Rate = 0 }, "learning rate 0"},
		{"rate is no number", func(_ []Row, o *Options) { o.Rate = math.NaN() }, "learning rate NaN"},
		{"feature is no number", func(rows []Row, _ *Options) { rows[3].K[1] = math.NaN() }, "training row 3"},
		{"infinite feature", func(rows []Row, _ *Options) { rows[3].K[0] = math.Inf(-1) }, "training row 3"},
		{"label of no RTT", func(rows []Row, _ *Options) { rows[9].L = -1 }, "training row 9"},
		{"label out of range", func(rows []Row, _ *Options) { rows[9].L = 1e7 }, "training row 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rows, o := learnable(10, 1), good
			c.edit(rows, &o)
			if m, rounds, err := Train(rows, o); err == nil || !strings.Contains(err.Error(), c.want) || m != nil || rounds != nil {
				t.Errorf("error %v, want one with %q and no model", err, c.want)
			}
		})
	}
	if _, _, err := Train(learnable(10, 1), good); err != nil {
		t.Error(err)
	}
}

func BenchmarkTrainRow(b *testing.B) {
	tr := newTrainer(learnable(64, 1), DefaultOptions(1))
	var y tally
	batch := []int{5}
	b.ReportAllocs()
	for b.Loop() {
		tr.step(batch, &y)
	}
}
