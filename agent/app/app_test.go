package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/agent/app"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/internal/i18n"
	"fairlane/internal/testkit/tlstest"
	"fairlane/internal/testkit/zhtest"
)

func aiRate() *gnmi.Path {
	return nicyang.ParamValue(nic, nicparam.Key{Port: 1, Name: "rpg_ai_rate"}).Proto()
}

func setAI(ctx context.Context, c gnmi.GNMIClient, v uint64) error {
	_, err := c.Set(ctx, &gnmi.SetRequest{Update: []*gnmi.Update{{Path: aiRate(), Val: gnmitree.Uint(v).Typed(gnmi.Encoding_PROTO)}}})
	return err
}

func TestTheAgentServesRestoresAndKnowsItsClients(t *testing.T) {
	t.Parallel()
	m, ca := newMachine(t), tlstest.New(t)
	config := m.config("target: host-1\nintervals: {fresh: 0s, sweep: 100ms}\n" + serving(ca))
	socket := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	notified := func() string {
		b := make([]byte, 100)
		n, err := systemd.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	address, out, stop := start(t, config, map[string]string{"NOTIFY_SOCKET": socket})
	if s := notified(); s != "READY=1" {
		t.Error(s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	manager, viewer := client(t, ca, address, "manager", tlstest.Valid()), client(t, ca, address, "viewer", tlstest.Valid())
	expired := client(t, ca, address, "old", tlstest.Expired())
	if err := setAI(ctx, manager, 20); err != nil {
		t.Fatal(err)
	}
	if m.value("rpg_ai_rate") != "20" {
		t.Error(m.value("rpg_ai_rate"))
	}
	if err := setAI(ctx, manager, 200000); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "0..131071") {
		t.Error(err)
	}
	if err := setAI(ctx, viewer, 30); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), `"viewer"`) {
		t.Error(err)
	}
	reply, err := viewer.Get(ctx, &gnmi.GetRequest{Prefix: &gnmi.Path{Target: "host-1"}, Path: []*gnmi.Path{aiRate()}})
	if err != nil || string(reply.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonVal()) != "20" {
		t.Error(err, reply)
	}
	if _, err := viewer.Get(ctx, &gnmi.GetRequest{Prefix: &gnmi.Path{Target: "host-2"}, Path: []*gnmi.Path{aiRate()}}); status.Code(err) != codes.NotFound {
		t.Error(err)
	}
	if _, err := expired.Capabilities(ctx, &gnmi.CapabilityRequest{}); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
	if code, _, stderr := run(t, "restore", "--config", config); code != 1 || !strings.Contains(stderr, "another fairlane-agent uses it: stop that one first") {
		t.Error(code, stderr)
	}
	if code := stop(); code != 0 {
		t.Error(code, out)
	}
	if s := notified(); s != "STOPPING=1" {
		t.Error(s)
	}
	if !strings.Contains(out.String(), "expired") {
		t.Errorf("the log gives no reason for the refusal of a client:\n%s", out)
	}
	code, stdout, stderr := run(t, "restore", "--dry-run", "--json", "--config", config)
	var rows []struct {
		Name          string
		Now, Original uint64
	}
	if err := json.Unmarshal([]byte(stdout), &rows); code != 0 || err != nil || len(rows) != 1 || rows[0].Now != 20 || rows[0].Original != 5 || m.value("rpg_ai_rate") != "20" {
		t.Error(code, stdout, stderr, err)
	}
	if code, stdout, stderr := run(t, "restore", "--config", config); code != 0 || m.value("rpg_ai_rate") != "5" || !strings.Contains(stdout, "rpg_ai_rate") || !strings.Contains(stderr, "1 parameter has its earlier value") {
		t.Error(code, stdout, stderr, m.value("rpg_ai_rate"))
	}
	if code, stdout, _ := run(t, "restore", "--config", config); code != 0 || !strings.Contains(stdout, "nothing was ever set") {
		t.Error(code, stdout)
	}
}

func TestRestartedAgentKeepsSettings(t *testing.T) {
	t.Parallel()
	m, ca := newMachine(t), tlstest.New(t)
	config := m.config(serving(ca))
	address, _, stop := start(t, config, nil)
	if err := setAI(t.Context(), client(t, ca, address, "manager", tlstest.Valid()), 20); err != nil {
		t.Fatal(err)
	}
	if code := stop(); code != 0 {
		t.Error(code)
	}
	m.file(rp+"rpg_ai_rate", "5")
	m.file("proc/sys/kernel/random/boot_id", "11111111-8d6b-4f43-9a0e-0c7a0f3f6a11")
	if code, stdout, stderr := run(t, "get", "/nics/nic/ports/port/params/param[name=rpg_ai_rate]/config", "--config", config); code != 0 || !strings.HasSuffix(stdout, " 5\n") {
		t.Error(code, stdout, stderr)
	}
	_, _, stop = start(t, config, nil)
	if m.value("rpg_ai_rate") != "20" {
		t.Error("not set again after a reboot")
	}
	stop()
}

func TestCheckPrintsItsFindings(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	config := m.config("listen: [127.0.0.1:0]\ninsecure: true")
	before := m.value("rpg_ai_rate")
	code, stdout, stderr := run(t, "check", "--config", config, "--json")
	var out struct {
		Problems []string
		NICs     []struct {
			Name  string
			Ports []struct {
				ID     string
				Params int
			}
		}
		Ways []struct {
			Backend string `json:"back_end"`
			Found   bool
		}
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 || len(out.Problems) != 0 {
		t.Fatal(code, err, stdout, stderr)
	}
	if len(out.NICs) != 1 || out.NICs[0].Name != nic || len(out.NICs[0].Ports) != 1 || out.NICs[0].Ports[0].Params < 20 {
		t.Errorf("%+v", out.NICs)
	}
	if len(out.Ways) == 0 || out.Ways[0].Backend != "sysfs" || !out.Ways[0].Found {
		t.Errorf("%+v", out.Ways)
	}
	code, stdout, stderr = run(t, "check", "--config", config, "--lang", "zh")
	if code != 0 || !strings.Contains(stdout, nic) || !strings.Contains(stdout, "网卡") {
		t.Error(code, stdout, stderr)
	}
	if m.value("rpg_ai_rate") != before {
		t.Error("check wrote")
	}
	if files, err := filepath.Glob(m.journal + "*"); err != nil || len(files) > 0 {
		t.Error("check wrote a journal", files, err)
	}
	config = m.config("tls: {certificate: /nowhere/a.pem}")
	code, stdout, _ = run(t, "check", "--config", config)
	for _, want := range []string{"tls.key: found nothing", "tls.client_ca", "tls.allowed", "found no file /nowhere/a.pem"} {
		if code != 2 || !strings.Contains(stdout, want) {
			t.Errorf("%d %s: want %q", code, stdout, want)
		}
	}
}

// TestInspectionChangesNothing uses a host whose configfs has no directory of the device yet.
func TestInspectionChangesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := os.MkdirAll(m.root("sys/kernel/config/rdma_cm"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := m.config("")
	text, err := os.ReadFile(config)
	if err == nil {
		err = os.WriteFile(config, []byte(strings.Replace(string(text), "back_ends: [sysfs]\n", "", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	tree := func() (names []string) {
		err := filepath.WalkDir(m.dir, func(path string, _ fs.DirEntry, err error) error {
			names = append(names, path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	before := tree()
	for _, args := range [][]string{{"check"}, {"get", "/nics"}, {"restore", "--dry-run"}} {
		if code, stdout, stderr := run(t, append(args, "--config", config)...); code != 0 && args[0] != "check" {
			t.Errorf("%q: exit %d\n%s%s", args, code, stdout, stderr)
		}
		if d := cmp.Diff(before, tree()); d != "" {
			t.Errorf("%q: %s", args, d)
		}
	}
}

// TestCheckTriesTheCertificates uses a key that does not match the certificate, an expired certificate, and valid ones.
func TestCheckTriesTheCertificates(t *testing.T) {
	t.Parallel()
	m, ca := newMachine(t), tlstest.New(t)
	good, other, old := ca.Issue("agent", tlstest.Valid()), ca.Issue("other", tlstest.Valid()), ca.Issue("old", tlstest.Expired())
	for _, tc := range []struct {
		certificate, key, says string
		code                   int
	}{{good.CertFile, good.KeyFile, "", 0}, {good.CertFile, other.KeyFile, "private key does not match", 2}, {old.CertFile, old.KeyFile, "expired at", 2}} {
		config := m.config(tlsLine(ca, tc.certificate, tc.key))
		if code, stdout, stderr := run(t, "check", "--config", config); code != tc.code || !strings.Contains(stdout, tc.says) || tc.code == 0 && strings.Contains(stdout, "problem") {
			t.Errorf("%s with the key of %s: exit %d, want %d and %q:\n%s%s", tc.certificate, tc.key, code, tc.code, tc.says, stdout, stderr)
		}
	}
}

func TestJournalInWorldWritableDirectoryIsRejected(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := os.Chmod(filepath.Dir(m.journal), 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	config := m.config("listen: [127.0.0.1:0]\ninsecure: true")
	for code, args := range map[int][]string{1: {"restore"}, 2: {"check"}} {
		got, stdout, stderr := run(t, append(args, "--config", config)...)
		if got != code || !strings.Contains(stdout+stderr, "writable by other users") {
			t.Errorf("%q: exit %d, want %d: %s%s", args, got, code, stdout, stderr)
		}
	}
}

func TestStopBeforeServingIsNoFailure(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if code := app.Main(ctx, []string{"--config", m.config("listen: [127.0.0.1:0]\ninsecure: true")}, func(string) string { return "" }, &out, &out); code != 0 {
		t.Errorf("exit %d: %s", code, out.String())
	}
}

// TestWithoutTheJournalsDirectory requires the remedy in the error, and no silent restore.
func TestWithoutTheJournalsDirectory(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.journal = filepath.Join(t.TempDir(), "nowhere", "journal")
	for _, args := range [][]string{{"restore"}, {}} {
		code, _, stderr := run(t, append(args, "--config", m.config("listen: [127.0.0.1:0]\ninsecure: true"))...)
		if code != 1 || !strings.Contains(stderr, "create the directory") {
			t.Errorf("%q: exit %d, %s", args, code, stderr)
		}
	}
}

func TestGetPrintsTheTree(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	config := m.config("")
	code, stdout, stderr := run(t, "get", "--config", config, "--json")
	var v map[string]any
	if err := json.Unmarshal([]byte(stdout), &v); code != 0 || err != nil || v["fairlane-nic:nics"] == nil {
		t.Error(code, err, stderr)
	}
	if code, _, stderr := run(t, "get", "/nics/nic[name=none]", "--config", config); code != 1 || !strings.Contains(stderr, "nothing is at /nics/nic[name=none]") {
		t.Error(code, stderr)
	}
	if code, _, stderr := run(t, "get", "/nics/nic[name", "--config", config); code != 2 {
		t.Error(code, stderr)
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"unknown flag":     {[]string{"--nope"}, "unknown flag"},
		"unknown command":  {[]string{"nope"}, "nope"},
		"language":         {[]string{"version", "--lang", "fr"}, "want en or zh"},
		"no such file":     {[]string{"--config", "/nowhere/a.yaml"}, "no such file"},
		"no tls":           {[]string{"--config", m.config("")}, "tls.certificate: found nothing"},
		"too many to get":  {[]string{"get", "/a", "/b"}, "the arguments are /a /b"},
		"stray to restore": {[]string{"restore", "now"}, "now"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := run(t, c.args...)
			if code != 2 || !strings.Contains(stderr, c.says) {
				t.Errorf("exit %d, %s, want 2 and %q", code, stderr, c.says)
			}
			if !slices.Contains(c.args, "fr") { // which asks for another language
				_, _, stderr = run(t, append(c.args, "--lang", "zh")...)
				zhtest.Text(t, name, stderr, strings.Fields(configKeys+" fairlane-agent check get plugin pods restore version PATH flags open no such file or directory --config")...)
			}
		})
	}
	if code, stdout, _ := run(t, "version"); code != 0 || !strings.HasPrefix(stdout, "fairlane-agent ") {
		t.Error(code, stdout)
	}
}

func TestInvalidConfigurations(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"lisen: [a]":                     `line 1: found "lisen"`,
		"tls: {cert: a}":                 `line 1: found "tls.cert"`,
		"tls: 7":                         "tls.want settings by name",
		"- a":                            "want settings by name",
		"listen: a":                      "listen: line 1: want a list",
		"insecure: perhaps":              `insecure: line 1: found "perhaps"`,
		"intervals:\n  sweep: 1ms":       `intervals.sweep: line 2: found "1ms", want a duration such as 10s, from 100ms to 1h`,
		"intervals:\n  fresh: -1s":       "from 0s to 1h",
		"back_ends: [debugfs, magic]":    `back_ends: line 1: found "magic", want one of sysfs`,
		"limits: {sets_per_second: 0}":   "want a number from 0.1 to 1000",
		"limits: {sets_per_second: NaN}": "want a number from 0.1 to 1000",
		"limits: {subscriptions: 0}":     "from 1 to 10000",
		"log: {level: loud}":             "want one of debug, info, warn, error",
		"journal:":                       "found no value",
		"listen: [a]\nlisten: [b]":       "given twice",
		"devices: all":                   "want a list",
		"devices: [\"\"]":                "want a text",
		"listen: [" + strings.Repeat("a,", 300) + "a]": "at most 256 entries",
		"a: [": "not YAML",
	} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := app.Load(path)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
		zhtest.Error(t, fmt.Sprintf("%.40q", text), err, strings.Fields(configKeys)...)
	}
	for text, says := range map[string]string{
		"insecure: true": `found "[::]:9339" with insecure, want a loopback address`,
		"insecure: true\nlisten: [localhost:1]\ntls: {key: k}": "with insecure, want one of them",
		"listen: []":     "found no address",
		"listen: [nine]": "want HOST:PORT",
		"journal: here":  "want an absolute path",
		"tls: {certificate: c, key: k, client_ca: a, allowed: []}": "tls.allowed: found no name",
	} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := app.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		err = c.CheckServing()
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
		zhtest.Error(t, text, err, strings.Fields(configKeys)...)
	}
	if _, err := app.Load(""); err != nil {
		t.Error(err)
	}
}

func TestTheExampleConfigurationIsTheDefault(t *testing.T) {
	t.Parallel()
	c, err := app.Load("../../deploy/systemd/fairlane-agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckServing(); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile("../../deploy/systemd/fairlane-agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range app.Keys() {
		if last := k.Name[strings.LastIndexByte(k.Name, '.')+1:]; !strings.Contains(string(b), last+":") {
			t.Errorf("the example does not show %s", k.Name)
		}
	}
}

func TestEveryTextIsUsedAndThere(t *testing.T) {
	t.Parallel()
	text, err := i18n.Load("en")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"(agent\.[a-z.-]+)"`).FindAllSubmatch(src, -1) {
			used[string(m[1])] = true
		}
		for _, call := range regexp.MustCompile(`heads\(([^)]*)\)`).FindAllSubmatch(src, -1) {
			for _, m := range regexp.MustCompile(`"([a-z-]+)"`).FindAllSubmatch(call[1], -1) {
				used["agent.col."+string(m[1])] = true
			}
		}
	}
	delete(used, "agent.yaml")
	delete(used, "agent.col.")
	for k := range used {
		if !text.Has(k) {
			t.Errorf("text %s is used and not in the catalogue", k)
		}
	}
	for _, k := range text.Keys() {
		if strings.HasPrefix(k, "agent.") && !used[k] {
			t.Errorf("text %s is in the catalogue and not used", k)
		}
	}
}

func FuzzConfig(f *testing.F) {
	b, err := os.ReadFile("../../deploy/systemd/fairlane-agent.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("tls: {allowed: [a]}\nintervals: {sweep: 1s}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := app.Load(path)
		if err == nil && (c.Sweep < 100*time.Millisecond || c.SetsPerSecond < 0.1 || c.Subscriptions < 1) {
			t.Errorf("%+v", c)
		}
	})
}

// Without a handler SIGHUP would end the agent. It reloads the configuration: all of it or, in case of any error,
// nothing.
func TestSIGHUPReloadsAllOrNothing(t *testing.T) { // not parallel: the signal goes to the whole process
	m, ca := newMachine(t), tlstest.New(t)
	config := m.config("intervals: {fresh: 0s, sweep: 100ms}\n" + serving(ca))
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	address, out, stop := start(t, config, nil)
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	viewer := client(t, ca, address, "viewer", tlstest.Valid())
	if err := setAI(ctx, viewer, 20); status.Code(err) != codes.PermissionDenied {
		t.Fatal(err)
	}
	for _, step := range []struct {
		text, logged string
		code         codes.Code
	}{
		{strings.Replace(string(text), "manager", "viewer", 1) + "colour: red\n", "configuration not reloaded; the one before stays in force", codes.PermissionDenied},
		{strings.Replace(string(text), "manager", "viewer", 1) + "target: other\n", `"changed":["tls.allowed"],"needs_restart":["target"]`, codes.OK},
	} {
		if err := os.WriteFile(config, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for range 2000 {
			if strings.Contains(out.String(), step.logged) {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if !strings.Contains(out.String(), step.logged) {
			t.Fatalf("not logged: %s\n%s", step.logged, out)
		}
		if err := setAI(ctx, viewer, 20); status.Code(err) != step.code {
			t.Errorf("after %q setting ends with %v, want %s", step.text, err, step.code)
		}
	}
}

// configKeys are names that no language translates, and words of the YAML library.
const configKeys = "listen insecure tls journal intervals limits devices log info warn error debug sysfs debugfs dcb link dms nv nope configfs bnxt dcbnl devlink yaml did not find expected node content while parsing a flow"
