package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/internal/testkit/zhtest"
)

func rules(t *testing.T, list ...string) *SourceRules {
	t.Helper()
	r, err := NewSourceRules(list)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSourcesAreAllowedByTheirRules(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rule     string
		yes, not []string
	}{
		{"umad:*", []string{"umad:mlx5_0:1"}, []string{"ibsim:unix:umad", "file:umad:x", "umad:", "umad"}},
		{"umad:mlx5_0:*", []string{"umad:mlx5_0:1"}, []string{"umad:mlx5_1:1"}},
		{"ibsim:unix:lab", []string{"ibsim:unix:lab", "ibsim:lab"}, []string{"ibsim:unix:lab2", "ibsim:udp:lab:1"}},
		{"ibsim:udp:127.0.0.1:*", []string{"ibsim:udp:127.0.0.1:7070", "ibsim:udp:[::ffff:127.0.0.1]:1"},
			[]string{"ibsim:udp:127.0.0.2:7070", "ibsim:udp:127.1:7070", "ibsim:udp:2130706433:7070", "ibsim:udp:127.0.0.1.evil.example:1", "ibsim:udp:localhost:1"}},
		{"ibsim:udp:Sim.example:7070", []string{"ibsim:udp:sim.example:7070"}, []string{"ibsim:udp:sim.example:7071", "ibsim:udp:sim.example.:7070"}},
		{"ibsim:udp:*:7070", []string{"ibsim:udp:10.0.0.1:7070"}, []string{"ibsim:udp:10.0.0.1:22"}},
		{"ethernet:/etc/fairlane/*", []string{"ethernet:/etc/fairlane/a.yaml", "ethernet:/etc/fairlane//b/../c", "ethernet:/etc/../etc/fairlane/x"},
			[]string{"ethernet:/etc/fairlane/../passwd", "ethernet:/etc/fairlane", "ethernet:/etc/fairlane2/x", "file:/etc/fairlane/a.yaml", "ethernet:/etc/fairlane/a\x00b"}},
		{"file:/srv/one.yaml", []string{"file:/srv/one.yaml", "file:/srv/./one.yaml"}, []string{"file:/srv/one.yaml2", "file:/srv"}},
		{"file:./*", []string{"file:x", "file:sub/x", "file:" + here + "/x"}, []string{"file:../x", "file:/x", "file:sub/../../x"}},
		{"file:/*", nil, []string{"file:/etc/passwd"}},
		{"file:*", []string{"file:/etc/passwd"}, []string{"ethernet:/etc/passwd"}},
	} {
		r := rules(t, c.rule)
		for _, s := range c.yes {
			if err := r.Check(s); err != nil {
				t.Errorf("%s: %v", c.rule, err)
			}
		}
		for _, s := range c.not {
			if err := r.Check(s); err == nil || !strings.Contains(err.Error(), "discovery.sources allows: "+c.rule) {
				t.Errorf("%s allows %q: %v", c.rule, s, err)
			} else {
				zhtest.Error(t, s, err, "umad", "file")
			}
		}
	}
	if err := rules(t).Check("umad:mlx5_0:1"); err == nil || !strings.Contains(err.Error(), "allows: none") {
		t.Errorf("without any rule: %v", err)
	}
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if err := rules(t, "ibsim:udp:"+host+":*").Check("ibsim:udp:" + host); err == nil || !strings.Contains(err.Error(), "want ibsim:udp:HOST:PORT") {
			t.Errorf("address %s without a port: %v", host, err)
		}
	}
	if err := (*SourceRules)(nil).Check("file:/etc/passwd"); err != nil {
		t.Errorf("without rules: %v", err)
	}
	for _, bad := range []string{"", "file:", "http://x", "file:/a*b", "file:/etc/fair*", "ibsim:udp:host", "ibsim:udp:*.example:1", "ibsim:udp:h:70707", "umad:*x*"} {
		if _, err := ParseSourceRule(bad); err == nil {
			t.Errorf("rule %q is taken", bad)
		}
	}
	for _, text := range DefaultSources() {
		if _, err := ParseSourceRule(text); err != nil {
			t.Errorf("default: %v", err)
		}
	}
}

func TestSymbolicLinksDoNotEscape(t *testing.T) {
	t.Parallel()
	in, out := t.TempDir(), t.TempDir()
	link := func(to, at string) {
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{in + "/a.yaml", out + "/secret"} {
		if err := os.WriteFile(p, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link(out+"/secret", in+"/file")
	link(out, in+"/folder")
	link(in+"/a.yaml", in+"/inside")
	link(in, filepath.Join(out, "same"))
	r := rules(t, "file:"+in+"/*")
	for _, name := range []string{"file", "folder/secret"} {
		if _, err := r.Resolve("file:" + in + "/" + name); !errors.Is(err, errOutside) {
			t.Errorf("%s: %v", name, err)
		}
	}
	real, err := filepath.EvalSymlinks(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.yaml", "inside"} {
		if got, err := r.Resolve("file:" + in + "/" + name); err != nil || got != "file:"+real+"/a.yaml" {
			t.Errorf("%s is %s, %v", name, got, err)
		}
	}
	if got, err := r.Resolve("file:" + in + "/none"); err != nil || got != "file:"+in+"/none" {
		t.Errorf("a file that is not there: %s, %v", got, err)
	}
	// A rule whose own path contains a link allows the target of the link.
	if got, err := rules(t, "file:"+out+"/same/*").Resolve("file:" + out + "/same/a.yaml"); err != nil || got != "file:"+real+"/a.yaml" {
		t.Errorf("through the rule's own link: %s, %v", got, err)
	}
}

func FuzzSourceRule(f *testing.F) {
	for _, s := range DefaultSources() {
		f.Add(s, strings.TrimSuffix(s, "*")+"x")
	}
	f.Fuzz(func(t *testing.T, rule, source string) {
		r, err := NewSourceRules([]string{rule})
		if err != nil {
			return
		}
		kind, rest, ok := CutSource(source)
		if r.Check(source) != nil {
			return
		}
		one := r.rules[0]
		if !ok || kind != one.kind || strings.Contains(rest, "\x00") {
			t.Fatalf("%q allows %q", rule, source)
		}
		if !one.path() || one.open && one.rest == "" {
			return
		}
		folder, err := filepath.Abs(one.rest)
		if err != nil {
			t.Fatal(err)
		}
		path, err := filepath.Abs(rest)
		if err != nil {
			t.Fatal(err)
		}
		within, err := filepath.Rel(folder, path)
		if err != nil || within == ".." || strings.HasPrefix(within, "../") || (within == ".") == one.open {
			t.Errorf("%q allows %q, which is %q from it", rule, source, within)
		}
	})
}
