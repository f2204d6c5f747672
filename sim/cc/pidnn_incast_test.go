package cc

import (
	"slices"
	"testing"

	"fairlane/internal/quantity"
)

// rttLog records the RTT samples of each flow's sender.
type rttLog struct {
	Algorithm
	marks []int64
	rtts  []float64 // us
}

func (l *rttLog) Ack(slot int32, a *Ack, c *Control) {
	if a.Seq > l.marks[slot] {
		l.marks[slot] = a.Next
		l.rtts = append(l.rtts, a.RTT.Seconds()*1e6)
	}
	l.Algorithm.Ack(slot, a, c)
}

// incastResult is a row of S3's tables 4 to 6: us, Gbit/s and ms.
type incastResult struct{ mean, p99, most, rate, fct, last float64 }

// s3Incast runs S3's 20-to-1 incast (4.1.2). The mean rate follows equation 30.
func s3Incast(t *testing.T, v Values) (incastResult, *pidnn) {
	t.Helper()
	spec := PIDNN(nil)
	a, err := spec.Build(v)
	if err != nil {
		t.Fatal(err)
	}
	l := &rttLog{Algorithm: a, marks: make([]int64, 20)}
	sizes := append([]int64{200e6, 200e6, 150e6}, slices.Repeat([]int64{5e6}, 17)...)
	s := newStar(l, sizes, make([]quantity.Picoseconds, 20))
	s.run(quantity.Second)
	slices.Sort(l.rtts)
	n := len(l.rtts)
	r := incastResult{p99: l.rtts[n*99/100], most: l.rtts[n-1]}
	for _, x := range l.rtts {
		r.mean += x / float64(n)
	}
	bits, spans := 0.0, 0.0
	for i := range s.flows {
		if s.flows[i].done == 0 {
			t.Fatalf("flow %d did not end", i)
		}
		done := s.flows[i].done.Seconds()
		bits += 8 * float64(sizes[i])
		spans += done
		r.fct += done * 1e3 / 20
		r.last = max(r.last, done*1e3)
	}
	r.rate = bits / spans / 1e9
	return r, a.(*pidnn)
}

func within(t *testing.T, what string, got, published, tolerance float64) {
	t.Helper()
	t.Logf("%-9s %7.2f, published %7.2f: x%.3f", what, got, published, got/published)
	if got < published*(1-tolerance) || got > published*(1+tolerance) {
		t.Errorf("%s %.3f, published %.3f: want it within %.0f %%", what, got, published, 100*tolerance)
	}
}

// The controller alone, with the measured RTT, repeats S3's incast (4.2.3). No parameter was fitted to the published values.
func TestPIDNNWithoutPredictionRepeatsS3sIncast(t *testing.T) {
	t.Parallel()
	r, _ := s3Incast(t, Values{"predictor": 0})
	within(t, "mean RTT", r.mean, 4.9616, 0.02)
	within(t, "p99 RTT", r.p99, 7.462, 0.05)
	within(t, "max RTT", r.most, 24.552, 0.10)
	within(t, "mean rate", r.rate, 14.7977, 0.05)
}

// The controller with the built-in predictor repeats S3's incast (tables 5 and 6).
func TestPIDNNWithPredictionRepeatsS3sIncast(t *testing.T) {
	t.Parallel()
	r, _ := s3Incast(t, nil)
	within(t, "mean RTT", r.mean, 5.0302, 0.05)
	within(t, "p99 RTT", r.p99, 6.276, 0.05)
	within(t, "max RTT", r.most, 21.144, 0.30)
	within(t, "mean rate", r.rate, 21.1789, 0.20)
	within(t, "mean FCT", r.fct, 11.993, 0.20)
	within(t, "last FCT", r.last, 53.756, 0.03)
}

// With training during the transfer from S3's initial gains, one set per flow, the gains of a 200 MB flow end near the
// converged gains that S3 prints (3.5.3).
func TestPIDNNGainsConvergeWhereS3sDo(t *testing.T) {
	t.Parallel()
	_, p := s3Incast(t, Values{"gains": gainsInitial, "train": trainFlow})
	for i, want := range pidConverged {
		got := p.gains[0].k[i]
		t.Logf("gain %d: %.3f, published %.3f, first %.3f", i, got, want, pidInitial[i])
		if d := got - want; d > 0.05 || d < -0.05 {
			t.Errorf("gain %d is %.3f, published %.3f: want it within 0.05", i, got, want)
		}
	}
}
