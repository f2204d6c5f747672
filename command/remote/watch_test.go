package remote

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"fairlane/api"
	"fairlane/policy"
	"fairlane/service/control/controltest"
	"fairlane/service/control/rollouts"
)

func TestAWatchSurvivesAServiceRestart(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, openStore)
	r.Lab(t)
	began, let := r.Devices.Hold()
	h, err := api.New(r.Service, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The second to the fourth request fail: two connections break, and a load balancer has no backend.
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch n.Add(1) {
		case 2, 3:
			panic(http.ErrAbortHandler)
		case 4:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"code":"unavailable","status":503,"title":"Not now","type":"x","request_id":"y"}`))
		case 5:
			let()
			fallthrough
		default:
			h.ServeHTTP(w, req)
		}
	}))
	defer server.Close()
	p, _, err := r.Service.CreatePlan(t.Context(), "lab", policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: p.Plan.Name}); err != nil {
		t.Fatal(err)
	}
	<-began
	env := map[string]string{"FAIRLANE_URL": server.URL, "FAIRLANE_TOKEN": controltest.Token, "FAIRLANE_FABRIC": "lab"}
	cmd, _, words := asks(env, "rollout", "watch", "1")
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("the watch ended with %v\n%s", err, words)
	}
	if strings.Count(words.String(), "retrying") != 1 || !strings.Contains(words.String(), "rollout 1 succeeded") {
		t.Errorf("the watch said\n%s", words)
	}
	if strings.Count(words.String(), "was started") != 1 {
		t.Errorf("an event is printed twice or not at all:\n%s", words)
	}
}
