package agent

import "os"

// Unsynced makes a journal that does not wait for the disk.
func Unsynced(path string) *FileJournal {
	j := NewFileJournal(path)
	j.sync = func(*os.File) error { return nil }
	return j
}
