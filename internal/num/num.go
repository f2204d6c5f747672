// Package num has a logarithm and an exponential with the same bits on every machine. The standard library implements
// these in assembly on some architectures, with different last bits. Plans must not differ, so these two use only the
// four basic operations, each rounded separately, and exact scaling by powers of two.
package num

import "math"

// Ln2 is the natural logarithm of two.
const Ln2 = 0.693147180559945309417232121458176568

// ofOdd are 1/n for odd n.
var ofOdd = [...]float64{1, 1. / 3, 1. / 5, 1. / 7, 1. / 9, 1. / 11, 1. / 13, 1. / 15, 1. / 17, 1. / 19, 1. / 21, 1. / 23, 1. / 25, 1. / 27, 1. / 29, 1. / 31, 1. / 33}

// Ln returns the natural logarithm of a positive finite x, to about fifteen digits.
func Ln(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = float64(m*2), e-1
	}
	t := (m - 1) / (m + 1)
	t2 := float64(t * t)
	sum := 0.0
	for i := len(ofOdd) - 1; i >= 0; i-- { // |t| < 0.172: t^35 is below 1e-26
		sum = float64(sum*t2) + ofOdd[i]
	}
	return float64(2*t*sum) + float64(float64(e)*Ln2)
}

// Exp returns e to the power of x, to about fourteen digits, for |x| up to 700.
//
// x = k ln 2 + r with |r| <= ln 2 / 2, and the Taylor polynomial of degree 12 in r: r^13/13! is below 2e-16.
func Exp(x float64) float64 {
	const (
		log2e  = 1.4426950408889634
		ln2hi  = 6.93147180369123816490e-01 // the product with an integer below 2^20 is exact
		ln2lo  = 1.90821492927058770002e-10
		round  = 3 << 51 // adding it leaves the nearest integer in the low bits
		normal = 1000    // limit of |k| up to which the result is a normal number
	)
	shifted := float64(x*log2e) + round
	k := shifted - round
	r := x - float64(k*ln2hi) - float64(k*ln2lo)
	r2 := float64(r * r)
	r4 := float64(r2 * r2)
	low := (1 + r) + float64(r2*(1.0/2+float64(r*(1.0/6))))
	mid := (1.0/24 + float64(r*(1.0/120))) + float64(r2*(1.0/720+float64(r*(1.0/5040))))
	high := (1.0/40320 + float64(r*(1.0/362880))) + float64(r2*(1.0/3628800+float64(r*(1.0/39916800)))) +
		float64(r4*(1.0/479001600))
	y := low + float64(r4*(mid+float64(r4*high)))
	if k < -normal || k > normal {
		return math.Ldexp(y, int(k))
	}
	return float64(y * math.Float64frombits(uint64(int64(k)+1023)<<52))
}
