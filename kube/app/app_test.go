package app

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/internal/program"
	"fairlane/internal/testkit/filetest"
)

func TestWrongUsageIsExplained(t *testing.T) {
	t.Parallel()
	token := filetest.Write(t, "token", "secret\n")
	two := filetest.Write(t, "two", "secret secret\n")
	good := []string{"--cluster", "lab1", "--manager", "http://127.0.0.1:1", "--manager-token-file", token}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":              {nil, "--cluster is missing"},
		"no manager":           {good[:2], "--manager is missing"},
		"no token":             {good[:4], "--manager-token-file is missing"},
		"a cluster's name":     {append([]string{"--cluster", "Lab"}, good[2:]...), "52 lower-case letters"},
		"host network":         {append([]string{"--host-network", "allow"}, good...), "want warn or deny"},
		"a pattern":            {append([]string{"--rdma-resource", "[x"}, good...), "want a resource name"},
		"debounce":             {append([]string{"--debounce", "2m"}, good...), "want 0s to 1m"},
		"interval":             {append([]string{"--interval", "10ms"}, good...), "want 1s to 1h"},
		"a flag":               {append([]string{"--managr", "x"}, good...), "Did you mean --manager"},
		"an argument":          {append([]string{"serve"}, good...), "serve"},
		"two tokens":           {append(good[:5:5], two), "want one token"},
		"no file of the token": {append(good[:5:5], token+"x"), "no such file"},
		"no authority":         {append([]string{"--manager-ca-file", token}, good...), "found no certificate"},
		"no URL":               {append([]string{"--cluster", "lab1", "--manager", "fairlane"}, good[4:]...), "want http://"},
		"a language":           {append([]string{"--lang", "fr"}, good...), "fr"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code := Main(t.Context(), c.args, func(string) string { return "" }, &out, &errs)
			if code != program.ExitUsage || !strings.Contains(errs.String(), c.want) || strings.Contains(errs.String(), "secret") {
				t.Errorf("exit code %d, %s", code, errs.String())
			}
		})
	}
	var out, errs bytes.Buffer
	if code := Main(t.Context(), []string{"--lang", "zh", "--help"}, func(string) string { return "" }, &out, &errs); code != program.ExitDone {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
	if !strings.Contains(out.String(), "本集群的名称") {
		t.Errorf("help: %s", out.String())
	}
}

func TestAChangedTokenIsUsed(t *testing.T) {
	t.Parallel()
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"code":"not-found","title":"Not found"}`))
	}))
	defer s.Close()
	path := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	f := flags{manager: s.URL, token: path}
	m, err := f.connect()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = m.Tenant(t.Context(), "lab", "red")
	write("two\n")
	_, _ = m.Tenant(t.Context(), "lab", "red")
	if strings.Join(got, ",") != "Bearer one,Bearer two" {
		t.Errorf("sent %v", got)
	}
}
