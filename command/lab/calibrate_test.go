package lab

import (
	"os"
	"path/filepath"
	"testing"

	"fairlane/sim/lab/calibrate"
)

// Whatever a kill leaves at the end of a resume file, the earlier runs remain, and the next run has a line of its own.
func TestResumedRunsKeepTheirLines(t *testing.T) {
	t.Parallel()
	const one = `{"key":"one","rates_bps":[1,2],"use":0.5,"queue_bytes":0,"pauses":0,"marked":0}`
	for name, c := range map[string]struct {
		Found, kept string
		runs        int
	}{
		"nothing":              {"", "", 0},
		"whole lines":          {one + "\n" + one + "\n", one + "\n" + one + "\n", 1},
		"a line cut short":     {one + "\n" + one[:20], one + "\n", 1},
		"its beginning":        {one + "\n{", one + "\n", 1},
		"only the end of line": {one, one + "\n", 1},
		"an empty line":        {one + "\n\n", one + "\n", 1},
		"a first line cut":     {one[:30], "", 0},
	} {
		path := filepath.Join(t.TempDir(), "runs.jsonl")
		if err := os.WriteFile(path, []byte(c.Found), 0o600); err != nil {
			t.Fatal(err)
		}
		var o calibrate.Options
		file, err := resumeRuns(path, &o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		before, err := os.ReadFile(path)
		if err != nil || string(before) != c.kept || len(o.Known) != c.runs {
			t.Errorf("%s: %q with %d runs known, %v; want %q with %d", name, before, len(o.Known), err, c.kept, c.runs)
		}
		if err := o.Finished("two", &calibrate.Measured{Rates: []float64{3}}); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if file, err = resumeRuns(path, &o); err != nil || len(o.Known) != c.runs+1 {
			t.Errorf("%s: %d runs with the next, %v; want %d", name, len(o.Known), err, c.runs+1)
			continue
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
