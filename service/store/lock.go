package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock makes this process the only manager of a database file. A second manager would take over the running rollouts of
// the first. The lock ends with the process, even if it is killed.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock database %s: %w: give the file and its directory, on a disk that takes changes, to the user that runs the service", path, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s is in use by another manager: stop it, or use PostgreSQL for several: %w", path, err), f.Close())
	}
	return f, nil
}
