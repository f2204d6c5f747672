package usage

import (
	"errors"
	"io/fs"
	"testing"
)

func TestWrongUsageKeepsItsCauses(t *testing.T) {
	t.Parallel()
	cause := &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}
	for name, err := range map[string]error{"wrap": Wrap(cause), "words": Errorf("read: %w", cause)} {
		if !errors.As(err, new(*Error)) || !errors.As(err, new(*fs.PathError)) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v has lost its cause or is no wrong usage", name, err)
		}
	}
	if err := Wrap(cause); err.Error() != cause.Error() {
		t.Errorf("text is %q, want that of the cause", err)
	}
	if err := Wrap(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}
