package app

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"fairlane/sim/reproduce"
)

func TestReproduceUnknownNameIsWrongUsage(t *testing.T) {
	t.Parallel()
	var out, words bytes.Buffer
	if code := Main(t.Context(), []string{"reproduce", "s1-ratelimit", "nothing"}, &out, &words); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	for _, name := range reproduce.Names() {
		if !strings.Contains(words.String(), name) {
			t.Errorf("%q does not list %s", words.String(), name)
		}
	}
	if out.Len() > 0 {
		t.Errorf("wrote %q as data", out.String())
	}
}

func TestReproducePrintsRows(t *testing.T) {
	t.Parallel()
	var out, words bytes.Buffer
	if code := Main(t.Context(), []string{"--lang=en", "reproduce", "s1-ratelimit", "--json"}, &out, &words); code != exitDone {
		t.Fatalf("exit code %d: %s", code, words.String())
	}
	var rows []reproduce.Row
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 9 || rows[0].Name != "s1-ratelimit" || rows[0].Ratio == nil {
		t.Errorf("got %d rows, first %+v", len(rows), rows[0])
	}
	if words.Len() > 0 {
		t.Errorf("progress %q where there is no terminal", words.String())
	}
	out.Reset()
	if code := Main(t.Context(), []string{"--lang=en", "reproduce", "s1-ratelimit"}, &out, &words); code != exitDone {
		t.Fatalf("exit code %d: %s", code, words.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 11 || !strings.HasPrefix(lines[0], "s1-ratelimit: ") || !strings.Contains(lines[1], "PUBLISHED") || !strings.Contains(lines[2], rows[0].Metric) {
		t.Errorf("table:\n%s", out.String())
	}
}
