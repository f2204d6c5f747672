package policy

import "math"

// The standard library's logarithm and exponential are written in assembly on some machines and
// may differ in the last bit. Plans must not, so these two use nothing but the four
// operations, each rounded by itself, and exact scaling by powers of two.

// ln2 is the natural logarithm of two.
const ln2 = 0.693147180559945309417232121458176568

// ln is the natural logarithm of a positive finite x, to about fifteen digits.
func ln(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = float64(m*2), e-1
	}
	t := (m - 1) / (m + 1)
	t2 := float64(t * t)
	sum := 0.0
	for n := 33; n >= 1; n -= 2 { // |t| < 0.172: t^35 is below 1e-26
		sum = float64(sum*t2) + 1/float64(n)
	}
	return float64(2*t*sum) + float64(float64(e)*ln2)
}

// exp is e to the power of x, to about fifteen digits, for |x| up to 700.
func exp(x float64) float64 {
	k := math.Floor(float64(x/ln2) + 0.5)
	r := x - float64(k*ln2)
	sum := 1.0
	for n := 20; n >= 1; n-- { // |r| < 0.35: r^21/21! is below 1e-28
		sum = 1 + float64(sum*r)/float64(n)
	}
	return math.Ldexp(sum, int(k))
}

// response is the decay a flow needs per BECN in units of CCTI_Timer periods: its rate in
// equilibrium is proportional to response / Timer. A free-running timer takes one step
// per period and a BECN adds Increase, so it is 1/Increase; a timer that each BECN restarts
// completes only in gaps longer than its period, and with BECNs at random it
// is ln(1 + 1/Increase) (derived from the proof of
// Theorem 1 of the differentiated-bandwidth paper, S1).
func response(increase uint8, restart bool) float64 {
	if increase == 0 {
		return math.Inf(1)
	}
	if restart {
		return ln(1 + 1/float64(increase))
	}
	return 1 / float64(increase)
}
