package agent

import "os"

// FailSync makes a journal's disk fail.
func (j *FileJournal) FailSync(err error) { j.sync = func(*os.File) error { return err } }

// Unsynced makes a journal that does not wait for the disk.
func Unsynced(path string) *FileJournal {
	j := NewFileJournal(path)
	j.sync = func(*os.File) error { return nil }
	return j
}
