package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// A node has at most 110 pods by default, and one claim each is usual. Their claims are read in a round, which must not wait for the
// client's default limit of 5 requests/s: it would take longer than the time between two rounds.
func TestTheClaimsOfAFullNodeAreReadWithinARound(t *testing.T) {
	var (
		mu   sync.Mutex
		read = map[string]bool{}
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/resourceclaims/") {
			mu.Lock()
			read[path.Base(r.URL.Path)] = true
			mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":"a","name":%q}}`, path.Base(r.URL.Path))
	}))
	defer server.Close()
	on, err := New(Options{Config: &rest.Config{Host: server.URL}, Node: "node-1", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var pods []*corev1.Pod
	for i := range 110 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprintf("trainer-%d", i), UID: types.UID(fmt.Sprint(i))}}
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "nic", ResourceClaimName: new(fmt.Sprintf("claim-%d", i))}}
		pods = append(pods, p)
	}
	// The next round may begin after settle; the limit leaves a slow machine the time. The default would take 20 s.
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	on.attachClaims(ctx, nil, pods)
	if len(read) != len(pods) {
		t.Errorf("%d claims were read, want %d", len(read), len(pods))
	}
}
