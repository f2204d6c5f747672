package predict

import (
	"fmt"
	"math"

	"fairlane/sim"
)

// MaxRounds is the largest number of training rounds.
const MaxRounds = 10_000

// Options are the options of training. DefaultOptions returns those of S3.
type Options struct {
	Rounds    int     // 1 to MaxRounds
	TrainRows int     // training rows of each round, at least 1
	TestRows  int     // test rows of each round, at least 1
	Batch     int     // rows per step of the optimizer, 1 to TrainRows
	Rate      float64 // learning rate, above 0 and at most 1
	Seed      uint64  // seed of the initial weights and of the order of rows
}

// DefaultOptions returns the published options: 19 rounds of 800 training and 200 test rows, learning rate 0.001 (S3, 3.4.2).
// S3 gives no batch size; with one row per step, 15,200 rows are enough to reach the published errors.
func DefaultOptions(seed uint64) Options {
	return Options{Rounds: 19, TrainRows: 800, TestRows: 200, Batch: 1, Rate: 0.001, Seed: seed}
}

// Round is the result of one round. Errors of training rows are measured before the network is trained with them.
type Round struct {
	TrainLoss, TestLoss float64 // mean |out - L| (S3, equation 11)
	TrainMAPE, TestMAPE float64 // as a ratio: 0.036 is 3.6 % (S3, equation 13)
}

// Train fits a network to rows with the L1 loss (S3, equation 11) and Adam (Kingma and Ba, "Adam: a method for stochastic
// optimization", ICLR 2015, algorithm 1). Each round takes new rows in random order; after all rows have been used, Train
// shuffles them again. With 19,000 rows or more and the default options, no row is used twice. The result is a function of
// the arguments, with the same bits on every machine. Weights are rounded to single precision, as in model files.
//
// Train returns an error when there are fewer rows than one round takes, when a row is not finite or has a label of -1 or
// less, and when an option is out of range.
func Train(rows []Row, o Options) (*Model, []Round, error) {
	if err := o.check(len(rows)); err != nil {
		return nil, nil, err
	}
	for i := range rows {
		if !rows[i].valid() {
			return nil, nil, fmt.Errorf("training row %d: %v: want finite numbers and a label above -1", i, rows[i])
		}
	}
	t := newTrainer(rows, o)
	out := make([]Round, o.Rounds)
	for i := range out {
		out[i] = t.round()
	}
	m := t.model
	for i, w := range m.w {
		m.w[i] = float64(float32(w))
	}
	if err := m.check(); err != nil {
		return nil, nil, fmt.Errorf("training diverged: %w", err)
	}
	return &m, out, nil
}

func (o *Options) check(rows int) error {
	switch {
	case o.Rounds < 1 || o.Rounds > MaxRounds:
		return fmt.Errorf("rounds %d: want 1 to %d", o.Rounds, MaxRounds)
	case o.TrainRows < 1 || o.TestRows < 1:
		return fmt.Errorf("%d training and %d test rows per round: want at least 1 of each", o.TrainRows, o.TestRows)
	case o.TrainRows > rows || o.TestRows > rows-o.TrainRows:
		return fmt.Errorf("%d rows: want at least the %d training and %d test rows of a round", rows, o.TrainRows, o.TestRows)
	case o.Batch < 1 || o.Batch > o.TrainRows:
		return fmt.Errorf("batch of %d rows: want 1 to %d", o.Batch, o.TrainRows)
	case !(o.Rate > 0 && o.Rate <= 1):
		return fmt.Errorf("learning rate %v: want more than 0, at most 1", o.Rate)
	}
	return nil
}

// maxFeature limits features and labels: an RTT a million times the smoothed one indicates a broken clock.
const maxFeature = 1e6

func (r *Row) valid() bool {
	for _, k := range r.K {
		if !(math.Abs(k) <= maxFeature) {
			return false
		}
	}
	return r.L > -1 && r.L <= maxFeature
}

type trainer struct {
	model Model
	rows  []Row
	opt   Options
	rng   sim.RNG
	order []int // unused rows, taken from the end
	adam  adam
	grad  [Params]float64
	pass  pass
}

func newTrainer(rows []Row, o Options) *trainer {
	t := &trainer{rows: rows, opt: o, rng: sim.NewRNG(o.Seed)}
	// The usual initialization of an LSTM layer: uniform within 1/sqrt(Hidden) of zero.
	const bound = 1.0 / 4 // Hidden is 16
	for i := range t.model.w {
		t.model.w[i] = float64((float64(2*t.rng.Float64()) - 1) * bound)
	}
	t.adam.rate = o.Rate
	return t
}

// draw returns the rows of one round.
func (t *trainer) draw(n int) []int {
	if len(t.order) < n {
		t.order = make([]int, len(t.rows))
		for i := range t.order {
			t.order[i] = i
		}
		shuffle(&t.rng, t.order)
	}
	at := len(t.order) - n
	taken := t.order[at:]
	t.order = t.order[:at]
	return taken
}

func (t *trainer) round() Round {
	taken := t.draw(t.opt.TrainRows + t.opt.TestRows)
	learn, test := taken[:t.opt.TrainRows], taken[t.opt.TrainRows:]
	var seen, unseen tally
	for len(learn) > 0 {
		batch := learn[:min(t.opt.Batch, len(learn))]
		learn = learn[len(batch):]
		t.step(batch, &seen)
	}
	for _, i := range test {
		unseen.add(t.pass.forward(&t.model.w, &t.rows[i].K), t.rows[i].L)
	}
	var r Round
	r.TrainLoss, r.TrainMAPE = seen.mean()
	r.TestLoss, r.TestMAPE = unseen.mean()
	return r
}

// step updates the weights with the gradient of the mean L1 loss of one batch.
func (t *trainer) step(batch []int, seen *tally) {
	clear(t.grad[:])
	for _, i := range batch {
		row := &t.rows[i]
		out := t.pass.forward(&t.model.w, &row.K)
		seen.add(out, row.L)
		slope := 1 / float64(len(batch))
		switch {
		case out < row.L:
			slope = -slope
		case out == row.L:
			continue
		}
		t.pass.backward(&t.model.w, slope, &t.grad)
	}
	t.adam.update(&t.model.w, &t.grad)
}

// tally sums errors.
type tally struct {
	n         int
	abs, mape float64
}

func (y *tally) add(out, label float64) {
	d := math.Abs(out - label)
	y.n++
	y.abs += d
	y.mape += d / (1 + label)
}

func (y *tally) mean() (loss, mape float64) {
	if y.n == 0 {
		return 0, 0
	}
	return y.abs / float64(y.n), y.mape / float64(y.n)
}

// Evaluate returns the model's mean |out - L| over rows, and the mean absolute percentage error of the predicted RTT as a
// ratio, the mean of |out - L| / (1 + L) (S3, equations 11 and 13). Without rows both are 0.
func (m *Model) Evaluate(rows []Row) (loss, mape float64) {
	var y tally
	for i := range rows {
		y.add(m.Predict(&rows[i].K), rows[i].L)
	}
	return y.mean()
}
