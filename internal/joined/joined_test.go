package joined

import (
	"errors"
	"testing"
)

func TestErrorsInOneLine(t *testing.T) {
	t.Parallel()
	a, b := errors.New("first"), errors.New("second \t  part")
	both := Errors{a, b}
	if err := both.OrNil(); err == nil || err.Error() != "first; second \t  part" || !errors.Is(err, a) || !errors.Is(err, b) {
		t.Errorf("both are %v", err)
	}
	if err := (Errors{}).OrNil(); err != nil {
		t.Errorf("none is %v", err)
	}
	if text := OneLine(errors.Join(a, b).Error() + "\n"); text != "first; second part" {
		t.Errorf("joined by package errors: %q", text)
	}
}
