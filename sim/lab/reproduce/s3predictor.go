package reproduce

import (
	"context"
	"fmt"

	"fairlane/sim"
	"fairlane/sim/cc"
	"fairlane/sim/predict"
)

// predictorSeeds is the number of trained predictors; S3 shows one.
const predictorSeeds = 3

// s3PerRange is the largest number of rows from each of the four ranges of |K|. The total is at most 19,060; S3 has 19,058
// (3.4.2).
const s3PerRange = 4765

// s3TestMAPE and s3TrainMAPE are S3's table 1, by round.
func s3TestMAPE() []float64 {
	return []float64{8.1, 7.9, 5.9, 8.3, 5.8, 6.7, 5.3, 4.5, 4.4, 4.2, 4.5, 3.9, 4.4, 3.7, 4.3, 3.5, 3.8, 4.2, 3.6}
}

func s3TrainMAPE() []float64 {
	return []float64{11.3, 8.9, 8.3, 6.4, 6.1, 5.0, 5.2, 5.5, 5.1, 4.6, 4.4, 4.2, 3.9, 4.0, 4.2, 4.0, 4.0, 3.6, 3.5}
}

// s3Effect is the improvement by the predictor compared with the controller alone (4.3.2), percent.
type s3Effect struct{ rate, p99, most, mean float64 }

func publishedEffect() s3Effect { return s3Effect{43.12, -18.9, -16.12, 1.38} }

// effectOf compares a run with prediction to one without.
func effectOf(with, without incastFigures) s3Effect {
	change := func(a, b float64) float64 { return 100 * (a/b - 1) }
	return s3Effect{
		change(with.rate, without.rate), change(with.p99, without.p99), change(with.most, without.most), change(with.mean, without.mean),
	}
}

// s3Sources returns the sources of S3's rows (3.4.2): TIMELY, and the controller while its gains are trained from their initial
// values.
func s3Sources() []s3Control {
	return []s3Control{
		{label: "timely", name: "timely"},
		{label: "pid", name: "pidnn", values: map[string]string{"predictor": "false", "gains": "initial", "train": "flow"}},
	}
}

// sampleRows runs the incast under each source and returns the rows of all senders.
func sampleRows(ctx context.Context, sizes []int64) ([]predict.Row, error) {
	rec := predict.NewRecorder(1 << 20)
	for _, c := range s3Sources() {
		alg, err := c.build()
		if err != nil {
			return nil, err
		}
		if _, err := sendIncast(ctx, c, cc.SampleRTT(alg, rec), sizes, nil); err != nil {
			return nil, err
		}
	}
	return rec.Rows(), nil
}

// trained holds the results of one predictor, including those in the incast.
type trained struct {
	sampled, used int // rows
	rounds        []predict.Round
	still         float64 // error of assuming a constant RTT, over all balanced rows, percent
	builtIn       float64 // error of the built-in model over all balanced rows, percent
	last          float64 // error of the trained model over all balanced rows, percent
	run           *incastRun
}

// trainPredictor samples RTTs, balances the rows, trains a predictor, and runs the incast with it.
func trainPredictor(ctx context.Context, seed uint64, sizes []int64) (*trained, error) {
	all, err := sampleRows(ctx, sizes)
	if err != nil {
		return nil, err
	}
	rows := predict.Balance(all, s3PerRange, seed)
	model, rounds, err := predict.Train(rows, predict.DefaultOptions(seed))
	if err != nil {
		return nil, fmt.Errorf("train on %d of %d rows: %w", len(rows), len(all), err)
	}
	t := &trained{sampled: len(all), used: len(rows), rounds: rounds}
	for i := range rows {
		t.still += 100 * max(rows[i].K[2]-rows[i].L, rows[i].L-rows[i].K[2]) / (1 + rows[i].L) / float64(len(rows))
	}
	built, err := predict.Default()
	if err != nil {
		return nil, err
	}
	_, mape := built.Evaluate(rows)
	t.builtIn = 100 * mape
	_, mape = model.Evaluate(rows)
	t.last = 100 * mape
	t.run, err = runIncast(ctx, s3Control{label: "trained", name: "pidnn", model: model}, sizes)
	return t, err
}

// planPredictor repeats S3's training of the predictor in the packet simulator, with several seeds, and measures the effect of
// prediction on the controller.
func planPredictor(o Options) ([]job, func() Result) {
	return predictorJobs(o.Seed, s3Sizes())
}

func predictorJobs(seed uint64, sizes []int64) ([]job, func() Result) {
	results := make([]*trained, predictorSeeds)
	controls, _ := s3Incasts()
	jobs, runs := runIncasts(controls[:2], sizes)
	for i := range results {
		jobs = append(jobs, func(ctx context.Context) (err error) {
			results[i], err = trainPredictor(ctx, sim.Hash(seed, uint64(i)), sizes)
			return err
		})
	}
	return jobs, func() Result {
		without := runs[1].figures()
		rows := errorRows(results)
		rows = append(rows, effectRows("built-in", effectOf(runs[0].figures(), without), "the built-in predictor")...)
		for i, t := range results {
			note := fmt.Sprintf("trained on %d of %d rows sampled here; mean RTT %.3f us, mean rate %.2f Gbit/s", t.used, t.sampled, t.run.figures().mean, t.run.figures().rate)
			rows = append(rows, effectRows(fmt.Sprintf("trained%d", i+1), effectOf(t.run.figures(), without), note)...)
		}
		return Result{Rows: rows, Figures: []Figure{trainingFigure(results)}}
	}
}

// errorRows report training errors: means over the seeds, and each seed's final error.
func errorRows(results []*trained) []Row {
	test, train := s3TestMAPE(), s3TrainMAPE()
	var rows []Row
	for i := range test {
		a, b := meanRound(results, i)
		rows = append(rows,
			published(fmt.Sprintf("test-mape-round%02d", i+1), test[i], a, "%", "mean of the seeds"),
			published(fmt.Sprintf("train-mape-round%02d", i+1), train[i], b, "%", "mean of the seeds"))
	}
	for i, t := range results {
		label := fmt.Sprintf(".trained%d", i+1)
		last := len(t.rounds) - 1
		rows = append(rows,
			published("test-mape-first"+label, test[0], 100*t.rounds[0].TestMAPE, "%", ""),
			published("test-mape-last"+label, test[len(test)-1], 100*t.rounds[last].TestMAPE, "%", "round 19"),
			unpublished("mape-all-rows"+label, t.last, "%", "the trained predictor over all balanced rows"),
			unpublished("mape-built-in"+label, t.builtIn, "%", "the built-in predictor, which was trained on a smaller model, over the same rows"),
			unpublished("mape-no-change"+label, t.still, "%", "the guess that the next RTT is the last, over the same rows"))
	}
	return rows
}

// meanRound returns the mean errors of a round over the seeds, in percent.
func meanRound(results []*trained, i int) (test, train float64) {
	for _, t := range results {
		test += 100 * t.rounds[i].TestMAPE / float64(len(results))
		train += 100 * t.rounds[i].TrainMAPE / float64(len(results))
	}
	return test, train
}

func effectRows(label string, e s3Effect, note string) []Row {
	p := publishedEffect()
	return []Row{
		published("effect-mean-rate."+label, p.rate, e.rate, "%", note),
		published("effect-p99-rtt."+label, p.p99, e.p99, "%", note),
		published("effect-max-rtt."+label, p.most, e.most, "%", note+"; the largest RTT is a flow's fourth sample, sent when it makes its first prediction"),
		published("effect-mean-rtt."+label, p.mean, e.mean, "%", note),
	}
}

// trainingFigure shows the test error over the rounds.
func trainingFigure(results []*trained) Figure {
	f := Figure{
		Name: "s3-predictor.mape", Title: "S3, table 1: error of the predictor on test rows",
		X: Axis{Label: "round"}, Y: Axis{Label: "mean absolute error", Unit: "%"},
		Series: []Series{{Name: "published", Published: true}},
	}
	for i, v := range s3TestMAPE() {
		f.Series[0].Points = append(f.Series[0].Points, Point{float64(i + 1), v})
	}
	for k, t := range results {
		s := Series{Name: fmt.Sprintf("ours, seed %d", k+1)}
		for i, r := range t.rounds {
			s.Points = append(s.Points, Point{float64(i + 1), 100 * r.TestMAPE})
		}
		f.Series = append(f.Series, s)
	}
	return f
}
