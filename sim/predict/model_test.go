package predict

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fairlane/sim"
)

func TestActivationsAgreeWithTheLibrarys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.Float64Range(-30, 30).Draw(rt, "x")
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 2e-14*want {
			rt.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
		if got, want := tanh(x), math.Tanh(x); math.Abs(got-want) > 1e-14 {
			rt.Fatalf("tanh(%v) = %v, want %v", x, got, want)
		}
		if got, want := sigmoid(x), 1/(1+math.Exp(-x)); math.Abs(got-want) > 1e-14 {
			rt.Fatalf("sigmoid(%v) = %v, want %v", x, got, want)
		}
	})
	for _, x := range []float64{40, 41, 1e6, 1e300, math.Inf(1)} {
		if tanh(x) != 1 || tanh(-x) != -1 || sigmoid(x) != 1 || sigmoid(-x) > 1e-17 {
			t.Errorf("activations do not saturate at %v: %v %v %v %v", x, tanh(x), tanh(-x), sigmoid(x), sigmoid(-x))
		}
	}
}

func randomModel(seed uint64) *Model {
	rng := sim.NewRNG(seed)
	m := &Model{}
	for i := range m.w {
		m.w[i] = rng.Float64() - 0.5
	}
	return m
}

// reference is a second implementation of S3's equations 4 to 8, for one unit and one weight at a time.
func reference(m *Model, k [Sequence]float64) float64 {
	weight := func(gate, unit, from int) float64 { return m.w[atHidden+(gate*Hidden+unit)*Hidden+from] }
	var h, c [Hidden]float64
	for _, x := range k {
		var next [Hidden]float64
		for u := range Hidden {
			var in [gates]float64
			for g := range gates {
				in[g] = m.w[atInput+g*Hidden+u]*x + m.w[atBias+g*Hidden+u]
				for j := range Hidden {
					in[g] += weight(g, u, j) * h[j]
				}
			}
			logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
			c[u] = logistic(in[gateForget])*c[u] + logistic(in[gateInput])*math.Tanh(in[gateCell])
			next[u] = logistic(in[gateOutput]) * math.Tanh(c[u])
		}
		h = next
	}
	out := m.w[atOutB]
	for u := range Hidden {
		out += m.w[atOut+u] * h[u]
	}
	return out
}

func TestPredictIsTheNetworkOfS3(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := randomModel(rapid.Uint64().Draw(rt, "seed"))
		var k [Sequence]float64
		for i := range k {
			k[i] = rapid.Float64Range(-5, 5).Draw(rt, "k")
		}
		if got, want := m.Predict(&k), reference(m, k); math.Abs(got-want) > 1e-12 {
			rt.Fatalf("Predict(%v) = %v, want %v", k, got, want)
		}
	})
	var zero Model
	zero.w[atOutB] = 0.25
	if got := zero.Predict(&[Sequence]float64{1, 2, 3}); got != 0.25 {
		t.Errorf("a network without weights gives %v, want the output bias", got)
	}
}

func TestExtremeFeaturesGiveFinitePredictions(t *testing.T) {
	t.Parallel()
	m := randomModel(3)
	for i := range m.w {
		m.w[i] = math.Copysign(maxWeight, m.w[i])
	}
	for _, k := range [][Sequence]float64{{1e300, -1e300, 1e300}, {0, 0, 0}, {math.MaxFloat64 / maxWeight / 2, 0, 0}} {
		if got := m.Predict(&k); math.IsNaN(got) || math.IsInf(got, 0) {
			t.Errorf("Predict(%v) = %v", k, got)
		}
	}
}

// The analytic gradient of every weight equals the slope between two nearby outputs.
func TestGradientEqualsFiniteDifferences(t *testing.T) {
	t.Parallel()
	const step = 1e-5
	for _, k := range [][Sequence]float64{{0.1, -0.3, 0.7}, {-2, 1.5, 0.01}, {0, 0, 0}} {
		m := randomModel(uint64(7 + len(k)))
		var p pass
		p.forward(&m.w, &k)
		var got [Params]float64
		p.backward(&m.w, 2.5, &got)
		for i := range m.w {
			was := m.w[i]
			m.w[i] = was + step
			up := m.Predict(&k)
			m.w[i] = was - step
			down := m.Predict(&k)
			m.w[i] = was
			if want := 2.5 * (up - down) / (2 * step); math.Abs(got[i]-want) > 1e-7*max(1, math.Abs(want)) {
				t.Fatalf("features %v: gradient of weight %d is %v, numerically %v", k, i, got[i], want)
			}
		}
	}
}

func TestBackwardAddsToTheGradient(t *testing.T) {
	t.Parallel()
	m, k := randomModel(1), [Sequence]float64{0.2, 0.4, -0.1}
	var p pass
	p.forward(&m.w, &k)
	var once, twice [Params]float64
	p.backward(&m.w, 1, &once)
	p.backward(&m.w, 1, &twice)
	p.backward(&m.w, 1, &twice)
	for i := range once {
		if math.Abs(twice[i]-2*once[i]) > 1e-12 {
			t.Fatalf("weight %d: %v after one row, %v after two identical rows", i, once[i], twice[i])
		}
	}
}

func TestPredictDoesNotAllocate(t *testing.T) {
	m, k := randomModel(1), [Sequence]float64{0.1, -0.2, 0.05}
	if n := testing.AllocsPerRun(100, func() { k[0] += m.Predict(&k) * 1e-9 }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPredict(b *testing.B) {
	m, err := Default()
	if err != nil {
		b.Fatal(err)
	}
	k := [Sequence]float64{0.1, -0.2, 0.05}
	b.ReportAllocs()
	for b.Loop() {
		k[0] = m.Predict(&k)
	}
}
