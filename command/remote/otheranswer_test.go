package remote

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlane/command/cmdline"
)

// A proxy or another program at the URL answers with success and something else than JSON.
func TestAnAnswerThatIsNotOfTheServiceIsAnError(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, contentType string
		status            int
		args              []string
	}{
		{"a page of a portal", "text/html", http.StatusOK, []string{"fabric", "list"}},
		{"another status of success", "application/json", http.StatusNonAuthoritativeInfo, []string{"fabric", "show", "lab"}},
		{"no content", "", http.StatusNoContent, []string{"fabric", "show", "lab"}},
		{"something created", "text/html", http.StatusCreated, []string{"fabric", "create", "lab", "--source", "ibsim:unix:x"}},
		{"a stored plan", "text/html", http.StatusCreated, []string{"plan", "create", "--fabric", "lab"}},
		{"a plan", "text/html", http.StatusOK, []string{"plan", "show", "3f9a61c2", "--fabric", "lab"}},
		{"a rollout", "text/html", http.StatusAccepted, []string{"rollout", "start", "--plan", "3f9a61c2", "--fabric", "lab"}},
		{"a roll-back", "text/html", http.StatusAccepted, []string{"rollout", "roll-back", "7", "--fabric", "lab"}},
		{"a release", "text/html", http.StatusAccepted, []string{"fabric", "release", "lab", "--yes"}},
		{"a repair", "text/html", http.StatusAccepted, []string{"device", "repair", "leaf1", "--fabric", "lab"}},
		{"tenants", "text/html", http.StatusOK, []string{"tenant", "list", "--fabric", "lab"}},
		{"shares", "text/html", http.StatusOK, []string{"share", "show", "--fabric", "lab"}},
		{"alerts", "text/html", http.StatusOK, []string{"alert", "list"}},
		{"series", "text/html", http.StatusOK, []string{"series", "query", "up"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.contentType)
				w.WriteHeader(tc.status)
				if tc.status != http.StatusNoContent {
					_, _ = w.Write([]byte("{}"))
				}
			}))
			defer server.Close()
			cmd, _, _ := asks(map[string]string{"FAIRLANE_URL": server.URL, "FAIRLANE_TOKEN": "t"}, tc.args...)
			err := cmd.ExecuteContext(t.Context())
			if code := cmdline.ExitCode(err); code != 1 || !strings.Contains(err.Error(), "want JSON of the service") {
				t.Errorf("ends with %d and %v, want 1 and what the answer is", code, err)
			}
		})
	}
}
