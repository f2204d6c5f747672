package local

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/internal/testkit/filetest"
	"fairlane/service/control"
)

// diagnose runs the doctor and returns its findings by code, its exit code and its messages.
func diagnose(t *testing.T, args ...string) (map[string]Finding, int, string) {
	t.Helper()
	var out, words bytes.Buffer
	code := runLocal(t.Context(), append([]string{"doctor", "--json", "--lang", "en", "--url", "http://127.0.0.1:1"}, args...), &out, &words)
	var list []Finding
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatalf("%v in %s%s", err, &out, &words)
	}
	by := map[string]Finding{}
	for _, f := range list {
		by[f.Code] = f
		if strings.HasPrefix(f.Found, "doctor.") || strings.HasPrefix(f.Do, "doctor.") {
			t.Errorf("%s has no text: %+v", f.Code, f)
		}
		if bad := f.Status == control.DoctorWarning || f.Status == control.DoctorFault; bad != (f.Do != "") {
			t.Errorf("%s is %s and says to do %q", f.Code, f.Status, f.Do)
		}
	}
	return by, code, words.String()
}

func wants(t *testing.T, got map[string]Finding, codes ...string) {
	t.Helper()
	for _, c := range codes {
		if _, ok := got[c]; !ok {
			t.Errorf("no %s among %+v", c, got)
		}
	}
}

func TestDoctorOnANewMachine(t *testing.T) {
	t.Parallel()
	got, code, _ := diagnose(t, "--database", filepath.Join(t.TempDir(), "none.db"))
	wants(t, got, "config-right", "store-absent", "service-away")
	if code != cmdline.ExitDone {
		t.Errorf("exit code %d: %+v", code, got)
	}
	got, code, _ = diagnose(t, "--database", filepath.Join(t.TempDir(), "no", "such", "f.db"))
	wants(t, got, "store-path")
	for _, c := range []string{"store-absent", "space-right"} {
		if _, ok := got[c]; ok {
			t.Errorf("a database that cannot be there is also %s", c)
		}
	}
	if code != cmdline.ExitFailed {
		t.Errorf("exit code %d without a directory", code)
	}
}

func TestConfigCommandsShowTheEffectiveConfiguration(t *testing.T) {
	t.Parallel()
	path := filetest.Write(t, "c.yaml", "log: {level: debug}\n")
	var out bytes.Buffer
	if code := runLocal(t.Context(), []string{"config", "print", "--config", path, "--json", "--listen", ":9", "--lang", "en"}, &out, &out); code != cmdline.ExitDone {
		t.Fatalf("%d %s", code, &out)
	}
	var all []setting
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	by := map[string]setting{}
	for _, s := range all {
		by[s.Key] = s
	}
	if by["log.level"].Value != "debug" || by["log.level"].From != path+":1" || by["listen"].From != "--listen" || by["shutdown.drain"].From != "default" {
		t.Errorf("%+v", all)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"check", "--config", path}, cmdline.ExitDone, "configuration is valid"},
		{[]string{"check", "--config", filetest.Write(t, "w.yaml", "cc_key_file: /no/such/file\n")}, cmdline.ExitUsage, "cc_key_file"},
		{[]string{"check", "--database", "/no/such/directory/f.db"}, cmdline.ExitUsage, "database: /no/such/directory/f.db: directory /no/such/directory does not exist"},
		{[]string{"check", "--database", path + "/f.db"}, cmdline.ExitUsage, path + " is not a directory"},
		{[]string{"check", "--database", t.TempDir()}, cmdline.ExitUsage, "is not a regular file"},
		{[]string{"check", "--database", path}, cmdline.ExitUsage, path + " is no SQLite database: correct the path"},
		{[]string{"check", "--database", filetest.Write(t, "short.db", "SQLite")}, cmdline.ExitUsage, "is no SQLite database"},
		{[]string{"check", "--database", filetest.Write(t, "empty.db", "")}, cmdline.ExitDone, "configuration is valid"},
		{[]string{"print", "--config", path}, cmdline.ExitDone, "shutdown.drain"},
		{[]string{"reference"}, cmdline.ExitDone, "| `tls.cert_file` |"},
		{[]string{"reference", "--example"}, cmdline.ExitDone, "#  cert_file:"},
	} {
		out.Reset()
		if code := runLocal(t.Context(), append(append([]string{"config"}, c.args...), "--lang", "en"), &out, &out); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%v: exit code %d\n%s", c.args, code, &out)
		}
	}
}
