package ib

import (
	"slices"
	"sync"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/num"
	"fairlane/policy/model"
)

// The product rule assumes that every tick of CCTI_Timer decreases CCTI by a step. At CCTI 0 no step is possible: the nearer a CCTI's rate is
// to its port's line rate, the more timer ticks have no effect. Fewer marks then balance the effective ticks, and the CCTI gets less than
// others that are far from their line rates. A topCurve gives the loss, from CCTI as a Markov chain with marks at random, at a rate in
// proportion to the rate of the table's entry, and steps of the timer.
type topCurve struct {
	taken [topPoints]float64 // part of the ticks that take a step, by naive
	share [topPoints]float64 // part of the line rate, ascending: naive · taken
}

const (
	topPoints = 37
	topLowest = 1.0 / 8 // part of the line rate, by the product rule: below it no tick is lost
	topStep   = 1.0 / 8 // octaves
	// minTicksTaken bounds the strengthening of a setting: no strength would reach the whole line rate.
	minTicksTaken = 0.5
	// negligibleLoss is the part of the ticks above which the loss is ignored.
	negligibleLoss = 0.999
	// nearLineRate is the part of the line rate from which ticks may be lost.
	nearLineRate = 1.0 / 8
	// manyMarks is the number of marks in one period that is hardly ever exceeded, and rarely the probability that counts as zero.
	manyMarks, rarely = 40, 1e-12
)

// newTopCurve computes the curve of a table with an Increase of one.
func newTopCurve(table []ibcc.Entry, restart bool) *topCurve {
	c := &topCurve{}
	for i := range c.taken {
		naive := float64(topLowest * num.Exp(float64(float64(float64(i)*topStep)*num.Ln2)))
		c.taken[i] = takenPart(table, naive, restart)
		c.share[i] = float64(naive * c.taken[i])
	}
	return c
}

// takenPart returns the mean rate of a CCTI relative to the naive one; both are parts of the line rate.
func takenPart(table []ibcc.Entry, naive float64, restart bool) float64 {
	if restart {
		return restartedMean(table, num.Ln2/naive) / naive
	}
	return freeRunningMean(table, 1/naive) / naive
}

// freeRunningMean returns the mean rate of a table with a free-running timer, as part of the line rate, when CCTI 0 would get pressure marks
// per period. From one tick to the next CCTI rises by marks, at random, and falls by one step, never by more. In the long run the flow upwards
// past a state equals the flow down to it from the next, which gives the probability of one state after the other.
func freeRunningMean(table []ibcc.Entry, pressure float64) float64 {
	// above is the probability of being at a state and rising by more than k, for the last manyMarks states by their number.
	var above [manyMarks][manyMarks]float64
	var total, mean float64
	chance := 1.0
	for c := range table {
		lets := 1 / (1 + table[c].Factor())
		marks := float64(pressure * lets)
		none := num.Exp(-marks)
		if c > 0 {
			chance = 0
			for k := 1; k < min(c+1, manyMarks); k++ {
				chance += above[(c-k)%manyMarks][k]
			}
			chance /= none
		}
		total += chance
		mean += float64(chance * lets)
		row := &above[c%manyMarks]
		*row = [manyMarks]float64{}
		left, term := 1-none, none
		for k := 0; k < manyMarks && left > rarely; k++ {
			row[k] = float64(chance * left)
			term = float64(term*marks) / float64(k+1)
			left -= term
		}
	}
	return mean / total
}

// restartedMean is freeRunningMean with a timer that each mark restarts: a step needs a whole period without a mark.
func restartedMean(table []ibcc.Entry, pressure float64) float64 {
	var total, mean, chance, up float64
	for c := range table {
		lets := 1 / (1 + table[c].Factor())
		marks := float64(pressure * lets)
		none := num.Exp(-marks)
		if c == 0 {
			chance = 1
		} else {
			chance = up / none
		}
		up = float64(chance * (1 - none))
		stays := float64(chance * ((1 - none) / marks)) // periods until a mark or a tick
		total += stays
		mean += float64(stays * lets)
	}
	return mean / total
}

// at returns the part of its ticks that a CCTI takes when its mean rate is a part of the line rate, at least minTicksTaken.
func (c *topCurve) at(share float64) float64 {
	i, _ := slices.BinarySearch(c.share[:], share)
	switch i {
	case 0:
		return 1
	case topPoints:
		return minTicksTaken
	}
	low, high := c.share[i-1], c.share[i]
	part := (share - low) / (high - low)
	took := c.taken[i-1] + float64(part*(c.taken[i]-c.taken[i-1]))
	if took > negligibleLoss {
		return 1
	}
	return max(minTicksTaken, took)
}

// tops holds the curves of tables, each computed once.
type tops struct {
	mutex sync.Mutex           // compilations derived from the same one may run concurrently
	made  map[string]*topCurve // by the table's delays and the form of the timer
}

func newTops() *tops { return &tops{made: map[string]*topCurve{}} }

// of returns the curve of a table; last is the previous result, since most ports have the same table.
func (t *tops) of(table []ibcc.Entry, restart bool, last *lastTop) *topCurve {
	if last.table == &table[0] && last.restart == restart {
		return last.curve
	}
	key := make([]byte, 0, 3*len(table)+1)
	for _, e := range table {
		n := e.Eighths()
		key = append(key, byte(n), byte(n>>8), byte(n>>16))
	}
	if restart {
		key = append(key, 1)
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	c, ok := t.made[string(key)]
	if !ok {
		c = newTopCurve(table, restart)
		t.made[string(key)] = c
	}
	*last = lastTop{&table[0], restart, c}
	return c
}

// lastTop is a table, by its first entry, with its curve for a form of the timer.
type lastTop struct {
	table   *ibcc.Entry
	restart bool
	curve   *topCurve
}

// takenPartOf returns the part of timer ticks that a CCTI of a setting takes, with a table, at a rate in bit/s. Caps keep CCTI away from 0,
// and Increases above one are for rates far from the line rate.
func (s *Settings) takenPartOf(st *setting, table []ibcc.Entry, rate float64, last *lastTop) float64 {
	p := &s.ports[st.port]
	if rate < float64(nearLineRate*p.line) || st.min > 0 || st.incr > 1 || len(table) == 0 {
		return 1
	}
	return s.tops.of(table, p.restart, last).at(rate / p.line)
}

// compensateLostTicks strengthens a setting by the part of ticks that it loses.
func (s *Settings) compensateLostTicks(k int32, finest []ibcc.Entry, last *lastTop) {
	st := &s.all[k]
	st.taken = 1
	if s.m.Input.Options.Mode != model.ModeTheorem1 && s.capOf(k) == 0 {
		st.taken = s.takenPartOf(st, finest, st.rate, last)
	}
	st.need = float64(st.need * st.taken)
}
