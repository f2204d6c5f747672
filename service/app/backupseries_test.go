package app

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/internal/testkit/filetest"
	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/store"
)

// A backup for which the disk has no room, or whose series cannot be read, says so and leaves nothing behind.
func TestABackupThatCannotBeWrittenIsNamed(t *testing.T) {
	t.Parallel()
	dir, inside := onASmallDisk(t)
	if !inside {
		return
	}
	home := t.TempDir()
	database := filepath.Join(home, "f.db")
	s, err := store.Open(t.Context(), database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := embedded.Open(database+".series", embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		var batch []series.Sample
		for k := range 2000 {
			batch = append(batch, series.Sample{Family: series.Coverage, Labels: []series.Label{{Name: series.LabelFabric, Value: fmt.Sprint(k)}}, Value: float64(k*i) / 7})
		}
		if err := d.Append(t.Context(), time.Now().Add(time.Duration(i-40)*time.Second), batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	config := filetest.Write(t, "c.yaml", "database: "+database+"\n")
	fails := func(to, want string) {
		t.Helper()
		var said transcript
		code := Main(t.Context(), []string{"db", "backup", "--config", config, "--to", to, "--lang", "en"}, io.Discard, &said)
		if left, _ := filepath.Glob(to + "*"); code != 1 || !strings.Contains(said.String(), want) || len(left) > 0 {
			t.Errorf("exit code %d, left %v: %s, want %s", code, left, said.String(), want)
		}
	}
	fails(filepath.Join(dir, "backup"), "there is no room left")
	if err := os.RemoveAll(filepath.Join(database+".series", "wal")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(database+".series", "wal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(filepath.Join(home, "backup"), filepath.Join(database+".series", "wal")+": not a directory")
}
