// Package outfile writes the files that people name for output.
package outfile

import (
	"fmt"
	"io"
	"os"

	"fairlane/internal/usage"
)

// Write writes a file whole or not at all.
func Write(path string, write func(io.Writer) error) (err error) {
	if at, err := os.Stat(path); err == nil && at.IsDir() {
		return usage.Errorf("write %s: it is a directory: want a file", path)
	}
	tmp := path + ".tmp"
	w, err := os.Create(tmp)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := write(w); err != nil {
		_ = w.Close()
		_ = os.Remove(tmp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err = w.Close(); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
