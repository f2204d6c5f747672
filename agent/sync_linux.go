package agent

import (
	"os"
	"syscall"
)

// syncData makes a file's contents durable.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
