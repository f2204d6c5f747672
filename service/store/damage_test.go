package store

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fairlane/migrations"
	"fairlane/service/control"
)

// filled creates a SQLite file with many fabrics, without a write-ahead log.
func filled(t *testing.T) string {
	t.Helper()
	path := fresh(t, migrations.SQLite)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := write(t.Context(), s, fmt.Sprintf("fabric-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// damage overwrites the header of pages that hold long sources of fabrics.
func damage(t *testing.T, path string) {
	t.Helper()
	const page = 4096
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for at := page; at+page <= len(text); at += page {
		if text[at] == 13 && strings.Count(string(text[at:at+page]), strings.Repeat("x", 1000)) > 0 { // the leaf of a table
			if _, err := f.WriteAt([]byte(strings.Repeat("\xff", 64)), int64(at)); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	if n < 10 {
		t.Fatalf("%d pages were damaged", n)
	}
}

func TestDamagedFileIsRejectedWithAdviceToRestore(t *testing.T) {
	t.Parallel()
	path := filled(t)
	damage(t, path)
	_, err := Open(t.Context(), path, Options{})
	wantFault(t, err, "storage-damaged")
	if err == nil || !strings.Contains(err.Error(), "fairlane db restore") {
		t.Errorf("the error is %v", err)
	}
	in, err := Inspect(t.Context(), path)
	if err != nil || len(in.Faults) == 0 {
		t.Errorf("a check finds %+v, %v", in, err)
	}
}

// readOnly waits until the queue's connection, which writes without Tx, rejects writes.
func readOnly(t *testing.T, s *Store) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		_, err := s.Writer().ExecContext(t.Context(), "UPDATE audit_tail SET seq = seq WHERE id = 1")
		if err != nil {
			if !strings.Contains(err.Error(), "readonly") {
				t.Errorf("a write on the queue's connection: %v", err)
			}
			return
		}
		if time.Since(begun) > 10*time.Second {
			t.Fatal("the queue's connection still takes writes")
		}
	}
}

// TestDamageInALargeFileIsFoundInTheBackground opens a damaged file that is too large to be checked before use: writes are
// rejected although no request reads the damaged page.
func TestDamageInALargeFileIsFoundInTheBackground(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filled(t)
	s := openAt(t, path, Options{})
	for _, q := range []string{"CREATE TABLE filler (x BLOB)", fmt.Sprintf("INSERT INTO filler VALUES (zeroblob(%d))", checkedAtStart)} {
		if _, err := s.Writer().ExecContext(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, path)
	s = openAt(t, path, Options{}) // not rejected: the check is still running
	readOnly(t, s)
	wantFault(t, s.Tx(ctx, func(control.Repos) error { return errors.New("began") }), "storage-damaged")
	wantFault(t, s.Ping(ctx), "storage-damaged")
	if err := s.View(ctx, func(r control.Repos) error { _, err := r.AuditTail(ctx); return err }); err != nil {
		t.Errorf("what is not damaged cannot be read: %v", err)
	}
}

// TestLaterDamageStopsWrites damages the file of an open store.
func TestLaterDamageStopsWrites(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filled(t)
	s := openAt(t, path, Options{})
	if err := s.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	damage(t, path)
	err := s.View(ctx, func(r control.Repos) error {
		_, _, err := r.ListFabrics(ctx, control.Page{Limit: control.MaxPageLimit})
		return err
	})
	wantFault(t, err, "storage-damaged")
	wantFault(t, s.Tx(ctx, func(control.Repos) error { return errors.New("began") }), "storage-damaged")
	wantFault(t, s.Ping(ctx), "storage-damaged")
	readOnly(t, s)
	if err := s.View(ctx, func(r control.Repos) error { _, err := r.AuditTail(ctx); return err }); err != nil {
		t.Errorf("what is not damaged cannot be read: %v", err)
	}
}
