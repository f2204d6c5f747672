package cluster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"fairlane/agent/pods/podsock"
	"fairlane/kube/v1alpha1"
)

// requests is an API server that answers every write with the status of its method, and keeps the writes.
type requests struct {
	mu     sync.Mutex
	all    []string
	status map[string]int
}

func (r *requests) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, q.Method+strings.TrimPrefix(q.URL.Path, "/apis/fairlane.dev/v1alpha1/namespaces"))
	w.Header().Set("Content-Type", "application/json")
	if code := r.status[q.Method]; code != 0 {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d}`, code)
		return
	}
	_, _ = fmt.Fprint(w, `{"kind":"FabricAttachment","apiVersion":"fairlane.dev/v1alpha1"}`)
}

func TestAReportWritesAndDeletesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	api := &requests{status: map[string]int{}}
	server := httptest.NewServer(api)
	defer server.Close()
	r, err := NewReporter(&rest.Config{Host: server.URL}, "node-1")
	if err != nil {
		t.Fatal(err)
	}
	record := func(pod string) podsock.Record {
		return podsock.Record{
			Attachment: podsock.Attachment{Key: podsock.Key{Network: "rdma", ContainerID: pod, Interface: "net1"}, Pod: podsock.Pod{Namespace: "a", Name: pod, UID: pod}},
			Source:     podsock.SourceCNI,
		}
	}
	object := func(name string) *v1alpha1.FabricAttachment {
		return &v1alpha1.FabricAttachment{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
	}
	p, q := record("p"), record("q")
	nameP, nameQ := nameOf(&p), nameOf(&q)
	report := func(why string, records []podsock.Record, existing []*v1alpha1.FabricAttachment, want ...string) {
		t.Helper()
		api.all = nil
		if err := r.Report(t.Context(), records, existing, nil); (err != nil) != (api.status[http.MethodDelete] == http.StatusInternalServerError) {
			t.Errorf("%s: %v", why, err)
		}
		slices.Sort(api.all)
		if d := cmp.Diff(want, api.all, cmp.Transformer("none", func(s []string) []string { return append([]string{}, s...) })); d != "" {
			t.Errorf("%s: %s", why, d)
		}
	}
	file := "/a/fabricattachments/"
	report("an object of an earlier run", []podsock.Record{p}, []*v1alpha1.FabricAttachment{object(nameP), object("old")},
		"DELETE"+file+"old", "PATCH"+file+nameP, "PATCH"+file+nameP+"/status")
	report("no change", []podsock.Record{p}, []*v1alpha1.FabricAttachment{object(nameP)})
	p.Drift = true
	report("a status", []podsock.Record{p}, []*v1alpha1.FabricAttachment{object(nameP)}, "PATCH"+file+nameP+"/status")
	report("a pod more, which the watch does not have yet", []podsock.Record{p, q}, []*v1alpha1.FabricAttachment{object(nameP)}, "PATCH"+file+nameQ, "PATCH"+file+nameQ+"/status")
	api.status[http.MethodDelete] = http.StatusInternalServerError
	report("an API server that fails", []podsock.Record{q}, []*v1alpha1.FabricAttachment{object(nameP), object(nameQ)}, "DELETE"+file+nameP)
	api.status[http.MethodDelete] = http.StatusNotFound
	report("already gone", []podsock.Record{q}, []*v1alpha1.FabricAttachment{object(nameP), object(nameQ)}, "DELETE"+file+nameP)
}
