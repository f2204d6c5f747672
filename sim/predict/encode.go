package predict

import (
	"bytes"
	_ "embed" // the default model
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// FileVersion is the version of model files.
const FileVersion = 1

// MaxFile is the largest file that Decode reads, in bytes.
const MaxFile = 1 << 20

// maxWeight limits a weight, so that no sum in the network can overflow.
const maxWeight = 1e4

// file is a model as JSON. Weights are single precision in the order of Model.w: by gate (input, forget, cell, output), then by
// unit, and, for recurrent weights, then by source unit.
type file struct {
	Version    int       `json:"version"`
	Kind       string    `json:"kind"`
	Sequence   int       `json:"sequence"`
	Hidden     int       `json:"hidden"`
	Smoothing  float64   `json:"smoothing"`
	Input      []float32 `json:"input"`
	Bias       []float32 `json:"bias"`
	Recurrent  []float32 `json:"recurrent"`
	Output     []float32 `json:"output"`
	OutputBias float32   `json:"output_bias"`
}

const fileKind = "rtt-lstm"

//go:embed model.json
var defaultModel []byte

// Default returns the model of TrainDefault, from the embedded file.
func Default() (*Model, error) {
	m, err := Decode(defaultModel)
	if err != nil {
		return nil, fmt.Errorf("built-in model: %w", err)
	}
	return m, nil
}

// Encode returns the model as one line of JSON. Weights are rounded to single precision; models from Train and Decode have such
// weights already.
func (m *Model) Encode() ([]byte, error) {
	f := file{
		Version: FileVersion, Kind: fileKind, Sequence: Sequence, Hidden: Hidden, Smoothing: Smoothing,
		Input: narrow(m.w[atInput:atBias]), Bias: narrow(m.w[atBias:atHidden]),
		Recurrent: narrow(m.w[atHidden:atOut]), Output: narrow(m.w[atOut:atOutB]), OutputBias: float32(m.w[atOutB]),
	}
	b, err := json.Marshal(&f)
	if err != nil {
		return nil, fmt.Errorf("encode model: %w", err)
	}
	return append(b, '\n'), nil
}

// Decode reads a model and checks its version, kind, shape, number of weights of each kind, and that each weight is within
// ±10000. The error names the value found and the allowed values.
func Decode(data []byte) (*Model, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("model of %d bytes: want at most %d", len(data), MaxFile)
	}
	var f file
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("decode model: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("decode model: text after the model at byte %d", d.InputOffset())
	}
	return f.model()
}

func (f *file) model() (*Model, error) {
	if f.Version != FileVersion || f.Kind != fileKind {
		return nil, fmt.Errorf("model %q version %d: want %q version %d", f.Kind, f.Version, fileKind, FileVersion)
	}
	if f.Sequence != Sequence || f.Hidden != Hidden || f.Smoothing != Smoothing {
		return nil, fmt.Errorf("model of sequence %d, hidden %d, smoothing %v: want %d, %d, %v",
			f.Sequence, f.Hidden, f.Smoothing, Sequence, Hidden, Smoothing)
	}
	m := &Model{}
	for _, part := range []struct {
		name string
		from []float32
		to   []float64
	}{
		{"input", f.Input, m.w[atInput:atBias]},
		{"bias", f.Bias, m.w[atBias:atHidden]},
		{"recurrent", f.Recurrent, m.w[atHidden:atOut]},
		{"output", f.Output, m.w[atOut:atOutB]},
		{"output_bias", []float32{f.OutputBias}, m.w[atOutB:]},
	} {
		if len(part.from) != len(part.to) {
			return nil, fmt.Errorf("model: %d weights in %s: want %d", len(part.from), part.name, len(part.to))
		}
		for i, v := range part.from {
			part.to[i] = float64(v)
		}
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Model) check() error {
	for i, v := range m.w {
		if !(math.Abs(v) <= maxWeight) {
			return fmt.Errorf("model: weight %d is %v: want -%v to %v", i, v, maxWeight, maxWeight)
		}
	}
	return nil
}

func narrow(w []float64) []float32 {
	out := make([]float32, len(w))
	for i, v := range w {
		out[i] = float32(v)
	}
	return out
}
