package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/testkit/zhtest"
)

func file(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func environment(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestAFileSetsOnlyTheKeysItNames(t *testing.T) {
	t.Parallel()
	with := func(f func(*Config)) Config { c := Default(); f(&c); return c }
	for text, want := range map[string]Config{
		"":                                     Default(),
		"# only words\n":                       Default(),
		"---\n":                                Default(),
		"listen:\n":                            Default(),
		"tls:\n":                               Default(),
		"listen: :1\n":                         with(func(c *Config) { c.Listen = []string{":1"} }),
		"listen: [':1', 'unix:/run/f.sock']\n": with(func(c *Config) { c.Listen = []string{":1", "unix:/run/f.sock"} }),
		"cc_key_file: k\nm_key_file: m\nadmin_token_file: t\ndatabase: d\n": with(func(c *Config) {
			c.CCKeyFile, c.MKeyFile, c.AdminTokenFile, c.Database = "k", "m", "t", "d"
		}),
		"tls: {cert_file: a, key_file: b, client_ca_file: c, client_auth: require}\n": with(func(c *Config) {
			c.TLS = TLS{CertFile: "a", KeyFile: "b", ClientCAFile: "c", ClientAuth: "require"}
		}),
		"operations:\n  listen: 127.0.0.1:9\n  pprof: true\nlog: {level: debug, format: text}\n": with(func(c *Config) {
			c.Operations = Operations{Listen: []string{"127.0.0.1:9"}, Pprof: true}
			c.Log = Log{Level: "debug", Format: "text"}
		}),
		"trace: {endpoint: 'http://c:4318', sample_ratio: 0.25}\nmetrics: {endpoint: 'https://c/otlp', interval: 10s}\nshutdown: {delay: 5s, drain: 2m}\n": with(func(c *Config) {
			c.Trace = Trace{Endpoint: "http://c:4318", SampleRatio: 0.25}
			c.Metrics = Metrics{Endpoint: "https://c/otlp", Interval: 10 * time.Second}
			c.Shutdown = Shutdown{Delay: 5 * time.Second, Drain: 2 * time.Minute}
		}),
	} {
		got, err := Load(Sources{Path: file(t, text)})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if d := cmp.Diff(want, got.Config); d != "" {
			t.Errorf("%q:\n%s", text, d)
		}
	}
}

func TestFileErrorsNameLineAndAllowedValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"listen: :1\ncolour: red\n":               `c.yaml:2: unknown key "colour": want listen, database`,
		"tls:\n  cert: x\n":                       `c.yaml:2: unknown key "tls.cert": want cert_file, key_file, client_ca_file, client_auth`,
		"tls: x\n":                                "c.yaml:1: tls: want the keys cert_file",
		"tls: {cert_file: a}\ntls: {}\n":          "c.yaml:2: tls was given in line 1 already",
		"listen: :1\n\nlisten: :2\n":              "c.yaml:3: listen was given in line 1 already",
		"database: [a]\n":                         "c.yaml:1: database: found a list: want a single value",
		"database: {a: b}\n":                      "c.yaml:1: database: found a mapping: want a single value",
		"listen: {a: b}\n":                        "c.yaml:1: listen: found a mapping: want a list of texts",
		"listen: [[a]]\n":                         "entry 1: want a text",
		"x: &a 1\ndatabase: *a\n":                 "found an alias: want a single value",
		"- a\n":                                   "c.yaml:1: want the keys listen",
		"listen: {\n":                             "want valid YAML",
		"listen: :1\n---\nlisten: :2\n":           "found a second document, want one",
		"operations: {pprof: maybe}\n":            `c.yaml:1: operations.pprof: found "maybe": want true or false`,
		"shutdown: {drain: 30}\n":                 `c.yaml:1: shutdown.drain: found "30": want a duration with its unit`,
		"\nshutdown: {drain: 2h}\n":               "c.yaml:2: shutdown.drain: found 2h0m0s: want 1s to 1h0m0s",
		"trace: {sample_ratio: 2}\n":              "trace.sample_ratio: found 2: want a number from 0 to 1",
		"trace: {sample_ratio: .nan}\n":           "want a number",
		"trace: {endpoint: 'http://a:b@c'}\n":     "without a password",
		"metrics: {endpoint: 'collector:4318'}\n": "metrics.endpoint: want http://HOST:PORT or https://HOST:PORT of a collector",
		"metrics: {interval: 500ms}\n":            "metrics.interval: found 500ms: want 1s to 1h0m0s",
		"log: {level: loud}\n":                    `log.level: found "loud": want debug, info, warn, error`,
		"listen: x\n":                             `c.yaml:1: listen: found "x": want HOST:PORT`,
		"listen: [':1', 'h:99999']\n":             `found "h:99999": want HOST:PORT`,
		"listen: []\n":                            "listen: want at least one",
		"database: ''\n":                          "database: found nothing",
		"database: mysql://h/d\n":                 `scheme "mysql": want postgres://`,
		"database: postgres://h\n":                "want the name of a database",
		"database: postgres://u:geheim@h/d\n":     "the URL contains a password",
		"database: postgres://h/d?password=ge\n":  "the URL contains a password",
		"database_password_file: x\n":             "SQLite has no password",
		"tls: {key_file: b}\n":                    "want tls.cert_file and tls.key_file, or neither",
		"tls: {client_ca_file: b}\n":              "client certificates need TLS",
		"operations: {pprof: true}\n":             "want operations.listen too",
		strings.Repeat("#", maxSize+1):            "want at most 1048576 bytes",
	} {
		_, err := Load(Sources{Path: file(t, text)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v\nwant %q", text, err, want)
		}
		zhtest.Error(t, fmt.Sprintf("%.40q", text), err, keys...)
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%.40q: the password is in the message: %v", text, err)
		}
	}
	if _, err := Load(Sources{Path: "no/such/file"}); err == nil {
		t.Error("a file that does not exist was read")
	}
}

// keys are the words that a Chinese message takes from the file unchanged.
var keys = strings.Fields("listen database log level format json text debug info warn error optional require trace metrics retention shutdown tls oidc operations pprof discovery series alerts audit rollouts nothing")

func TestAllFaultsAreReportedTogether(t *testing.T) {
	t.Parallel()
	_, err := Load(Sources{
		Path: file(t, "colour: red\nlog: {level: loud, format: 7}\n"), Flags: map[string]string{"nothing": "1"},
		Getenv: environment(map[string]string{"FAIRLANE_OPERATIONS_PPROF": "x"}),
	})
	for _, want := range []string{"colour", "FAIRLANE_OPERATIONS_PPROF: operations.pprof", "--nothing"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
	}
	zhtest.Error(t, "all sources", err, keys...)
	_, err = Load(Sources{Path: file(t, "log: {level: loud, format: 7}\n")})
	for _, want := range []string{"log.level", "log.format"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
	}
}

func TestLaterSourcesOverrideAndAreReported(t *testing.T) {
	t.Parallel()
	path := file(t, "database: file.db\nlisten: :1\nlog:\n  level: warn\n")
	l, err := Load(Sources{
		Path: path, Getenv: environment(map[string]string{"FAIRLANE_DATABASE": "env.db", "FAIRLANE_LISTEN": ":2, :3", "FAIRLANE_LOG_FORMAT": ""}),
		Flags: map[string]string{"database": "flag.db"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if l.Database != "flag.db" || !reflect.DeepEqual(l.Listen, []string{":2", ":3"}) || l.Log.Level != "warn" {
		t.Errorf("%+v", l.Config)
	}
	for key, want := range map[string]string{"database": "--database", "listen": "FAIRLANE_LISTEN", "log.level": path + ":4", "log.format": "default"} {
		if got := l.From(key); got != want {
			t.Errorf("%s is from %s, want %s", key, got, want)
		}
	}
}

func TestPasswordsComeOnlyFromTheEnvironmentAndAreHidden(t *testing.T) {
	t.Parallel()
	const dsn = "postgres://fairlane:geheim@db:5432/fairlane?sslmode=verify-full&password=geheim"
	l, err := Load(Sources{Getenv: environment(map[string]string{"FAIRLANE_DATABASE": dsn})})
	if err != nil {
		t.Fatal(err)
	}
	if l.Database != dsn {
		t.Errorf("the URL is %s", l.Database)
	}
	for _, k := range Keys() {
		if strings.Contains(k.Value(&l.Config), "geheim") {
			t.Errorf("%s shows the password", k.Name)
		}
	}
	if got := ShownDatabase(dsn); !strings.Contains(got, "fairlane") || !strings.Contains(got, "db:5432") || strings.Contains(got, "geheim") {
		t.Errorf("shown as %s", got)
	}
	_, err = Load(Sources{Flags: map[string]string{"database": dsn}})
	if err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("a password in a flag: %v", err)
	}
	_, err = Load(Sources{Getenv: environment(map[string]string{"FAIRLANE_DATABASE": "postgres://u:ge%zz@h/d"})})
	if err == nil || strings.Contains(err.Error(), "ge%zz") {
		t.Errorf("an unreadable URL: %v", err)
	}
}

// TestTheTableIsComplete compares the table with the struct. Every field has one key; every key has a field of its own,
// a default that passes its own check, and a text form that parses to the same value.
func TestTheTableIsComplete(t *testing.T) {
	t.Parallel()
	fields := 0
	var count func(reflect.Type)
	count = func(s reflect.Type) {
		for i := range s.NumField() {
			if f := s.Field(i); f.Type.Kind() == reflect.Struct {
				count(f.Type)
			} else {
				fields++
			}
		}
	}
	count(reflect.TypeFor[Config]())
	keys, def := Keys(), Default()
	if len(keys) != fields {
		t.Errorf("%d keys for %d fields", len(keys), fields)
	}
	seen := map[any]string{}
	names, flags := map[string]bool{}, map[string]bool{}
	for _, k := range keys {
		p := k.bind(&def)
		if other, ok := seen[p]; ok || names[k.Name] || k.Flag != "" && flags[k.Flag] {
			t.Errorf("%s: its field, name or flag is taken (%s)", k.Name, other)
		}
		seen[p], names[k.Name], flags[k.Flag] = k.Name, true, true
		if k.Doc == "" || strings.HasSuffix(k.Doc, ".") || strings.Contains(k.Doc, "|") {
			t.Errorf("%s: doc %q", k.Name, k.Doc)
		}
		for _, v := range k.values(&def) {
			if k.check != nil && k.check(v) != nil {
				t.Errorf("%s: the default is refused: %v", k.Name, k.check(v))
			}
		}
		again := Default()
		if err := k.set(&again, strings.Join(k.values(&def), ",")); err != nil || !reflect.DeepEqual(again, def) {
			t.Errorf("%s: does not survive its own text form: %v", k.Name, err)
		}
	}
}

func TestTheExampleIsAFileOfDefaults(t *testing.T) {
	t.Parallel()
	commented := Example()
	for _, text := range []string{commented, uncomment(commented)} {
		l, err := Load(Sources{Path: file(t, text)})
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if d := cmp.Diff(Default(), l.Config); d != "" {
			t.Error(d)
		}
	}
	for _, k := range Keys() {
		if got := Reference(); !strings.Contains(got, fmt.Sprintf("| `%s` |", k.Name)) || !strings.Contains(got, "`"+k.Env()+"`") {
			t.Errorf("the reference lacks %s", k.Name)
		}
	}
}

// uncomment removes the comment mark from lines with keys: "#key" and "# key".
func uncomment(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "#"); ok && (!strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "  ")) {
			line = rest
		}
		out = append(out, line)
	}
	return strings.Join(out, "")
}

func TestASecretIsReadAndNeverEchoed(t *testing.T) {
	t.Parallel()
	if got, err := Secret(file(t, " geheim\n")); got != "geheim" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Secret(""); got != "" || err != nil {
		t.Errorf("no file: %q, %v", got, err)
	}
	for _, path := range []string{file(t, "\n"), t.TempDir(), file(t, strings.Repeat("x", maxSecret+1)), "no/such/file"} {
		if got, err := Secret(path); err == nil || got != "" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add("listen: :1\ntls: {cert_file: a}\n")
	f.Add("a: &x [*x]\n")
	f.Add("? [a]\n: b\n")
	f.Add("database: postgres://u:geheim@h/d\n")
	f.Fuzz(func(t *testing.T, text string) {
		l := &Loaded{Config: Default(), from: map[string]string{}}
		if faults := l.read("f.yaml", strings.NewReader(text), Keys()); len(faults) > 0 {
			for _, err := range faults {
				if err == nil || err.Error() == "" {
					t.Error("an empty fault")
				}
			}
			return
		}
		if err := l.check(Keys()); err == nil && len(l.Listen) == 0 {
			t.Error("a service without an address was accepted")
		}
	})
}

func TestACopyOfEveryKeyIsTheWholeConfiguration(t *testing.T) {
	t.Parallel()
	var from, to Config
	for _, k := range Keys() {
		value := "x"
		switch k.Kind() {
		case "true or false":
			value = "true"
		case "number":
			value = "0.5"
		case "duration":
			value = "3s"
		}
		if err := k.set(&from, value); err != nil {
			t.Fatal(err)
		}
		k.Copy(&to, &from)
	}
	if d := cmp.Diff(from, to); d != "" {
		t.Error(d)
	}
	from.Discovery.Sources[0] = "changed"
	if to.Discovery.Sources[0] != "x" {
		t.Error("the copy of a list is the same list")
	}
}

// TestWatchedPorts checks the form of entries, their number and the period.
func TestWatchedPorts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"series: {watch: {ports: [lab/leaf1/P4, 'lab/MF0;sw/U1/P*', lab/h1], period: 2s}}": "",
		"series: {watch: {ports: [leaf1]}}":                                                `series.watch.ports: found "leaf1": want FABRIC/PORT such as lab/leaf1/P4`,
		"series: {watch: {ports: [/leaf1]}}":                                               `found "/leaf1"`,
		"series: {watch: {ports: ['lab/leaf1/P[']}}":                                       `found "lab/leaf1/P["`,
		"series: {watch: {ports: [" + strings.Repeat("lab/h/P1, ", 65) + "]}}":             "series.watch.ports: found 65 entries, want at most 64",
		"series: {watch: {ports: [" + strings.Repeat("lab/h/P1, ", 64) + "]}}":             "",
		"series: {period: 5s, watch: {ports: [lab/h/P1], period: 6s}}":                     "series.watch.period: longer than series.period: want at most 5s",
		"series: {period: 0s, watch: {ports: [lab/h/P1]}}":                                 "series.watch.period: longer than series.period: want at most 0s",
		"series: {period: 1s, watch: {period: 6s}}":                                        "",
		"series: {watch: {period: 100ms}}":                                                 "series.watch.period: found 100ms: want 1s to 1m0s",
	} {
		_, err := Load(Sources{Path: file(t, text)})
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}
