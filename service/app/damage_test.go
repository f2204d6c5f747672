package app

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/service/store/storetest"
)

// TestAPageThatIsDamagedUnderARunningService damages a page after the service has checked its file: the first request that
// reads the page stops all writes, other reads continue, and the problems and the doctor give advice.
func TestAPageThatIsDamagedUnderARunningService(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "f.db")
	first := startServeOn(t, database, "")
	if code, body := first.send(t, "POST", first.api+"/api/v1/fabrics", `{"name":"lab","source":"file:x"}`); code != http.StatusCreated {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := first.send(t, "POST", first.api+"/api/v1/fabrics/lab/tenants", `{"name":"blue","weight":1}`); code != http.StatusCreated {
		t.Fatalf("%d %s", code, body)
	}
	first.stop()
	<-first.exit
	p := startServeOn(t, database, "")
	storetest.SpoilPage(t, database, "policies")
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/ready", "", http.StatusOK},
		{"GET", "/fabrics/lab/policies", "", http.StatusServiceUnavailable},
		{"POST", "/fabrics", `{"name":"other","source":"file:x"}`, http.StatusServiceUnavailable},
		{"POST", "/fabrics/lab/tenants", `{"name":"red","weight":1}`, http.StatusServiceUnavailable},
		{"GET", "/ready", "", http.StatusServiceUnavailable},
		{"GET", "/fabrics/lab", "", http.StatusOK},
		{"GET", "/fabrics/lab/tenants", "", http.StatusOK},
	} {
		code, body := p.send(t, c.method, p.api+"/api/v1"+c.path, c.body)
		if code != c.want {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, body)
		}
		if bad := code == http.StatusServiceUnavailable; bad && (problemCode(body) != "storage-damaged" || !strings.Contains(body, "fairlane db restore")) {
			t.Errorf("%s %s: %s", c.method, c.path, body)
		}
	}
	got, code, _ := diagnoseService(t, "--database", database)
	f, found := got["store-damaged"]
	if code != cmdline.ExitFailed || !found || !strings.Contains(f.Do, "fairlane db restore") {
		t.Errorf("the doctor ends with %d and says %+v", code, got)
	}
	if _, ok := got["store-right"]; ok {
		t.Error("the doctor also calls the database right")
	}
}
