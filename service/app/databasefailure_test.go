package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/glebarez/go-sqlite"

	"fairlane/command/cmdline"
	"fairlane/internal/testkit/filetest"
	"fairlane/internal/testkit/peertest"
	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/service/site"
	"fairlane/service/store/storetest"
)

// smallDisk is the environment variable that names the small file system for the tests that need one.
const smallDisk = "FAIRLANE_TEST_SMALL_DISK"

// onASmallDisk runs the test again in a mount namespace of its own, where a directory is a file system of 3 MiB; inside,
// it returns that directory.
func onASmallDisk(t *testing.T) (dir string, inside bool) {
	t.Helper()
	if dir = os.Getenv(smallDisk); dir != "" {
		return dir, true
	}
	unshare := peertest.Program(t, "unshare")
	if out, err := exec.CommandContext(t.Context(), unshare, "-rm", "true").CombinedOutput(); err != nil {
		peertest.Missing(t, fmt.Sprintf("users may not make mount namespaces here: %v: %s", err, out))
	}
	dir = t.TempDir()
	script := `mount -t tmpfs -o size=3m tmpfs "$1" && exec "$2" -test.run="^$3\$" -test.v -test.timeout=120s`
	cmd := exec.CommandContext(t.Context(), unshare, "-rm", "sh", "-c", script, "sh", dir, os.Args[0], t.Name())
	cmd.Env = append(os.Environ(), smallDisk+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("on the small disk: %v\n%s", err, out)
	}
	return "", false
}

// fill writes a file until there is no room.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(b)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// problemCode is the code of a problem document.
func problemCode(body string) string {
	var p struct{ Code string }
	_ = json.Unmarshal([]byte(body), &p) // what is none has no code
	return p.Code
}

// intact checks the chain of the audit log, and returns its length.
func (p *process) intact(t *testing.T) int64 {
	t.Helper()
	code, body := p.send(t, "GET", p.api+"/api/v1/audit/verify", "")
	var report struct {
		Ok      bool
		Entries int64
	}
	if err := json.Unmarshal([]byte(body), &report); err != nil || code != http.StatusOK || !report.Ok {
		t.Errorf("audit verify: %d %s", code, body)
	}
	return report.Entries
}

// fabrics lists the names of all fabrics.
func (p *process) fabrics(t *testing.T) map[string]bool {
	t.Helper()
	code, body := p.send(t, "GET", p.api+"/api/v1/fabrics?limit=1000", "")
	var list struct{ Items []struct{ Name string } }
	if err := json.Unmarshal([]byte(body), &list); err != nil || code != http.StatusOK {
		t.Fatalf("list: %d %s", code, body)
	}
	names := map[string]bool{}
	for _, f := range list.Items {
		names[f.Name] = true
	}
	return names
}

// doesNotStart starts the service on a database that it cannot work on, and wants it to end with words that name the
// database and what to do.
func doesNotStart(t *testing.T, database string, exit int, want string) {
	t.Helper()
	var said transcript
	config := filetest.Write(t, "c.yaml", "listen: 127.0.0.1:0\ndatabase: "+database+"\n")
	code := Main(t.Context(), []string{"serve", "--config", config, "--lang", "en"}, io.Discard, &said)
	if code != exit || !strings.Contains(said.String(), database) || !strings.Contains(said.String(), want) {
		t.Errorf("exit code %d: %s", code, said.String())
	}
}

func TestAFullDiskUnderARunningService(t *testing.T) {
	t.Parallel()
	dir, inside := onASmallDisk(t)
	if !inside {
		return
	}
	p := startServeOn(t, filepath.Join(dir, "f.db"), "")
	acknowledged := map[string]bool{}
	create := func(i int) (int, string) {
		name := fmt.Sprintf("f%d", i)
		code, body := p.send(t, "POST", p.api+"/api/v1/fabrics", `{"name":"`+name+`","source":"file:`+strings.Repeat("x", 900)+`"}`)
		if code == http.StatusCreated {
			acknowledged[name] = true
		}
		return code, body
	}
	if code, body := create(0); code != http.StatusCreated {
		t.Fatalf("with room: %d %s", code, body)
	}
	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast)
	full := false
	for i := 1; i < 2000 && !full; i++ { // the log of SQLite has some room of its own
		code, body := create(i)
		if full = code == http.StatusServiceUnavailable && problemCode(body) == "storage-full"; !full && code != http.StatusCreated {
			t.Fatalf("while filling the disk: %d %s", code, body)
		}
	}
	if !full {
		t.Fatal("the disk is never full")
	}
	for _, path := range []string{"/fabrics/f0", "/audit?limit=5", "/ready", "/health"} {
		if code, body := p.send(t, "GET", p.api+"/api/v1"+path, ""); code != http.StatusOK {
			t.Errorf("%s on a full disk: %d %s", path, code, body)
		}
	}
	if code, body := p.send(t, "POST", p.api+"/api/v1/users", `{"name":"bob","password":"a long enough word"}`); code != http.StatusServiceUnavailable || problemCode(body) != "storage-full" {
		t.Errorf("a user on a full disk: %d %s", code, body)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if code, body := create(5000); code != http.StatusCreated {
		t.Errorf("with room again: %d %s", code, body)
	}
	p.intact(t)
	have := p.fabrics(t)
	for name := range acknowledged {
		if !have[name] {
			t.Errorf("%s was acknowledged and is lost", name)
		}
	}
	if len(have) != len(acknowledged) {
		t.Errorf("%d fabrics are there, %d were acknowledged", len(have), len(acknowledged))
	}
	p.stop()
	if code := <-p.exit; code != cmdline.ExitDone {
		t.Errorf("exit code %d\n%s", code, p.said.String())
	}
}

func TestAServiceThatStartsOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir, inside := onASmallDisk(t)
	if !inside {
		return
	}
	database := filepath.Join(dir, "f.db")
	first := startServeOn(t, database, "")
	if code, body := first.send(t, "POST", first.api+"/api/v1/fabrics", `{"name":"lab","source":"file:x"}`); code != http.StatusCreated {
		t.Fatalf("with room: %d %s", code, body)
	}
	first.stop()
	<-first.exit
	fill(t, filepath.Join(dir, "ballast"))
	doesNotStart(t, database, cmdline.ExitFailed, "no disk space is left: free some space and start again")
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		t.Fatal(err)
	}
	again := startServeOn(t, database, "")
	if !again.fabrics(t)["lab"] || again.intact(t) == 0 {
		t.Error("after a start without room something is lost")
	}
}

func TestAServiceThatStartsOnAReadOnlyDisk(t *testing.T) {
	t.Parallel()
	dir, inside := onASmallDisk(t)
	if !inside {
		return
	}
	database := filepath.Join(dir, "f.db")
	first := startServeOn(t, database, "")
	first.stop()
	<-first.exit
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,ro", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	doesNotStart(t, database, cmdline.ExitFailed, "the user that runs the service")
}

// TestAServiceThatCannotStartGivesAdvice starts the service on databases that it must not touch.
func TestAServiceThatCannotStartGivesAdvice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		code  int
		want  string
	}{
		"a newer schema": {func(t *testing.T, path string) {
			storetest.Execute(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99001, 1)")
		}, cmdline.ExitFailed, "run the release that wrote it or a newer one"},
		"no database": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("this is a letter to grandmother\n", 400)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, cmdline.ExitUsage, "correct the path, or restore a backup"},
		"a migration that does not fit": {func(t *testing.T, path string) {
			storetest.Execute(t, path, "DELETE FROM goose_db_version WHERE version_id = (SELECT MAX(version_id) FROM goose_db_version)")
		}, cmdline.ExitFailed, "could not be applied, the schema stays at version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "f.db")
			m, err := openManager(t.Context(), path, &site.Access{}, workOptions{})
			if err == nil {
				_, err = m.service.CreateFabric(t.Context(), control.Fabric{Name: "lab", Source: "file:x", TimeScale: 1})
			}
			if err == nil {
				_, err = m.service.VerifyAudit(t.Context(), audit.Tail{})
			}
			if err = errors.Join(err, m.Close()); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, path)
			before, _ := os.ReadFile(path)
			doesNotStart(t, path, c.code, c.want)
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}
