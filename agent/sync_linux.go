package agent

import (
	"os"
	"syscall"
)

// syncData makes sure that a file's contents outlast a crash.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
