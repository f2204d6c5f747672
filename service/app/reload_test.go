package app

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlane/internal/testkit/filetest"
)

// reloaded sends SIGHUP and returns the log record of its outcome.
func (p *process) reloaded(t *testing.T) map[string]any {
	t.Helper()
	records := func() (out []map[string]any) {
		for line := range strings.Lines(p.said.String()) {
			var r map[string]any
			if json.Unmarshal([]byte(line), &r) == nil && strings.HasPrefix(fmt.Sprint(r["msg"]), "configuration ") {
				out = append(out, r)
			}
		}
		return out
	}
	before := len(records())
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		if list := records(); len(list) > before {
			return list[before]
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("SIGHUP was not answered:\n%s", p.said.String())
	return nil
}

// Without a handler SIGHUP would end the process. It reloads the configuration: all of it or, when anything is wrong, nothing.
func TestSIGHUPReloadsAllOrNothing(t *testing.T) { // not parallel: the signal goes to the whole process
	key := filetest.Write(t, "cc_key", "0x1\n")
	p := startServe(t, "log: {level: info}\ncc_key_file: "+key+"\n")
	text, err := os.ReadFile(p.config)
	if err != nil {
		t.Fatal(err)
	}
	put := func(path, s string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with := func(old, next string) string { return strings.Replace(string(text), old, next, 1) }
	want := func(r map[string]any, msg, changed, restart string) {
		t.Helper()
		if r["msg"] != msg || fmt.Sprint(r["changed"]) != changed || r["needs_restart"] != nil && fmt.Sprint(r["needs_restart"]) != restart || r["needs_restart"] == nil && restart != "" {
			t.Errorf("logged %v, want %q, changed %s, needing a restart %s", r, msg, changed, restart)
		}
	}
	create := func(source string) int {
		code, _ := p.send(t, "POST", p.api+"/api/v1/fabrics?dry_run=true", `{"name":"lab","source":"`+source+`"}`)
		return code
	}

	want(p.reloaded(t), "configuration reloaded", "[]", "")
	put(key, "0x2\n")
	want(p.reloaded(t), "configuration reloaded", "[cc_key_file]", "")

	put(p.config, with("level: info", "level: loud")+"discovery: {sources: ['umad:*']}\n")
	r := p.reloaded(t)
	want(r, "configuration not reloaded; the one before stays in force", "<nil>", "")
	if r["level"] != "ERROR" || !strings.Contains(fmt.Sprint(r["error"]), "log.level") {
		t.Errorf("a wrong configuration is logged as %v", r)
	}
	if code := create("ibsim:unix:lab"); code >= 300 {
		t.Errorf("half of a wrong configuration is in force: answer %d", code)
	}

	put(p.config, with("level: info", "level: error")+"discovery: {sources: ['umad:*']}\nshutdown: {drain: 7s}\n")
	r = p.reloaded(t)
	want(r, "configuration reloaded; some of it needs a restart", "[discovery.sources log.level]", "[shutdown.drain]")
	if code := create("ibsim:unix:lab"); code != 422 {
		t.Errorf("a source that is not allowed any more is answered with %d", code)
	}

	put(p.config, string(text)+"colour: red\n")
	want(p.reloaded(t), "configuration not reloaded; the one before stays in force", "<nil>", "")
	if code := create("ibsim:unix:lab"); code != 422 {
		t.Errorf("after a wrong configuration: %d", code)
	}
}
