package calibrate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// MaxLine bounds a line of a resume file.
const MaxLine = 1 << 16

// MaxKnown bounds the runs that a resume file may hold.
const MaxKnown = 1 << 16

// line is one finished run of a resume file.
type line struct {
	Key string `json:"key"`
	Measured
}

// WriteFinished appends one finished run to a resume file: a line of JSON.
func WriteFinished(w io.Writer, key string, m *Measured) error {
	text, err := json.Marshal(line{key, *m})
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("note %s: %w", key, err)
	}
	return nil
}

// start begins every line of a resume file.
const start = `{"key":"`

// ReadFinished reads a resume file. Its last line may be cut short, as a kill leaves it; any other
// that is not a run's is an error with its number.
func ReadFinished(r io.Reader) (map[string]Measured, error) {
	out := make(map[string]Measured)
	in := bufio.NewScanner(r)
	in.Buffer(nil, MaxLine)
	var bad error
	cut := false // the line was one of a run as far as it goes
	for n := 1; in.Scan(); n++ {
		if bad != nil {
			return nil, bad
		}
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil || l.Key == "" {
			bad = fmt.Errorf("line %d: want a finished run as a calibration writes it, found %.80q", n, in.Text())
			cut = strings.HasPrefix(in.Text(), start) || strings.HasPrefix(start, in.Text())
			continue
		}
		if len(out) == MaxKnown {
			return nil, fmt.Errorf("line %d: want at most %d runs", n, MaxKnown)
		}
		out[l.Key] = l.Measured
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("read finished runs: %w", err)
	}
	if bad != nil && !cut {
		return nil, bad
	}
	return out, nil
}
