package predict

import "math"

// backward adds to grad the gradient of the output with respect to every weight, times slope, after
// a forward run with the same weights: back-propagation through the three steps.
func (p *pass) backward(w *[Params]float64, slope float64, grad *[Params]float64) {
	grad[atOutB] += slope
	var dh, dc [Hidden]float64 // slopes of the current step
	for u := range Hidden {
		grad[atOut+u] += float64(slope * p.h[Sequence-1][u])
		dh[u] = float64(slope * w[atOut+u])
	}
	for t := Sequence - 1; t >= 0; t-- {
		dg := p.gateSlopes(t, &dh, &dc)
		for r := range rows {
			grad[atInput+r] += float64(dg[r] * p.x[t])
			grad[atBias+r] += dg[r]
		}
		if t == 0 {
			return
		}
		dh = [Hidden]float64{}
		for r := range rows {
			at := atHidden + r*Hidden
			for u := range Hidden {
				grad[at+u] += float64(dg[r] * p.h[t-1][u])
				dh[u] += float64(dg[r] * w[at+u])
			}
		}
	}
}

// gateSlopes returns the slopes before the activations of step t, and sets dc to the slopes of the previous step's cell
// state.
func (p *pass) gateSlopes(t int, dh, dc *[Hidden]float64) (dg [rows]float64) {
	g := &p.gate[t]
	for u := range Hidden {
		in, forget, cell, out := g[gateInput*Hidden+u], g[gateForget*Hidden+u], g[gateCell*Hidden+u], g[gateOutput*Hidden+u]
		tc := p.tc[t][u]
		d := dc[u] + float64(float64(dh[u]*out)*(1-float64(tc*tc)))
		var before float64
		if t > 0 {
			before = p.c[t-1][u]
		}
		dg[gateInput*Hidden+u] = float64(float64(d*cell) * float64(in*(1-in)))
		dg[gateForget*Hidden+u] = float64(float64(d*before) * float64(forget*(1-forget)))
		dg[gateCell*Hidden+u] = float64(float64(d*in) * (1 - float64(cell*cell)))
		dg[gateOutput*Hidden+u] = float64(float64(dh[u]*tc) * float64(out*(1-out)))
		dc[u] = float64(d * forget)
	}
	return dg
}

// adam is the optimiser's state (Kingma and Ba, ICLR 2015, algorithm 1, with its proposed settings).
type adam struct {
	rate           float64
	first, second  [Params]float64
	decay1, decay2 float64 // 1 minus the powers of the decay rates
	started        bool
}

func (a *adam) update(w, grad *[Params]float64) {
	const beta1, beta2, epsilon = 0.9, 0.999, 1e-8
	if !a.started {
		a.started, a.decay1, a.decay2 = true, 1, 1
	}
	a.decay1 = float64(a.decay1 * beta1)
	a.decay2 = float64(a.decay2 * beta2)
	c1, c2 := 1-a.decay1, 1-a.decay2
	for i, g := range grad {
		a.first[i] = float64(beta1*a.first[i]) + float64((1-beta1)*g)
		a.second[i] = float64(beta2*a.second[i]) + float64((1-beta2)*float64(g*g))
		w[i] -= float64(a.rate*(a.first[i]/c1)) / (math.Sqrt(a.second[i]/c2) + epsilon)
	}
}
