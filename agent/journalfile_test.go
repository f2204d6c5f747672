package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"fairlane/agent"
)

// TestFileJournalKeepsSavedDocuments alternates between saving and noting documents, reopens the journal at any
// time, and damages the file that was being written when the host crashed.
func TestFileJournalKeepsSavedDocuments(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(top, "")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "journal")
		j := agent.Unsynced(path)
		load := func() string {
			b, err := agent.NewFileJournal(path).Load(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		saved, newest := "", "" // newest survives as long as the host runs
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			document := fmt.Sprint(i, rapid.StringN(0, 300, -1).Draw(t, "document"))
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				if err := j.Save(context.Background(), []byte(document)); err != nil {
					t.Fatal(err)
				}
				saved, newest = document, document
			case 2:
				if err := j.Note(context.Background(), []byte(document)); err != nil {
					t.Fatal(err)
				}
				newest = document
			case 3: // the agent starts again
				j = agent.Unsynced(path)
			}
			if got := load(); got != newest {
				t.Fatalf("loaded %q, want %q", got, newest)
			}
		}
		if saved == "" {
			return
		}
		if newest != saved { // the host crashes, and the note is torn
			damage(t, path+".note")
			if got := load(); got != saved {
				t.Fatalf("after a torn note %q, want %q", got, saved)
			}
			newest = saved
			j = agent.Unsynced(path)
		}
		// The host crashes while another document is saved.
		files := map[string][]byte{}
		for _, f := range []string{".a", ".b"} {
			files[f], _ = os.ReadFile(path + f) // a missing file stays missing
		}
		if err := j.Save(context.Background(), []byte("one more")); err != nil {
			t.Fatal(err)
		}
		for f, b := range files {
			if now, _ := os.ReadFile(path + f); string(now) != string(b) {
				damage(t, path+f)
			}
		}
		if got := load(); got != newest {
			t.Fatalf("after a torn document %q, want %q", got, newest)
		}
	})
}

// damage changes or truncates a file.
func damage(t *rapid.T, path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "cut") {
		b = b[:rapid.IntRange(1, 126).Draw(t, "to")]
	} else {
		b[rapid.IntRange(0, min(len(b), 120)-1).Draw(t, "at")] ^= 1
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestJournalWithoutAWholeSlotIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	if b, err := agent.NewFileJournal(path).Load(t.Context()); b != nil || err != nil {
		t.Fatal(b, err)
	}
	j := agent.NewFileJournal(path)
	if err := j.Save(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".b", nil, 0o600); err != nil { // empty: nothing was written to it yet
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + ".*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Error(f, st.Mode(), err)
		}
	}
	if err := os.WriteFile(path+".a", []byte("something else altogether, and long enough to be a document with a frame, if it were one, which it is not at all by any means"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.NewFileJournal(path).Load(t.Context()); !errors.Is(err, agent.ErrDamaged) {
		t.Error(err)
	}
	if err := agent.NewFileJournal(filepath.Join(path, "nowhere", "j")).Save(t.Context(), []byte("x")); err == nil {
		t.Error("saved in a missing directory")
	}
}

// TestFailedSaveIsNotFoundLater uses a disk that accepts a document and fails before it is durable.
func TestFailedSaveIsNotFoundLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	j := agent.NewFileJournal(path)
	full := errors.New("no space left on device")
	j.FailSync(full)
	if err := j.Save(t.Context(), []byte("the very first")); !errors.Is(err, full) {
		t.Fatal(err)
	}
	if b, err := agent.NewFileJournal(path).Load(t.Context()); len(b) > 0 || err != nil {
		t.Errorf("found %q, %v, want nothing", b, err)
	}
	j.FailSync(nil)
	if err := j.Save(t.Context(), []byte("one")); err != nil {
		t.Fatal(err)
	}
	j.FailSync(full)
	if err := j.Save(t.Context(), []byte("two")); !errors.Is(err, full) {
		t.Fatal(err)
	}
	if b, err := agent.NewFileJournal(path).Load(t.Context()); string(b) != "one" || err != nil {
		t.Errorf("found %q, %v, want the last saved document", b, err)
	}
}
