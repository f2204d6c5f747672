// Package pgtest starts a real PostgreSQL for tests: the installed one of Debian, on its own socket and loopback port, in
// a directory that it removes at the end.
//
// Most tests use Database: a fresh database on a server that the whole test binary shares and that does not wait for the
// disk. Tests that stop or kill a server use Start.
//
// Without PostgreSQL the test is skipped or fails, as internal/testkit/peertest decides. FAIRLANE_POSTGRES_BIN names the
// directory of its programs when it is not in a usual place.
package pgtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"

	"fairlane/internal/testkit/peertest"
)

// Options of a server; the zero value is the default of each.
type Options struct {
	// Durable makes the server wait for the disk at each commit, as in production. A server that is only killed, while
	// the machine keeps running, loses nothing without it.
	Durable  bool
	Settings map[string]string // settings of postgresql.conf, such as "max_connections"
}

// Server is a running PostgreSQL. Its methods are safe for concurrent use.
type Server struct {
	bin    string // directory of the programs
	dir    string // holds the data, the socket and the log
	port   int
	user   *syscall.Credential // its user; nil means ours
	mind   *os.File            // when it closes, even by our end, the guard stops the server
	minder *exec.Cmd           // the guard
	mu     sync.Mutex          // one change of the server's state at a time
}

// shared is the server of the test binary, started by the first test that needs it.
var shared = sync.OnceValues(func() (*Server, error) { return start(Options{}) })

// Database creates an empty database on the shared server and returns its URL. It is dropped at the end of the test.
func Database(t testing.TB) string {
	t.Helper()
	s, err := shared()
	check(t, err)
	return s.Database(t)
}

// Start starts a server for one test, which is stopped at the end of the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := start(o)
	check(t, err)
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// errMissing means that no PostgreSQL is installed.
var errMissing = errors.New("PostgreSQL was not found: install Debian's package postgresql or set FAIRLANE_POSTGRES_BIN")

func check(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, errMissing):
		peertest.Missing(t, err.Error())
	case err != nil:
		t.Fatal(err)
	}
}

// find returns the directory with PostgreSQL's programs.
func find() (string, error) {
	candidates := []string{os.Getenv("FAIRLANE_POSTGRES_BIN")}
	debian, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.Sort(debian)
	slices.Reverse(debian) // the newest first
	candidates = append(candidates, debian...)
	if p, err := exec.LookPath("initdb"); err == nil {
		candidates = append(candidates, filepath.Dir(p))
	}
	for _, dir := range candidates {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir, nil
		}
	}
	return "", errMissing
}

func start(o Options) (s *Server, err error) {
	s = &Server{}
	if s.bin, err = find(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "fairlane-pg"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(s.dir))
		}
	}()
	if err := s.owner(); err != nil {
		return nil, err
	}
	if out, err := s.command("initdb", "-D", s.data(), "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := s.configure(o); err != nil {
		return nil, err
	}
	if err := s.guard(); err != nil {
		return nil, err
	}
	if err := s.Begin(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) log() string { return filepath.Join(s.dir, "log") }

// freePort returns a port from the kernel without a listener.
func freePort() (int, error) {
	var c net.ListenConfig
	l, err := c.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

func (s *Server) configure(o Options) error {
	settings := map[string]string{
		"port": strconv.Itoa(s.port), "listen_addresses": "'127.0.0.1'", "unix_socket_directories": "'" + s.dir + "'",
		"fsync": "off", "max_connections": "200", "shared_buffers": "'32MB'", "logging_collector": "off", "max_wal_size": "'256MB'",
	}
	if o.Durable {
		settings["fsync"] = "on"
	}
	for name, value := range o.Settings {
		settings[name] = "'" + value + "'"
	}
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	for name, value := range settings {
		if _, err := fmt.Fprintf(f, "%s = %s\n", name, value); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// guard starts a shell that waits for our pipe to close, and then stops the server and removes its directory. So the
// server ends with the test binary, even if that is killed.
func (s *Server) guard() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "guard.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return errors.Join(err, r.Close(), w.Close())
	}
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", `read -r _; cd /; "$0" -D "$1/data" -m immediate stop; rm -rf "$1"`, filepath.Join(s.bin, "pg_ctl"), s.dir)
	s.asOwner(cmd)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, log, log // files: a process that outlives us must not keep our pipes open
	if err := cmd.Start(); err != nil {
		return errors.Join(err, r.Close(), w.Close(), log.Close())
	}
	s.mind, s.minder = w, cmd
	return errors.Join(r.Close(), log.Close())
}

// close stops the server and waits until it has ended.
func (s *Server) close() error {
	err := s.mind.Close()
	_ = s.minder.Wait()                          // its error, when no server was left to stop, is in its log
	return errors.Join(err, os.RemoveAll(s.dir)) // at most an empty directory remains
}

// command returns one of PostgreSQL's programs, run by the server's owner.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, name), args...)
	s.asOwner(cmd)
	return cmd
}

// Begin starts the server if it is not running, and waits until it accepts connections.
func (s *Server) Begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd := s.command("pg_ctl", "-D", s.data(), "-l", s.log(), "-w", "-t", "60", "start")
	if err := cmd.Run(); err != nil { // no pipes: the server would hold them
		text, _ := os.ReadFile(s.log())
		return fmt.Errorf("start PostgreSQL: %w\n%s", err, text)
	}
	return nil
}

// Stop stops the server at once, without finishing its work; Begin finds what was committed.
func (s *Server) Stop() error { return s.stop("immediate") }

// Restart restarts the server as an operator does, without waiting for clients.
func (s *Server) Restart() error {
	if err := s.stop("fast"); err != nil {
		return err
	}
	return s.Begin()
}

// Crash kills the server as a power failure does, and restarts it: it recovers from its log.
func (s *Server) Crash() error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.Begin()
}

func (s *Server) stop(mode string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.command("pg_ctl", "-D", s.data(), "-w", "-t", "60", "-m", mode, "stop").Run(); err != nil {
		text, _ := os.ReadFile(s.log())
		return fmt.Errorf("stop PostgreSQL: %w\n%s", err, text)
	}
	return nil
}

// Database creates an empty database and returns its URL, through the socket. It is dropped at the end of the test, if
// the server still runs.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	name := "t_" + hex.EncodeToString(b[:])
	if err := s.admin("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.admin("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)") }) // the test may have stopped the server
	return s.URL(name)
}

// URL returns the address of a database of the server, through the socket.
func (s *Server) URL(database string) string {
	return "postgres://postgres@/" + database + "?" + url.Values{"host": {s.dir}, "port": {strconv.Itoa(s.port)}}.Encode()
}

// LoopbackURL returns the address of a database of the server by TCP.
func (s *Server) LoopbackURL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// admin runs one statement outside of any test's database.
func (s *Server) admin(statement string) error {
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = db.ExecContext(ctx, statement)
	if err != nil {
		err = fmt.Errorf("%s: %w", statement, err)
	}
	return errors.Join(err, db.Close())
}
