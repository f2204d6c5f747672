package app

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/command/local"
	"fairlane/internal/testkit/filetest"
	"fairlane/internal/testkit/tlstest"
	"fairlane/service/control"
	"fairlane/service/site"
)

func TestDoctorChecksEverythingAndGivesAdvice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database := filepath.Join(dir, "f.db")
	m, err := openManager(t.Context(), database, &site.Access{}, workOptions{})
	if err != nil {
		t.Fatal(err)
	}
	topology := filetest.Write(t, "fabric.yaml", "rubbish: [")
	for name, source := range map[string]string{"away": "ibsim:unix:fairlane-no-such-fabric", "broken": "file:" + topology} {
		if _, err := m.service.CreateFabric(t.Context(), control.Fabric{Name: name, Source: source, TimeScale: 1}); err != nil {
			t.Fatal(err)
		}
	}
	files := tlstest.New(t).Issue("fairlane.test", tlstest.Until(48*time.Hour))
	open := filetest.Write(t, "token", strings.Repeat("x", 40))
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	config := filetest.Write(t, "c.yaml", "database: "+database+"\nlisten: 0.0.0.0:0\nadmin_token_file: "+open+
		"\ntls: {cert_file: "+files.CertFile+", key_file: "+files.KeyFile+"}\noperations: {listen: ':0'}\n")
	got, code, words := diagnoseService(t, "--config", config) // while the manager runs
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	wantsAll(t, got, "config-right", "key-open", "key-closed", "tls-soon", "operations-open", "store-right", "clock-own", "fabric-away", "service-away")
	if got["tls-soon"].Status != "warning" || !strings.Contains(got["key-open"].Do, "chmod 600 "+open) {
		t.Errorf("%+v", got)
	}
	if code != cmdline.ExitFailed || !strings.Contains(words, "faults") {
		t.Errorf("exit code %d: %s", code, words)
	}
	plain := filetest.Write(t, "plain.yaml", "database: "+database+"\nlisten: 0.0.0.0:1\n")
	got, _, _ = diagnoseService(t, "--config", plain)
	wantsAll(t, got, "tls-none")
	wrong := filetest.Write(t, "wrong.yaml", "colour: red\n")
	got, code, _ = diagnoseService(t, "--config", wrong)
	wantsAll(t, got, "config-wrong")
	if code != cmdline.ExitFailed || len(got) != 1 {
		t.Errorf("exit code %d: %+v", code, got)
	}
	short := filetest.Write(t, "short.yaml", "database: "+database+"\nadmin_token_file: "+filetest.Write(t, "t", "hunter2")+"\n")
	got, _, words = diagnoseService(t, "--config", short)
	wantsAll(t, got, "config-files")
	if strings.Contains(got["config-files"].Found+words, "hunter2") {
		t.Error("the doctor repeats a secret")
	}
}

func TestDoctorQueriesTheRunningService(t *testing.T) {
	t.Parallel()
	p := startServe(t, "")
	var out bytes.Buffer
	code := Main(t.Context(), []string{"doctor", "--lang", "zh", "--url", p.api, "--database", filepath.Join(t.TempDir(), "none.db")}, &out, &out)
	if code != cmdline.ExitDone || !strings.Contains(out.String(), "服务已就绪") || !strings.Contains(out.String(), "检查") {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
}

// The service reports on itself what the command finds from outside, and what differs between managers.
func TestTheServiceReportsItsOwnFindings(t *testing.T) {
	t.Parallel()
	p := startServe(t, "")
	status, body := p.send(t, "POST", p.api+"/api/v1/fabrics", `{"name":"away","source":"ibsim:unix:fairlane-no-such-fabric"}`)
	if status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	status, body = p.send(t, "GET", p.api+"/api/v1/doctor", "")
	var d gen.Diagnosis
	if err := json.Unmarshal([]byte(body), &d); err != nil || status != 200 {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	by := map[string]gen.DoctorFinding{}
	for _, f := range d.Findings {
		by[f.Code] = f
	}
	for _, code := range []string{"config-right", "store-right", "space-right", "clock-own", "fabric-away", "series-space-right"} {
		if _, ok := by[code]; !ok {
			t.Errorf("no %s among %s", code, body)
		}
	}
	for _, f := range d.Findings {
		if f.Check == "service" {
			t.Errorf("the service queries itself: %+v", f)
		}
	}
	if f := by["fabric-away"]; f.Status != gen.DoctorFindingStatusFault || f.Subject == nil || *f.Subject != "away" || f.RemedySaid == nil {
		t.Errorf("an unreachable fabric is %+v", f)
	}
	var out bytes.Buffer
	code := Main(t.Context(), []string{"settings", "doctor", "--lang", "en", "--url", p.api, "--token-file", filetest.Write(t, "token", testToken)}, &out, &out)
	if code != cmdline.ExitFailed || !strings.Contains(out.String(), "cannot be reached") || !strings.Contains(out.String(), "→ check that the fabric is up") {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
	if strings.Contains(body, testToken) {
		t.Error("the findings repeat a secret")
	}
}

func TestServeRejectsAnInvalidDatabasePathAsBadInput(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/no/such/directory/f.db": "database: /no/such/directory/f.db: directory /no/such/directory does not exist",
		t.TempDir():               "is not a regular file: want the path of a SQLite file",
		filetest.Write(t, "f.yaml", "listen: 127.0.0.1:0\n"): "is no SQLite database: correct the path, or restore a backup",
	} {
		var out bytes.Buffer
		code := Main(t.Context(), []string{"serve", "--database", path, "--listen", "127.0.0.1:0", "--lang", "en"}, &out, &out)
		if code != cmdline.ExitUsage || !strings.Contains(out.String(), want) {
			t.Errorf("exit code %d: %s", code, &out)
		}
	}
}

// diagnoseService runs the doctor and returns its findings by code, its exit code and its words.
func diagnoseService(t *testing.T, args ...string) (map[string]local.Finding, int, string) {
	t.Helper()
	var out, words bytes.Buffer
	code := Main(t.Context(), append([]string{"doctor", "--json", "--lang", "en", "--url", "http://127.0.0.1:1"}, args...), &out, &words)
	var list []local.Finding
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatalf("%v in %s%s", err, &out, &words)
	}
	by := map[string]local.Finding{}
	for _, f := range list {
		by[f.Code] = f
		if strings.HasPrefix(f.Found, "doctor.") || strings.HasPrefix(f.Do, "doctor.") {
			t.Errorf("%s has no text: %+v", f.Code, f)
		}
		if bad := f.Status == "warning" || f.Status == "fault"; bad != (f.Do != "") {
			t.Errorf("%s is %s and says to do %q", f.Code, f.Status, f.Do)
		}
	}
	return by, code, words.String()
}

func wantsAll(t *testing.T, got map[string]local.Finding, codes ...string) {
	t.Helper()
	for _, c := range codes {
		if _, ok := got[c]; !ok {
			t.Errorf("no %s among %+v", c, got)
		}
	}
}
