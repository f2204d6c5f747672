package stats

import "math"

// Moments is a running mean and variance of a stream of numbers (Welford, Technometrics 1962; merging by Chan, Golub
// and LeVeque 1979). It does not store samples. The zero Moments is empty and ready to use. Infinite and NaN samples
// make the results NaN.
type Moments struct {
	n        uint64
	mean, m2 float64 // m2 is the sum of squared deviations from the mean
	min, max float64
}

// Add counts one sample.
func (m *Moments) Add(x float64) {
	m.n++
	if m.n == 1 {
		m.min, m.max = x, x
	}
	m.min, m.max = min(m.min, x), max(m.max, x)
	d := x - m.mean
	m.mean += d / float64(m.n)
	m.m2 += float64(d * (x - m.mean))
}

// Merge adds the samples of another stream.
func (m *Moments) Merge(o Moments) {
	switch {
	case o.n == 0:
		return
	case m.n == 0:
		*m = o
		return
	}
	n := float64(m.n) + float64(o.n)
	d := o.mean - m.mean
	m.m2 += o.m2 + float64(float64(d*d)*float64(m.n)*float64(o.n)/n)
	m.mean += float64(d * float64(o.n) / n)
	m.n += o.n
	m.min, m.max = min(m.min, o.min), max(m.max, o.max)
}

// Count returns the number of samples.
func (m *Moments) Count() uint64 { return m.n }

// Mean returns the arithmetic mean; 0 without samples.
func (m *Moments) Mean() float64 { return m.mean }

// Min returns the smallest sample; 0 without samples.
func (m *Moments) Min() float64 { return m.min }

// Max returns the largest sample; 0 without samples.
func (m *Moments) Max() float64 { return m.max }

// Variance returns the variance of the samples themselves (divided by n), because a simulated run is the whole
// population; 0 without samples.
func (m *Moments) Variance() float64 {
	if m.n == 0 {
		return 0
	}
	return m.m2 / float64(m.n)
}

// SampleVariance estimates the variance of the population from which the samples were drawn (divided by n-1), such as
// runs with different seeds; 0 with fewer than two samples.
func (m *Moments) SampleVariance() float64 {
	if m.n < 2 {
		return 0
	}
	return m.m2 / float64(m.n-1)
}

// StdDev returns the square root of Variance.
func (m *Moments) StdDev() float64 { return math.Sqrt(m.Variance()) }

// CoV returns the coefficient of variation, StdDev / |Mean|: the jitter of a rate. It is 0 if the mean is 0.
func (m *Moments) CoV() float64 {
	if m.mean == 0 {
		return 0
	}
	return m.StdDev() / math.Abs(m.mean)
}

// MomentsOf returns the moments of a slice.
func MomentsOf(values []float64) Moments {
	var m Moments
	for _, x := range values {
		m.Add(x)
	}
	return m
}
