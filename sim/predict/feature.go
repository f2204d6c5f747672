package predict

import "fairlane/internal/quantity"

// Smoothing is the weight of the newest sample in the smoothed RTT (S3, equation 2).
const Smoothing = 0.2

// Filter processes the RTT samples of one flow. The zero value has no samples. It takes only 40 bytes, so a sender can keep one
// for each flow: the state of the LSTM is not stored but computed from the last three features.
type Filter struct {
	s float64
	k [Sequence]float64
	n uint32
}

// Add processes the next sample, in any fixed unit, which must be positive and finite:
//
//	S_0 = R_0,  S_t = 0.2 R_t + 0.8 S_(t-1),  K_t = (R_t - S_t) / S_t        (S3, equations 2 and 3)
func (f *Filter) Add(rtt float64) {
	if f.n == 0 {
		f.s = rtt
	} else {
		f.s = float64(Smoothing*rtt) + float64((1-Smoothing)*f.s)
	}
	copy(f.k[:], f.k[1:])
	f.k[Sequence-1] = (rtt - f.s) / f.s
	if f.n < Sequence {
		f.n++
	}
}

// Smoothed returns S_t in the unit of the samples; it is 0 before the first sample.
func (f *Filter) Smoothed() float64 { return f.s }

// Features returns K_(t-2), K_(t-1) and K_t. They are valid when Ready returns true.
func (f *Filter) Features() *[Sequence]float64 { return &f.k }

// Ready reports whether there are enough samples for a prediction.
func (f *Filter) Ready() bool { return f.n >= Sequence }

// Row is one training example: three consecutive features and the label.
type Row struct {
	K [Sequence]float64 // K_(t-2), K_(t-1), K_t
	L float64           // L_t = (R_(t+1) - S_t) / S_t, above -1 (S3, equation 3)
}

// MaxSeries is the largest number of series in a Recorder.
const MaxSeries = 1 << 20

// Recorder collects rows from the RTT samples of many flows. It is not safe for concurrent use.
type Recorder struct {
	max     int
	filters []Filter
	rows    []Row
	dropped int
}

// NewRecorder returns a recorder of at most limit rows. A negative limit means 0.
func NewRecorder(limit int) *Recorder { return &Recorder{max: max(limit, 0)} }

// Start resets a series for a new flow.
func (r *Recorder) Start(series int) {
	if series >= 0 && series < len(r.filters) {
		r.filters[series] = Filter{}
	}
}

// Add processes the next sample of a series, numbered from 0 to MaxSeries-1. It ignores samples of other series and samples
// that are not positive. It adds a row if the series had three samples before this one.
func (r *Recorder) Add(series int, rtt quantity.Picoseconds) {
	if series < 0 || series >= MaxSeries || rtt <= 0 {
		return
	}
	for len(r.filters) <= series {
		r.filters = append(r.filters, Filter{})
	}
	f := &r.filters[series]
	if f.Ready() {
		r.keep(Row{K: f.k, L: (float64(rtt) - f.s) / f.s})
	}
	f.Add(float64(rtt))
}

func (r *Recorder) keep(row Row) {
	if len(r.rows) == r.max {
		r.dropped++
		return
	}
	r.rows = append(r.rows, row)
}

// Rows returns the rows so far, in the order in which their labels became known. The recorder owns the slice.
func (r *Recorder) Rows() []Row { return r.rows }

// Dropped returns the number of rows dropped because the recorder was full.
func (r *Recorder) Dropped() int { return r.dropped }
