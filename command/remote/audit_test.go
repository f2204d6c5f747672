package remote

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"fairlane/command/cmdline"
)

// A failed export leaves no file, because a partial one would look complete.
func TestAFailedExportLeavesNoFile(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") == "" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"items":[],"next_cursor":"more"}`))
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"code":"unavailable","status":503,"title":"Not now","type":"x","request_id":"y"}`))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	cmd, _, words := asks(map[string]string{"FAIRLANE_URL": server.URL, "FAIRLANE_TOKEN": "t"}, "audit", "export", "--to", file)
	if err := cmd.ExecuteContext(t.Context()); cmdline.ExitCode(err) != 1 {
		t.Errorf("the export ended with %v\n%s", err, words)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its file is there: %v", err)
	}
}
