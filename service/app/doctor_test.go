package app

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/command/cmdline"
	"fairlane/internal/testkit/filetest"
	"fairlane/internal/testkit/tlstest"
	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/site"
	"fairlane/service/store"
	"fairlane/subnet/mad"
)

// diagnose runs the doctor and returns its findings by code, its exit code and its words.
func diagnose(t *testing.T, args ...string) (map[string]finding, int, string) {
	t.Helper()
	var out, words bytes.Buffer
	code := Main(t.Context(), append([]string{"doctor", "--json", "--lang", "en", "--url", "http://127.0.0.1:1"}, args...), &out, &words)
	var list []finding
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatalf("%v in %s%s", err, &out, &words)
	}
	by := map[string]finding{}
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

func wants(t *testing.T, got map[string]finding, codes ...string) {
	t.Helper()
	for _, c := range codes {
		if _, ok := got[c]; !ok {
			t.Errorf("no %s among %+v", c, got)
		}
	}
}

func TestTheDoctorOfANewMachine(t *testing.T) {
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

func TestTheDoctorLooksAtEverythingAndSaysWhatToDo(t *testing.T) {
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
	got, code, words := diagnose(t, "--config", config) // while the manager runs
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
	wants(t, got, "config-right", "key-open", "key-closed", "tls-soon", "operations-open", "store-right", "clock-own", "fabric-away", "service-away")
	if got["tls-soon"].Status != statusWarn || !strings.Contains(got["key-open"].Do, "chmod 600 "+open) {
		t.Errorf("%+v", got)
	}
	if code != cmdline.ExitFailed || !strings.Contains(words, "faults") {
		t.Errorf("exit code %d: %s", code, words)
	}
	plain := filetest.Write(t, "plain.yaml", "database: "+database+"\nlisten: 0.0.0.0:1\n")
	got, _, _ = diagnose(t, "--config", plain)
	wants(t, got, "tls-none")
	wrong := filetest.Write(t, "wrong.yaml", "colour: red\n")
	got, code, _ = diagnose(t, "--config", wrong)
	wants(t, got, "config-wrong")
	if code != cmdline.ExitFailed || len(got) != 1 {
		t.Errorf("exit code %d: %+v", code, got)
	}
	short := filetest.Write(t, "short.yaml", "database: "+database+"\nadmin_token_file: "+filetest.Write(t, "t", "hunter2")+"\n")
	got, _, words = diagnose(t, "--config", short)
	wants(t, got, "config-files")
	if strings.Contains(got["config-files"].Found+words, "hunter2") {
		t.Error("the doctor repeats a secret")
	}
}

func TestTheDoctorAsksTheRunningService(t *testing.T) {
	t.Parallel()
	p := startServe(t, "")
	var out bytes.Buffer
	code := Main(t.Context(), []string{"doctor", "--lang", "zh", "--url", p.api, "--database", filepath.Join(t.TempDir(), "none.db")}, &out, &out)
	if code != cmdline.ExitDone || !strings.Contains(out.String(), "服务已就绪") || !strings.Contains(out.String(), "检查") {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
}

func TestClocksAreJudged(t *testing.T) {
	t.Parallel()
	for by, want := range map[time.Duration]string{
		0: "clock-right", 900 * time.Millisecond: "clock-right", -2 * time.Second: "clock-skew", 3 * time.Second: "clock-skew", -time.Hour: "clock-wrong",
	} {
		d := &doctor{app: testApp(t, "en")}
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
		"congestion_control true\n":                         {false, true}, // as OpenSM takes it
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

func TestConfigCommandsSayWhatWouldRun(t *testing.T) {
	t.Parallel()
	path := filetest.Write(t, "c.yaml", "log: {level: debug}\n")
	var out bytes.Buffer
	if code := Main(t.Context(), []string{"config", "print", "--config", path, "--json", "--listen", ":9", "--lang", "en"}, &out, &out); code != cmdline.ExitDone {
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
		{[]string{"check", "--database", t.TempDir()}, cmdline.ExitUsage, "is no regular file"},
		{[]string{"check", "--database", path}, cmdline.ExitUsage, path + " is no SQLite database: correct the path"},
		{[]string{"check", "--database", filetest.Write(t, "short.db", "SQLite")}, cmdline.ExitUsage, "is no SQLite database"},
		{[]string{"check", "--database", filetest.Write(t, "empty.db", "")}, cmdline.ExitDone, "configuration is valid"},
		{[]string{"print", "--config", path}, cmdline.ExitDone, "shutdown.drain"},
		{[]string{"reference"}, cmdline.ExitDone, "| `tls.cert_file` |"},
		{[]string{"reference", "--example"}, cmdline.ExitDone, "#  cert_file:"},
	} {
		out.Reset()
		if code := Main(t.Context(), append(append([]string{"config"}, c.args...), "--lang", "en"), &out, &out); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%v: exit code %d\n%s", c.args, code, &out)
		}
	}
}

func TestServeRefusesADatabaseThatCannotBeThereAsBadInput(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/no/such/directory/f.db": "database: /no/such/directory/f.db: directory /no/such/directory does not exist",
		t.TempDir():               "is no regular file: want the path of a SQLite file",
		filetest.Write(t, "f.yaml", "listen: 127.0.0.1:0\n"): "is no SQLite database: correct the path, or restore a backup",
	} {
		var out bytes.Buffer
		code := Main(t.Context(), []string{"serve", "--database", path, "--listen", "127.0.0.1:0", "--lang", "en"}, &out, &out)
		if code != cmdline.ExitUsage || !strings.Contains(out.String(), want) {
			t.Errorf("exit code %d: %s", code, &out)
		}
	}
}

// A fabric without a CC_Key is a warning, with the command that sets one.
func TestAFabricWithoutAKeyIsAWarning(t *testing.T) {
	t.Parallel()
	d := &doctor{app: testApp(t, "en"), config: &config.Loaded{}, now: time.Now}
	d.attached(t.Context(), store.FabricSource{Name: "lab", Source: "ibsim:unix:lab"}, &agents{port: &mad.PortInfo{LID: 3}}, 0)
	for _, f := range d.findings {
		if f.Code == "cc-key-none" && f.Status == statusWarn && strings.Contains(f.Do, "fairlane device cc-key set --from ibsim:unix:lab") {
			return
		}
	}
	t.Errorf("findings are %+v", d.findings)
}
