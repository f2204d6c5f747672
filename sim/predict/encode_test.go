package predict

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestModelsSurviveEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := randomModel(rapid.Uint64().Draw(rt, "seed"))
		for i, w := range m.w {
			m.w[i] = float64(float32(w))
		}
		b, err := m.Encode()
		if err != nil {
			rt.Fatal(err)
		}
		back, err := Decode(b)
		if err != nil {
			rt.Fatal(err)
		}
		if *back != *m {
			rt.Fatal("the decoded model differs")
		}
	})
}

func TestDecodeErrorsNameTheField(t *testing.T) {
	t.Parallel()
	text := string(defaultModel)
	_, weights, _ := strings.Cut(text, `"input":[`)
	first, _, _ := strings.Cut(weights, ",")
	for _, c := range []struct{ name, old, with, want string }{
		{"version", `"version":1`, `"version":2`, `version 2: want "rtt-lstm" version 1`},
		{"kind", `rtt-lstm`, `gru`, `model "gru"`},
		{"sequence", `"sequence":3`, `"sequence":4`, "sequence 4"},
		{"hidden", `"hidden":16`, `"hidden":32`, "hidden 32"},
		{"smoothing", `"smoothing":0.2`, `"smoothing":0.5`, "smoothing 0.5"},
		{"one weight too few", `"input":[` + first + `,`, `"input":[`, "63 weights in input: want 64"},
		{"one weight too many", `"output":[`, `"output":[0,`, "17 weights in output: want 16"},
		{"a part missing", `"bias"`, `"bia"`, "unknown field"},
		{"weight out of range", first, `10001`, "weight 0 is 10001: want -10000 to 10000"},
		{"weight beyond single precision", first, `1e39`, "cannot unmarshal"},
		{"text after the model", "}\n", "} {}", "text after the model"},
		{"no JSON", `{`, `<`, "decode model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(text, c.old, c.with, 1)
			if bad == text {
				t.Fatalf("%q is not in the model", c.old)
			}
			if _, err := Decode([]byte(bad)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := Decode(bytes.Repeat([]byte{' '}, MaxFile+1)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a huge file: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(defaultModel)
	f.Add([]byte(`{"version":1,"kind":"rtt-lstm","sequence":3,"hidden":16,"smoothing":0.2,"input":[1e999]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		if err != nil {
			return
		}
		k := [Sequence]float64{3, -1, 0.5}
		if out := m.Predict(&k); !(out <= maxWeight*(Hidden+1) && out >= -maxWeight*(Hidden+1)) {
			t.Fatalf("an accepted model predicts %v", out)
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(again)
		if err != nil || *back != *m {
			t.Fatalf("the model differs after Encode and Decode: %v", err)
		}
	})
}
