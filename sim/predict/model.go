package predict

// Shape of the network (S3, 3.4.1).
const (
	Sequence = 3  // input features, one per step
	Hidden   = 16 // units of the LSTM layer
)

// The gates of a unit, in the order in which their weights are stored.
const (
	gateInput  = iota // i_t, S3, equation 5
	gateForget        // f_t, equation 4
	gateCell          // the candidate, equation 6
	gateOutput        // o_t, equation 7
	gates
)

// Offsets of the weights of each kind in Model.w. The row of a gate's unit is gate*Hidden + unit.
const (
	rows     = gates * Hidden
	atInput  = 0
	atBias   = atInput + rows
	atHidden = atBias + rows
	atOut    = atHidden + rows*Hidden
	atOutB   = atOut + Hidden

	// Params is the number of trained weights.
	Params = atOutB + 1
)

// Model is a trained network: one LSTM layer over the sequence and a linear layer to one number. It is immutable and may be
// shared.
type Model struct {
	w [Params]float64
}

// Predict returns the network's output for K_(t-2), K_(t-1), K_t: its estimate of L_t = (R_(t+1) -
// S_t) / S_t. Finite features give a finite result. It does not allocate.
func (m *Model) Predict(k *[Sequence]float64) float64 {
	var p pass
	return p.forward(&m.w, k)
}

// pass stores the intermediate values of one run of the network for back-propagation.
type pass struct {
	x    [Sequence]float64
	gate [Sequence][rows]float64   // gates after activation
	c    [Sequence][Hidden]float64 // cell state
	tc   [Sequence][Hidden]float64 // tanh of the cell state
	h    [Sequence][Hidden]float64 // output of the unit
}

// forward runs the network (S3, equations 4 to 8). S3 prints the candidate as the new cell state in equation 6. This function
// instead follows the text above that equation, which agrees with the usual LSTM: input gate times candidate plus forget gate
// times old state.
func (p *pass) forward(w *[Params]float64, k *[Sequence]float64) float64 {
	p.x = *k
	for t := range Sequence {
		p.gates(w, t)
		g := &p.gate[t]
		for u := range Hidden {
			c := float64(g[gateInput*Hidden+u] * g[gateCell*Hidden+u])
			if t > 0 {
				c += float64(g[gateForget*Hidden+u] * p.c[t-1][u])
			}
			p.c[t][u] = c
			p.tc[t][u] = tanh(c)
			p.h[t][u] = float64(g[gateOutput*Hidden+u] * p.tc[t][u])
		}
	}
	return w[atOutB] + dot((*[Hidden]float64)(w[atOut:]), &p.h[Sequence-1])
}

// gates computes all gates of step t. The state before the first step is zero.
func (p *pass) gates(w *[Params]float64, t int) {
	x, g := p.x[t], &p.gate[t]
	in, bias := (*[rows]float64)(w[atInput:]), (*[rows]float64)(w[atBias:])
	for r := range rows {
		g[r] = float64(in[r]*x) + bias[r]
	}
	if t > 0 {
		h := &p.h[t-1]
		for r := range rows {
			g[r] += dot((*[Hidden]float64)(w[atHidden+r*Hidden:]), h)
		}
	}
	for r := range gateCell * Hidden {
		g[r] = sigmoid(g[r])
	}
	for r := gateCell * Hidden; r < gateOutput*Hidden; r++ {
		g[r] = tanh(g[r])
	}
	for r := gateOutput * Hidden; r < rows; r++ {
		g[r] = sigmoid(g[r])
	}
}

// dot returns a scalar product, summed in the fixed order of four interleaved sums.
func dot(a, b *[Hidden]float64) float64 {
	var s0, s1, s2, s3 float64
	for i := 0; i < Hidden; i += 4 {
		s0 += float64(a[i] * b[i])
		s1 += float64(a[i+1] * b[i+1])
		s2 += float64(a[i+2] * b[i+2])
		s3 += float64(a[i+3] * b[i+3])
	}
	return (s0 + s1) + (s2 + s3)
}
