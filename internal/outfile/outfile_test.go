package outfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"

	"fairlane/internal/usage"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// only fails the test if a directory contains anything but one file with the given text.
func only(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, want)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("the directory holds %v, %v; want the file alone", list, err)
	}
}

func TestAFileIsWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out.txt")
	if err := Write(path, text("one")); err != nil {
		t.Fatal(err)
	}
	only(t, path, "one")
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error { return errors.Join(text("half of tw")(w), broken) })
	if !errors.Is(err, broken) {
		t.Errorf("a text that ends early: %v", err)
	}
	only(t, path, "one")
	if err := WriteMode(path, 0o600, text("two")); err != nil {
		t.Fatal(err)
	}
	only(t, path, "two")
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", st.Mode(), err)
	}
	if err := Write(filepath.Dir(path), text("x")); !errors.As(err, new(*usage.Error)) {
		t.Errorf("a directory: %v", err)
	}
	if err := Write(filepath.Join(path, "below"), text("x")); err == nil {
		t.Error("a file below a file was written")
	}
}

// If two processes write the same file, the result is complete and from one of them.
func TestWritersOfOneFileDoNotMix(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out.txt")
	one := make(chan struct{})
	var g errgroup.Group
	g.Go(func() error {
		return Write(path, func(w io.Writer) error {
			err := text("first")(w)
			close(one)
			return err
		})
	})
	<-one
	g.Go(func() error { return Write(path, text("second")) })
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "first" && string(got) != "second" {
		t.Errorf("file holds %q, %v", got, err)
	}
	only(t, path, string(got))
}

func TestACopyReplacesNothing(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	if err := os.WriteFile(from, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Copy(from, to); err != nil {
		t.Fatal(err)
	}
	if at, err := os.Stat(to); err != nil || at.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: want 0600", at.Mode(), err)
	}
	if err := Copy(to, from); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want that the file exists", err)
	}
	only(t, to, "kept")
}
