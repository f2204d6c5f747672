package predict

import "fairlane/internal/num"

// Beyond this the sigmoid is 0 or 1 to the last bit that matters here.
const saturation = 40

// sigmoid is S3, equation 9.
func sigmoid(x float64) float64 { return 1 / (1 + exp(-x)) }

// tanh is S3, equation 10, by way of the exponential of 2x. Its absolute error is a few 1e-16.
func tanh(x float64) float64 { return 1 - 2/(1+exp(float64(2*x))) }

// exp is the exponential of x held within the saturation. A trained model and a simulation have the same bits on every machine.
func exp(x float64) float64 { return num.Exp(min(max(x, -saturation), saturation)) }
