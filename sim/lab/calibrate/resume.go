package calibrate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// MaxLine is the largest length of a line in a resume file.
const MaxLine = 1 << 16

// MaxKnown is the largest number of runs in a resume file.
const MaxKnown = 1 << 16

// line is one completed run in a resume file.
type line struct {
	Key string `json:"key"`
	Measured
}

// WriteFinished appends one completed run to a resume file: a line of JSON.
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

// start is the beginning of every line in a resume file.
const start = `{"key":"`

// ReadFinished reads a resume file. Its last line may be truncated, for example if the process was killed. Any other invalid
// line is an error with its line number.
func ReadFinished(r io.Reader) (map[string]Measured, error) {
	out := make(map[string]Measured)
	in := bufio.NewScanner(r)
	in.Buffer(nil, MaxLine)
	var bad error
	cut := false // the last line is valid as far as it exists
	for n := 1; in.Scan(); n++ {
		if bad != nil {
			return nil, bad
		}
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil || l.Key == "" {
			bad = fmt.Errorf("line %d: want a finished run in the format of a calibration, found %.80q", n, in.Text())
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
