package podsock

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// checker is a body that checks itself.
type checker interface{ Check() error }

// Decode reads the body of a request into to and checks it: one JSON value of at most most bytes. Its errors
// are a *Problem.
func Decode(r io.Reader, most int64, to checker) error {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return Problemf(CodeInvalid, "request: %w", err)
	}
	if int64(len(b)) > most {
		return Problemf(CodeInvalid, "request: found more than %d bytes, the maximum", most)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(to); err != nil {
		return Problemf(CodeInvalid, "request: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Problemf(CodeInvalid, "request: found more than one JSON value, want one")
	}
	return to.Check()
}
