package outfile

import (
	"errors"
	"io"
	"os"
)

// Copy copies to a new file that only its owner may read, and flushes it to the disk.
func Copy(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Sync(), w.Close(), r.Close())
}
