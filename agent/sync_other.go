//go:build !linux

package agent

import "os"

// syncData makes sure that a file's contents outlast a crash.
func syncData(f *os.File) error { return f.Sync() }
