package remote

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// Every command whose answer grows with the size of a fabric has a limit for the rows of its table.
func TestEveryLongTableHasALimit(t *testing.T) {
	t.Parallel()
	also := []string{
		"baseline diff", "fabric events", "fabric release", "fabric snapshots", "flow set", "plan explain", "policy diff", "policy show",
		"tenant show", "topology links", "topology show", "topology tiers",
	}
	lists := 0
	for _, cmd := range leaves() {
		name := called(cmd)
		if !strings.HasSuffix(name, " list") && !slices.Contains(also, name) {
			continue
		}
		lists++
		if f := cmd.Flags(); f.Lookup("top") == nil || f.Lookup("all") == nil {
			t.Errorf("%s has no --top and --all", name)
		}
	}
	if lists < len(also)+12 {
		t.Errorf("%d commands found", lists)
	}
}

// A list longer than a screen is cut as lists of devices are; with --all, --top or another output format it is not.
func TestLongListsAreLimited(t *testing.T) {
	t.Parallel()
	const rows = 45
	answers := map[string]string{"/tenants": `{"name": "t%d", "weight": 1, "version": 1, "flows": 0}`, "/events": `{"id": %d, "at": "2026-11-21T10:00:00Z", "actor": "a", "kind": "x", "message": "m%[1]d"}`}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for end, form := range answers {
			if strings.HasSuffix(r.URL.Path, end) {
				var items []string
				for i := range rows {
					items = append(items, fmt.Sprintf(form, i))
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"items": [%s]}`, strings.Join(items, ","))
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(srv.Close)
	for _, x := range []struct {
		args        string
		lines, left int
		last        string
	}{
		{"tenant list", mostRows + 1, rows - mostRows, "t19 "},
		{"tenant list --top 30", 31, rows - 30, "t29 "},
		{"tenant list --all", rows + 1, 0, "t44 "},
		{"fabric events --top 7", 8, rows - 7, "m44"}, // the latest, in order of time
		{"fabric events", mostRows + 1, rows - mostRows, "m44"},
	} {
		cmd, out, words := asks(map[string]string{"FAIRLANE_URL": srv.URL, "FAIRLANE_TOKEN": "x", "FAIRLANE_FABRIC": "lab"}, strings.Fields(x.args)...)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", x.args, err)
			continue
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		want := ""
		if x.left > 0 {
			want = fmt.Sprintf("%d more rows: --top N or --all", x.left)
		}
		if len(lines) != x.lines || !strings.Contains(lines[len(lines)-1]+" ", x.last) || strings.TrimSpace(words.String()) != want {
			t.Errorf("%s: %d lines, the last %q, %q: want %d, %q, %q", x.args, len(lines), lines[len(lines)-1], words, x.lines, x.last, want)
		}
	}
	cmd, out, words := asks(map[string]string{"FAIRLANE_URL": srv.URL, "FAIRLANE_TOKEN": "x", "FAIRLANE_FABRIC": "lab"}, "tenant", "list", "--json")
	if err := cmd.ExecuteContext(t.Context()); err != nil || strings.Count(out.String(), `"name"`) != rows || words.Len() > 0 {
		t.Errorf("as JSON: %v, %d tenants, %q", err, strings.Count(out.String(), `"name"`), words)
	}
}
