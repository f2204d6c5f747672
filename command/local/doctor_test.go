package local

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/command/cmdline"
	"fairlane/command/cmdline/cmdlinetest"
	"fairlane/internal/testkit/filetest"
	"fairlane/service/config"
	"fairlane/service/store"
	"fairlane/subnet/mad"
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
		if bad := f.Status == statusWarn || f.Status == statusFail; bad != (f.Do != "") {
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

func TestClockDifferencesAreRated(t *testing.T) {
	t.Parallel()
	for by, want := range map[time.Duration]string{
		0: "clock-right", 900 * time.Millisecond: "clock-right", -2 * time.Second: "clock-skew", 3 * time.Second: "clock-skew", -time.Hour: "clock-wrong",
	} {
		d := &doctor{app: &app{cmdlinetest.App(t, "en")}}
		d.skew("database", by)
		if d.findings[0].Code != want {
			t.Errorf("%s is %s, want %s", by, d.findings[0].Code, want)
		}
	}
}

func TestOpenSMsOptionIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{
		"congestion_control TRUE\n":                         {true, true},
		"# congestion_control TRUE\nguid 0x0\n":             {false, true},
		"congestion_control FALSE\ncc_key 0x0\n":            {false, true},
		"congestion_control FALSE\ncongestion_control TRUE": {true, true},
		"congestion_control true\n":                         {false, true}, // parsed as OpenSM does
	} {
		on, known := opensmCongestionControl(filetest.Write(t, "opensm.conf", text))
		if on != want[0] || known != want[1] {
			t.Errorf("%q: %v, %v", text, on, known)
		}
	}
	if _, known := opensmCongestionControl("no/such/file"); known {
		t.Error("known without a file")
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

// A fabric without a CC_Key gets a warning with the command that sets one.
func TestAFabricWithoutAKeyIsAWarning(t *testing.T) {
	t.Parallel()
	d := &doctor{app: &app{cmdlinetest.App(t, "en")}, config: &config.Loaded{}, now: time.Now}
	d.attached(t.Context(), store.FabricSource{Name: "lab", Source: "ibsim:unix:lab"}, &agents{port: &mad.PortInfo{LID: 3}}, 0)
	for _, f := range d.findings {
		if f.Code == "cc-key-none" && f.Status == statusWarn && strings.Contains(f.Do, "fairlane device cc-key set --from ibsim:unix:lab") {
			return
		}
	}
	t.Errorf("findings are %+v", d.findings)
}
