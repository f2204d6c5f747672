package predict

import "math"

// Beyond this the sigmoid is 0 or 1 to the last bit that matters here.
const saturation = 40

// sigmoid is S3, equation 9.
func sigmoid(x float64) float64 { return 1 / (1 + exp(-x)) }

// tanh is S3, equation 10, by way of the exponential of 2x. Its absolute error is a few 1e-16.
func tanh(x float64) float64 { return 1 - 2/(1+exp(float64(2*x))) }

// exp is the exponential of x held within the saturation, to about 1e-14 of its value. The library's
// own differs in the last bit from machine to machine; a trained model and a simulation must not.
//
// x = k ln 2 + r with |r| <= ln 2 / 2, and the Taylor polynomial of degree 12 in r.
func exp(x float64) float64 {
	const (
		log2e = 1.4426950408889634
		ln2hi = 6.93147180369123816490e-01 // its product with a small integer is exact
		ln2lo = 1.90821492927058770002e-10
		round = 3 << 51 // adding it leaves the nearest integer in the low bits
	)
	if x > saturation {
		x = saturation
	} else if x < -saturation {
		x = -saturation
	}
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
	// k is within ±58, so the exponent stays normal.
	return float64(y * math.Float64frombits(uint64(int64(k)+1023)<<52))
}
