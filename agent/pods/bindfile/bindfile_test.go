package bindfile

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
)

const good = `bindings:
  - namespace: team-a
    tenant: gold
    class: bulk
    failPolicy: open
    levers: {maxMbps: 40000, shareOf1000: 250, tos: 104}
  - {namespace: team-b, tenant: silver}
`

func write(t *testing.T, path, text string, at time.Time) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestBindingsOfAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bindings.yaml")
	now := time.Unix(1_800_000_000, 0)
	write(t, path, good, now)
	var logged bytes.Buffer
	f, err := Open(path, func() time.Time { return now }, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if b, age, s := f.Binding("team-a"); s != pods.Bound || age != 0 || b.Tenant != "gold" || b.Class != "bulk" || b.FailPolicy != podsock.Open || *b.Levers.MaxMbps != 40000 || *b.Levers.ShareOf1000 != 250 || *b.Levers.TOS != 104 {
		t.Errorf("%+v %v %v", b, age, s)
	}
	if b, _, s := f.Binding("team-b"); s != pods.Bound || b.Class != defaultClass || (b.Levers != podsock.Levers{}) {
		t.Errorf("%+v %v", b, s)
	}
	if _, _, s := f.Binding("team-c"); s != pods.Unbound {
		t.Error(s)
	}
	// A change is read, at most once a second.
	write(t, path, strings.ReplaceAll(good, "silver", "bronze"), now.Add(time.Minute))
	if b, _, _ := f.Binding("team-b"); b.Tenant != "silver" {
		t.Errorf("%+v", b)
	}
	now = now.Add(2 * time.Second)
	if b, age, _ := f.Binding("team-b"); b.Tenant != "bronze" || age != 0 {
		t.Errorf("%+v %v", b, age)
	}
	// A file that is not valid leaves the bindings in force, and they age.
	write(t, path, "bindings: [", now.Add(2*time.Minute))
	for range 3 {
		now = now.Add(time.Hour)
		if b, age, s := f.Binding("team-b"); b.Tenant != "bronze" || age < time.Hour || s != pods.Bound {
			t.Errorf("%+v %v %v", b, age, s)
		}
	}
	if n := strings.Count(logged.String(), "bindings not read"); n != 1 {
		t.Errorf("logged %d times: %s", n, &logged)
	}
	write(t, path, good, now.Add(3*time.Minute))
	now = now.Add(time.Hour)
	if b, age, _ := f.Binding("team-b"); b.Tenant != "silver" || age != 0 {
		t.Errorf("%+v %v", b, age)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if _, age, s := f.Binding("team-b"); age != time.Hour || s != pods.Bound {
		t.Error(age, s)
	}
}

func TestFaultsOfAFileNameTheirLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"bindings:\n  - {namespace: Team, tenant: gold}":                                                      `bindings.yaml:2: bindings[0].namespace: found "Team"`,
		"bindings:\n  - {tenant: gold}":                                                                       `bindings[0].namespace: missing`,
		"bindings:\n  - {namespace: a}":                                                                       `bindings[0].tenant: missing`,
		"bindings:\n  - {namespace: a, tenant: x}\n  - {namespace: a, tenant: y}":                             `namespace a has a binding already`,
		"bindings:\n  - {namespace: a, tenant: x, weight: 3}":                                                 `unknown key "weight"`,
		"bindings:\n  - {namespace: a, tenant: x, failPolicy: ajar}":                                          `"ajar"`,
		"bindings:\n  - {namespace: a, tenant: x, levers: {maxMbps: 0}}":                                      `"0"`,
		"bindings:\n  - {namespace: a, tenant: x, levers: {shareOf1000: 1001}}":                               `"1001"`,
		"bindings:\n  - {namespace: a, tenant: x, levers: {tos: 256}}":                                        `"256"`,
		"bindings:\n  - {namespace: a, tenant: x, levers: {maxMbps: 1}}\n---\nbindings: []":                   `second document`,
		"bindings:\n  - {namespace: a, tenant: x, levers: {maxMbps: 1, max_mbps: 2}}\n# a comment\n# another": `unknown key "max_mbps"`,
	} {
		path := filepath.Join(t.TempDir(), "bindings.yaml")
		write(t, path, text, time.Unix(1_800_000_000, 0))
		if _, err := Open(path, time.Now, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), time.Now, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a missing file was read")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(dir, "bindings.yaml")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		bindings, err := parse(path)
		for namespace := range bindings {
			if err == nil && (podsock.Pod{Namespace: namespace}).CheckIdentity() != nil {
				t.Errorf("namespace %q was accepted", namespace)
			}
		}
	})
}
