// Package num is the logarithm and the exponential with the same bits on every machine. The standard library's are written in assembly on
// some and may differ in the last bit. Plans must not, so these two use nothing but the four operations, each rounded by itself, and exact
// scaling by powers of two.
package num

import "math"

// Ln2 is the natural logarithm of two.
const Ln2 = 0.693147180559945309417232121458176568

// Ln is the natural logarithm of a positive finite x, to about fifteen digits.
func Ln(x float64) float64 {
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
	return float64(2*t*sum) + float64(float64(e)*Ln2)
}

// Exp is e to the power of x, to about fifteen digits, for |x| up to 700.
func Exp(x float64) float64 {
	k := math.Floor(float64(x/Ln2) + 0.5)
	r := x - float64(k*Ln2)
	sum := 1.0
	for n := 20; n >= 1; n-- { // |r| < 0.35: r^21/21! is below 1e-28
		sum = 1 + float64(sum*r)/float64(n)
	}
	return math.Ldexp(sum, int(k))
}
