package cc

import (
	"errors"
	"fmt"
	"math"

	"fairlane/internal/quantity"
	"fairlane/sim/predict"
)

// The neural congestion control paper (S3): an LSTM predicts a flow's next RTT. A PID controller, whose gains are trained like
// network weights, converts the deviation from a target to a rate factor. It needs no support of switches or headers: the
// sender samples one RTT at a time from its own sequence numbers (3.2).

// Gains of the controller in S3, 3.5.3, before and after training for a target of 5 us.
var (
	pidInitial   = [3]float64{-0.2, -0.05, 0.1}
	pidConverged = [3]float64{-0.358, -0.060, 0.040}
)

// Values of the parameter "gains".
const (
	gainsConverged = iota
	gainsInitial
	gainsGiven
)

// Values of the parameter "train".
const (
	trainOff = iota
	trainFlow
	trainHost
	trainAll
)

// Values of the parameter "rttch".
const (
	rttchOff = iota
	rttchBoth
	rttchPrinted
)

// Values of the parameter "rttch_mean".
const (
	rttchCurrent = iota
	rttchRunning
)

// PIDNN returns the specification of the neural congestion control with a trained predictor, or with
// the built-in one if m is nil.
func PIDNN(m *predict.Model) Spec {
	return Spec{
		Name:   "pidnn",
		Title:  "LSTM prediction of the RTT and a PID controller with trained gains",
		Source: "neural congestion control paper (S3), chapter 3",
		Params: pidnnParams(),
		New:    func(v Values) (Algorithm, error) { return newPIDNN(v, m) },
	}
}

// minTarget is the minimum target, us; the error is divided by the target.
const minTarget = 0.1

func pidnnParams() []Param {
	const us = float64(quantity.Microsecond)
	low, high := float64(quantity.Mbps), float64(quantity.MaxBitRate)
	return []Param{
		{Name: "target", Kind: ParamDuration, Default: 5 * us, Min: minTarget * us, Max: 1e6 * us, Doc: "RTT to steer to: just above that of empty queues (S3, 4.3.2)"},
		{Name: "start_rate", Kind: ParamRate, Default: 10e9, Min: low, Max: high, Doc: "first rate of a flow (S3, 4.1.2)"},
		{Name: "min_rate", Kind: ParamRate, Default: 1e9, Min: low, Max: high, Doc: "lowest rate (S3, 4.1.2)"},
		{Name: "max_rate", Kind: ParamRate, Default: 100e9, Min: low, Max: high, Doc: "highest rate; never above the line rate (S3, 4.1.2)"},
		{Name: "predictor", Kind: ParamFlag, Default: 1, Doc: "steer the predicted RTT; without it the measured one (S3, figure 19)"},
		{Name: "gains", Kind: ParamWord, Default: gainsConverged, Words: []string{"converged", "initial", "given"}, Doc: "[-0.358, -0.060, 0.040], [-0.2, -0.05, 0.1], or kp, ki and kd (S3, 3.5.3)"},
		{Name: "kp", Default: pidConverged[0], Min: -100, Max: 100, Doc: "proportional gain if gains are given"},
		{Name: "ki", Default: pidConverged[1], Min: -100, Max: 100, Doc: "integral gain if gains are given"},
		{Name: "kd", Default: pidConverged[2], Min: -100, Max: 100, Doc: "differential gain if gains are given"},
		{Name: "train", Kind: ParamWord, Default: trainOff, Words: []string{"off", "flow", "host", "all"}, Doc: "train the gains while sending (S3, 3.5.2): a set for each flow, for each sending host, or one for all; S3 does not say which, and in its incast flow and host are the same, and one for all ends far from its gains"},
		{Name: "slope", Default: 1, Min: -100, Max: 100, Doc: "constant in place of dRTT/drate in training, us per Gbit/s (S3, 3.5.2: close to 1)"},
		{Name: "delta_min", Default: -0.6, Min: -0.99, Max: 0, Doc: "lowest relative change of the rate (S3, equation 20)"},
		{Name: "delta_max", Default: 0.5, Min: 0, Max: 10, Doc: "highest relative change of the rate (S3: 0.5 in equation 20, 0.6 in table 3)"},
		{Name: "rttch", Kind: ParamWord, Default: rttchOff, Words: []string{"off", "both", "printed"}, Doc: "move the target to the mean RTT after samples in a row on one side of it: on either side (S3, 3.5.4), or by table 2 to the letter, which never triggers on the lower side"},
		{Name: "rttch_mean", Kind: ParamWord, Default: rttchCurrent, Words: []string{"current", "running"}, Doc: "what is added to the target then: the mean deviation of all samples from the target of now, which moves it to their mean (S3, equation 27 to the letter), or the mean of the deviations as they were when each was sampled, from the target of then, which moves it on after every change, but not below the flow's base RTT"},
		{Name: "rttch_samples", Default: 6, Min: 1, Max: 1e6, Doc: "number of such samples that must be exceeded (S3, table 2)"},
		{Name: "window", Kind: ParamWord, Default: windowNone, Words: []string{"variable", "fixed", "none"}, Doc: "bound on bytes in flight: the flow's BDP times rate / line rate as HPCC has it, the BDP, or none (S3, 4.4.2: +WIN)"},
	}
}

// pidnn is the algorithm for all flows of one simulation.
type pidnn struct {
	ackClocked
	pidnnConfig
	model *predict.Model // nil without prediction
	flows slots[pidFlow]
	gains []pidGains // one set for all flows, or one for each flow or host
	learn []pidStep  // empty without training
}

type pidnnConfig struct {
	target, start, low, high float64 // us and Gbit/s
	first                    [3]float64
	train, rttch, window     int
	running                  bool // rttch_mean
	slope                    float64
	deltaMin, deltaMax       float64
	streak                   int32
}

// pidFlow is the state of a flow. The state of the LSTM is not stored: it follows from the filter's three features.
type pidFlow struct {
	filter    predict.Filter // filter of the samples, us
	mark      int64          // byte of the probe; the first ACK beyond it acknowledges the probe
	rate      float64        // Gbit/s
	target    float64        // us
	predicted float64        // us
	last      float64        // e(t-1)
	errors    float64        // sum of e
	total     float64        // sum of samples, us
	off       float64        // sum of (sample - target at that time), us
	n         uint32         // samples
	side      int32          // consecutive samples above the target, or below it if negative
	line      float64        // Gbit/s
	bdp       int64          // bytes
	least     float64        // lower limit of the target, us
	gains     int32          // index of its gains
}

// pidGains are K_p, K_i, K_d and their number of updates.
type pidGains struct {
	k [3]float64
	t uint64
}

// pidStep is the state of the previous step for training.
type pidStep struct {
	out  [3]float64 // P, I, D
	rate float64    // rate before the step, Gbit/s
	set  bool
}

func newPIDNN(v Values, m *predict.Model) (Algorithm, error) {
	const us, gbps = float64(quantity.Microsecond), float64(quantity.Gbps)
	p := &pidnn{pidnnConfig: pidnnConfig{
		target: v["target"] / us, start: v["start_rate"] / gbps, low: v["min_rate"] / gbps, high: v["max_rate"] / gbps,
		train: int(v["train"]), rttch: int(v["rttch"]), window: int(v["window"]),
		running: int(v["rttch_mean"]) == rttchRunning, slope: v["slope"], deltaMin: v["delta_min"], deltaMax: v["delta_max"], streak: int32(v["rttch_samples"]),
	}}
	if p.low > p.high {
		return nil, fmt.Errorf("min_rate %s above max_rate %s", quantity.BitRate(v["min_rate"]), quantity.BitRate(v["max_rate"]))
	}
	if p.deltaMin == 0 && p.deltaMax == 0 {
		return nil, errors.New("delta_min and delta_max are both 0: the rate could never change")
	}
	switch int(v["gains"]) {
	case gainsInitial:
		p.first = pidInitial
	case gainsGiven:
		p.first = [3]float64{v["kp"], v["ki"], v["kd"]}
	default:
		p.first = pidConverged
	}
	p.gains = []pidGains{{k: p.first}}
	if v.Flag("predictor") {
		p.model = m
		if m == nil {
			var err error
			if p.model, err = predict.Default(); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

func (p *pidnn) Traits() Traits { return Traits{Shared: p.train == trainAll} }

func (p *pidnn) Reserve(n int) {
	p.flows.reserve(n)
	if p.train != trainOff {
		p.learn = grown(p.learn, n)
	}
	if p.train == trainFlow {
		p.reserveGains(n)
	}
}

// reserveGains appends sets of untrained gains up to n.
func (p *pidnn) reserveGains(n int) {
	old := len(p.gains)
	p.gains = grown(p.gains, n)
	for i := old; i < len(p.gains); i++ {
		p.gains[i].k = p.first
	}
}

func (p *pidnn) Start(slot int32, _ quantity.Picoseconds, f *Flow) Control {
	s := p.flows.at(slot)
	*s = pidFlow{
		target: p.target, line: f.LineRate.Gbit(), bdp: f.BDP,
		least: max(minTarget, float64(f.BaseRTT)/float64(quantity.Microsecond)),
	}
	s.rate = p.bound(s, p.start)
	if p.train != trainOff {
		p.learn[slot] = pidStep{}
	}
	switch p.train {
	case trainFlow:
		s.gains = slot
		p.gains[slot] = pidGains{k: p.first}
	case trainHost:
		s.gains = int32(f.Host)
		if need := int(f.Host) + 1; need > len(p.gains) {
			p.reserveGains(max(need, 2*len(p.gains)))
		}
	}
	var c Control
	p.allow(s, &c)
	return c
}

// Ack implements Algorithm: it samples the RTT of the ACK that acknowledges the probe, and makes the next packet the next
// probe. Only the first packet of each round trip is sampled (S3, 3.2).
func (p *pidnn) Ack(slot int32, a *Ack, c *Control) {
	s := p.flows.at(slot)
	if a.Seq <= s.mark || a.RTT <= 0 {
		return
	}
	s.mark = a.Next
	rtt := float64(a.RTT) / float64(quantity.Microsecond)
	gains := &p.gains[s.gains]
	if p.train != trainOff {
		p.update(gains, &p.learn[slot], rtt-s.target)
	}
	s.filter.Add(rtt)
	s.n++
	s.total += rtt
	if p.rttch != rttchOff {
		p.retarget(s, rtt)
	}
	s.predicted = p.predict(s, rtt)
	out := s.control()
	if p.train != trainOff {
		p.learn[slot] = pidStep{out: out, rate: s.rate, set: true}
	}
	k := &gains.k
	delta := float64(k[0]*out[0]) + float64(k[1]*out[1]) + float64(k[2]*out[2]) // equation 15
	delta = max(p.deltaMin, min(p.deltaMax, delta))                             // equation 20
	s.rate = p.bound(s, float64(s.rate*(1+delta)))                              // equation 19
	p.allow(s, c)
}

// predict returns the expected next RTT, us (S3, equation 12). Before there are three features, it returns the measured RTT.
func (p *pidnn) predict(s *pidFlow, rtt float64) float64 {
	if p.model == nil || !s.filter.Ready() {
		return rtt
	}
	return max(0, float64((1+p.model.Predict(s.filter.Features()))*s.filter.Smoothed()))
}

// control returns the three terms of the controller for the predicted RTT: the error, its mean since the start of the flow,
// and its change (S3, equations 14, 16 to 18). The mean has unlimited memory: a flow after much congestion stays slow until
// an equal number of samples below the target has compensated.
func (s *pidFlow) control() [3]float64 {
	e := (s.predicted - s.target) / s.target
	s.errors += e
	if s.n == 1 {
		s.last = e
	}
	out := [3]float64{e, s.errors / float64(s.n), e - s.last}
	s.last = e
	return out
}

// update trains the gains with the RTT that the previous step caused, err us above the target: gradient descent on err²/2,
// with each component limited to ±0.1 and a learning rate of 0.01/sqrt(t+1) (S3, equations 21 to 26).
func (p *pidnn) update(g *pidGains, step *pidStep, err float64) {
	if !step.set {
		return
	}
	mu := 0.01 / math.Sqrt(float64(g.t+1))
	for i, out := range step.out {
		slope := err * p.slope * step.rate * out
		g.k[i] -= float64(mu * max(-0.1, min(0.1, slope)))
	}
	g.t++
}

// retarget adds the mean deviation of all samples of the flow to the target after more than the set number of consecutive
// samples on one side of it (S3, 3.5.4, equations 27 and 28). With deviations from the current target, the new target is the
// mean of the samples. S3 keeps its statistics per sample, which may mean deviations from the target at that time. The sum of
// these deviations is unbounded: it could make the target negative and reverse the sign of the error. In that mode the target
// is therefore at least the flow's base RTT, the smallest possible RTT. A mean of samples needs no such limit.
func (p *pidnn) retarget(s *pidFlow, rtt float64) {
	above := rtt > s.target
	s.off += rtt - s.target
	switch {
	case p.rttch == rttchPrinted:
		// Table 2 counts up on both sides and compares count times side with 0: a first sample below counts, a second one
		// clears.
		if above || s.side == 0 {
			s.side++
		} else {
			s.side = 0
		}
	case above && s.side >= 0:
		s.side++
	case !above && s.side <= 0:
		s.side--
	default:
		s.side = 0
	}
	if max(s.side, -s.side) > p.streak {
		if p.running {
			s.target = max(s.target+s.off/float64(s.n), s.least)
		} else {
			s.target = s.total / float64(s.n)
		}
		s.side = 0
	}
}

// bound limits a rate to the configured range and the line rate, Gbit/s.
func (p *pidnn) bound(s *pidFlow, rate float64) float64 {
	return boundRate(rate, p.low, min(p.high, s.line))
}

// allow sets the rate and the window in the flow's control.
func (p *pidnn) allow(s *pidFlow, c *Control) {
	c.Rate = float64(s.rate * 1e9)
	switch p.window {
	case windowFixed:
		c.Window = max(1, s.bdp)
	case windowVariable:
		c.Window = windowOf(s.bdp, s.rate, s.line)
	}
}

func (p *pidnn) Gauges() []string {
	return []string{"target_us", "smoothed_us", "predicted_us", "kp", "ki", "kd"}
}

func (p *pidnn) Read(slot int32, dst []float64) {
	s := p.flows.at(slot)
	dst[0], dst[1], dst[2] = s.target, s.filter.Smoothed(), s.predicted
	copy(dst[3:], p.gains[s.gains].k[:])
}
