package local

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
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

// keep stores a value in the series of a folder, which stay open.
func keep(t *testing.T, folder string, at time.Time, v float64) *embedded.DB {
	t.Helper()
	d, err := embedded.Open(folder, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Append(t.Context(), at, []series.Sample{{Family: series.Coverage, Labels: []series.Label{{Name: series.LabelFabric, Value: "lab"}}, Value: v}}); err != nil {
		t.Fatal(err)
	}
	return d
}

func sum(t *testing.T, d *embedded.DB, at time.Time) string {
	t.Helper()
	a, err := d.Instant(t.Context(), series.Everything, `sum_over_time(`+series.Coverage+`[1h])`, at)
	if err != nil {
		t.Fatal(err)
	}
	return string(a.Data)
}

func TestSeriesAreBackedUpAndRestored(t *testing.T) {
	dir := t.TempDir()
	database, file := filepath.Join(dir, "f.db"), filepath.Join(dir, "backup")
	step := func(wantCode int, want string, args ...string) {
		t.Helper()
		code, out, words := db(t, append(args, "--database", database)...)
		if code != wantCode || !strings.Contains(out+words, want) {
			t.Fatalf("fairlane db %s: exit code %d, want %d with %q\n%s%s", strings.Join(args, " "), code, wantCode, want, out, words)
		}
	}
	withFabric(t, database)
	step(0, "no time series are stored in "+database+".series", "backup", "--to", file+"0")
	at := time.Now().Add(-time.Minute)
	d := keep(t, database+".series", at, 1)
	held, err := store.Lock(database) // as a running service has both
	if err != nil {
		t.Fatal(err)
	}
	step(0, file+".series holds the time series", "backup", "--to", file)
	step(1, "file exists", "backup", "--to", file)
	step(0, "holds 1 fabrics", "backup", "--to", file+"1", "--no-series")
	if _, err := os.Stat(file + "1.series"); err == nil {
		t.Error("--no-series copied the series")
	}
	step(1, "in use", "restore", "--from", file, "--force", "--yes")
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	step(1, "the series are in use", "restore", "--from", file, "--force", "--yes") // a manager of another database, by mistake
	if list, err := filepath.Glob(database + ".before-*"); err != nil || len(list) > 0 {
		t.Errorf("the database was replaced although its series could not be: %v, %v", list, err)
	}
	if err := errors.Join(d.Close(), keep(t, database+".series", at.Add(time.Second), 5).Close()); err != nil {
		t.Fatal(err)
	}
	step(0, "those in "+database+".series stay unchanged", "restore", "--from", file+"1", "--force", "--yes")
	step(0, "the previous time series are kept as "+database+".series.before-", "restore", "--from", file, "--force", "--yes")
	d = keep(t, database+".series", at.Add(2*time.Second), 2)
	if got := sum(t, d, time.Now()); !strings.Contains(got, `"3"`) {
		t.Errorf("after the restore: %s", got)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// A backup whose series are damaged restores neither.
	files, err := filepath.Glob(filepath.Join(file+".series", "*", "index"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.Truncate(files[0], 20); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(database)
	if err != nil {
		t.Fatal(err)
	}
	step(1, "corrupted block", "restore", "--from", file, "--force", "--yes")
	if after, err := os.Stat(database); err != nil || !os.SameFile(before, after) {
		t.Error("the database was replaced although its series could not be")
	}
	step(0, "restored 1 fabrics", "restore", "--from", file, "--force", "--yes", "--no-series")
}

// A backup whose database cannot be copied leaves no series behind, which would refuse the next backup.
func TestAFailedBackupLeavesNoSeries(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "backup")
	database := filetest.Write(t, "f.db", "not a database")
	if err := keep(t, database+".series", time.Now().Add(-time.Minute), 1).Close(); err != nil {
		t.Fatal(err)
	}
	code, out, words := db(t, "backup", "--to", to, "--database", database)
	if left, _ := filepath.Glob(to + "*"); code != 1 || len(left) > 0 {
		t.Errorf("exit code %d, left %v\n%s%s", code, left, out, words)
	}
}

// doctor says whether the server that has the series gives them.
func TestDoctorAsksTheServerOfTheSeries(t *testing.T) {
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/read" || r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte{0}) // no series, compressed
	}))
	defer answers.Close()
	for token, want := range map[string]string{"secret": `"series-right"`, "wrong": `"series-away"`} {
		config := filetest.Write(t, "c.yaml", "database: "+filepath.Join(t.TempDir(), "f.db")+"\nseries: {url: '"+answers.URL+"', token_file: "+filetest.Write(t, "token", token)+"}\n")
		var out, words bytes.Buffer
		runLocal(t.Context(), []string{"doctor", "--config", config, "--json"}, &out, &words)
		if !strings.Contains(out.String(), want) || strings.Contains(out.String()+words.String(), token) && token == "secret" {
			t.Errorf("%s: %s%s, want %s", token, out.String(), words.String(), want)
		}
	}
}
