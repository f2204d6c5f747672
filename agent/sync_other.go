//go:build !linux

package agent

import "os"

// syncData makes a file's contents durable.
func syncData(f *os.File) error { return f.Sync() }
