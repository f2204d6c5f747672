package predict

import "fairlane/internal/num"

// Beyond this value the sigmoid is 0 or 1 within the needed precision.
const saturation = 40

// sigmoid computes S3, equation 9.
func sigmoid(x float64) float64 { return 1 / (1 + exp(-x)) }

// tanh computes S3, equation 10, from the exponential of 2x. Its absolute error is a few 1e-16.
func tanh(x float64) float64 { return 1 - 2/(1+exp(float64(2*x))) }

// exp returns the exponential of x, limited to the saturation. It gives the same bits on every machine.
func exp(x float64) float64 { return num.Exp(min(max(x, -saturation), saturation)) }
