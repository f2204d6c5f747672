package remote

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// breaking is a service whose streams break after each event.
type breaking struct {
	mu    sync.Mutex
	asked []string // Last-Event-ID of each request
}

func (b *breaking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, r.Header.Get("Last-Event-ID"))
	if len(b.asked) == 3 { // one that does not even begin
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"code":"unavailable","status":503,"title":"Not now","type":"x","request_id":"y"}`))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	n := 10 + len(b.asked)
	_, _ = fmt.Fprintf(w, ": events follow\n\nid: %d\nevent: x\ndata: {\"id\":%d,\"kind\":\"x.y\",\"message\":\"number %d\"}\n\n", n, n, n)
}

func TestABrokenStreamIsResumed(t *testing.T) {
	t.Parallel()
	b := &breaking{}
	server := httptest.NewServer(b)
	defer server.Close()
	env := map[string]string{"FAIRLANE_URL": server.URL, "FAIRLANE_TOKEN": "t", "FAIRLANE_FABRIC": "lab"}
	cmd, out, words := asks(env, "fabric", "events", "--follow", "--count", "3")
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(b.asked, ","), ",11,12,12"; got != want {
		t.Errorf("asked for events after %q, want %q", got, want)
	}
	for _, text := range []string{"number 11", "number 12", "number 14"} {
		if strings.Count(out.String(), text) != 1 {
			t.Errorf("%q is not printed once:\n%s", text, out)
		}
	}
	if n := strings.Count(words.String(), "the event stream was interrupted"); n != 3 {
		t.Errorf("it is said %d times that the stream broke, want 3:\n%s", n, words)
	}
}
