package profile

import (
	"math"

	"fairlane/internal/num"
	"fairlane/internal/quantity"
)

// Curve is the response at one condition.
type Curve struct {
	positions []float64
	gains     []float64
}

// apart is the smallest number of flows at which no flow of a calibration has more than half of the link, so that the line rate
// of its port does not limit it.
const apart = 4

// Curve returns the response at a link whose fastest flow has a given intended rate. The shape depends on that rate,
// not on the number of flows and the link speed: a flow that sends more packets in a period gets rarer marks that
// come more in bursts, and reacts less to them. Curve therefore uses the table row whose fast flows have that rate:
// at the same link speed if they have up to half of the link, otherwise with two fast flows at a faster link. A flow
// near the line rate of its port cannot compensate for slower phases; this loss is taken from the runs with two
// flows, one of which has the same part of the link.
func (r *Response) Curve(at Condition) Curve {
	t := slice{r: r}
	t.rtt, t.part = between(r.RTTs, float64(at.RTT)/float64(quantity.Microsecond))
	for t.free+1 < len(r.Flows) && r.Flows[t.free] < apart {
		t.free++
	}
	speed := float64(at.Speed)
	fastest := min(max(at.Fastest, 1), speed)
	c := t.unbounded(fastest, speed)
	if p := at.Port; 2*p.Sent > p.Line && r.Flows[0] < apart {
		t.bound(&c, p)
	}
	for i := 1; i < len(c.gains); i++ {
		c.gains[i] = min(c.gains[i], c.gains[i-1])
	}
	return c
}

// slice is a response at one round trip time.
type slice struct {
	r    *Response
	rtt  int     // index in RTTs
	part float64 // fraction of the next RTT
	free int     // index in Flows of the first value that is apart or more
}

// unbounded returns the curve at a link where the fastest flow is far from the line rate of its port. With n fast and n slow
// flows, whose rates differ by e^x, each fast flow has 1/(n · (1 + e^-x)) of the link.
func (t *slice) unbounded(fastest, speed float64) Curve {
	r := t.r
	c := Curve{positions: r.Positions, gains: make([]float64, len(r.Positions))}
	speed = min(speed, float64(r.Speeds[len(r.Speeds)-1]))
	for i, x := range r.Positions[1:] {
		all := float64(fastest * (1 + num.Exp(-x))) // rate of a fast flow and a slow one together
		least := float64(r.Flows[t.free])
		if flows := 2 * speed / all; flows >= least {
			c.gains[i+1] = t.gain(speed, flows, i+1)
		} else {
			c.gains[i+1] = t.gain(float64(all*least)/2, least, i+1)
		}
	}
	return c
}

// bound adds the loss by the port's line rate for a flow whose port is meant to send more than half of its line rate.
// Flows that share a port oscillate independently, so the oscillation of their sum is smaller by the root of their
// number.
func (t *slice) bound(c *Curve, p Port) {
	part, speed := min(1, p.Sent/p.Line), min(p.Line, float64(t.r.Speeds[len(t.r.Speeds)-1]))
	two := Curve{positions: c.positions, gains: make([]float64, len(c.gains))}
	for i := 1; i < len(two.gains); i++ {
		two.gains[i] = t.gain(speed, float64(t.r.Flows[0]), i)
	}
	x := c.Reach()
	if left := 1 - part; left > part*num.Exp(-x) {
		x = num.Ln(part / left) // between two flows, one of which has that fraction
	}
	unbounded := t.unbounded(float64(part*speed), speed)
	cost := (two.Gain(x) - unbounded.Gain(x)) / math.Sqrt(max(1, p.Flows))
	for i, at := range c.positions[1:] {
		c.gains[i+1] += float64(cost * min(1, at/x))
	}
}

// gain interpolates the table linearly. Beyond the fastest link it extrapolates from the two fastest, with the logarithm of the
// speed.
func (t *slice) gain(speed, flows float64, position int) float64 {
	speeds := t.r.Speeds
	si, sw := between(speeds, speed)
	if si+1 < len(speeds) {
		return mixed(t.row(si, flows, position), t.row(si+1, flows, position), sw)
	}
	last := t.row(si, flows, position)
	if si == 0 || speed <= float64(speeds[si]) {
		return last
	}
	slope := (last - t.row(si-1, flows, position)) / num.Ln(float64(speeds[si])/float64(speeds[si-1]))
	return last + min(0, float64(slope*num.Ln(speed/float64(speeds[si]))))
}

// row returns the gain at a speed of the table.
func (t *slice) row(speed int, flows float64, position int) float64 {
	r := t.r
	at := func(flows, rtt int) float64 {
		return r.Gains[((speed*len(r.Flows)+flows)*len(r.RTTs)+rtt)*len(r.Positions)+position]
	}
	fi, fw := between(r.Flows, flows)
	next := min(fi+1, len(r.Flows)-1)
	low := mixed(at(fi, t.rtt), at(next, t.rtt), fw)
	if t.part == 0 {
		return low
	}
	return mixed(low, mixed(at(fi, t.rtt+1), at(next, t.rtt+1), fw), t.part)
}

// mixed interpolates between a and b.
func mixed(a, b, part float64) float64 {
	return float64((1-part)*a) + float64(part*b)
}

// Reach returns the last calibrated position.
func (c Curve) Reach() float64 { return c.positions[len(c.positions)-1] }

// Gain returns the gain at a position; beyond the last one it falls as the theory predicts.
func (c Curve) Gain(position float64) float64 {
	last := len(c.positions) - 1
	if position <= 0 {
		return -position
	}
	for i := 1; i <= last; i++ {
		if position <= c.positions[i] {
			part := (position - c.positions[i-1]) / (c.positions[i] - c.positions[i-1])
			return c.gains[i-1] + float64(part*(c.gains[i]-c.gains[i-1]))
		}
	}
	return c.gains[last] - (position - c.positions[last])
}

// Position returns the smallest position with a gain. It is the inverse of Gain where Gain is not flat.
func (c Curve) Position(gain float64) float64 {
	last := len(c.positions) - 1
	if gain >= 0 {
		return -gain
	}
	for i := 1; i <= last; i++ {
		if gain >= c.gains[i] && c.gains[i] < c.gains[i-1] {
			part := (gain - c.gains[i-1]) / (c.gains[i] - c.gains[i-1])
			return c.positions[i-1] + float64(part*(c.positions[i]-c.positions[i-1]))
		}
	}
	return c.positions[last] + (c.gains[last] - gain)
}
