// Package doctor examines whether a host can run the CNI plugin: the order of plugins in chains, the mode of RDMA devices,
// the agent's socket, the agent, and requests that were kept for it. It changes nothing.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fairlane/agent/pods/podsock"
	"fairlane/internal/phrase"
)

// State is the result of a check.
type State string

// States.
const (
	OK      State = "ok"
	Warning State = "warning" // works, with a limit
	Problem State = "problem" // does not work
)

// Finding is the result of one check.
type Finding struct {
	Check string      // what was checked, such as "order"
	Where string      // file or object
	State State       // its result
	Text  phrase.Text // what was found, and what to do
}

// The modes of RDMA devices in network namespaces.
const (
	Exclusive = "exclusive"
	Shared    = "shared"
)

// Options configure an examination. Root is "/" on a real host.
type Options struct {
	Root    string
	ConfDir string // of the container runtime
	BinDir  string
	Files   []File // further configurations, such as those of NetworkAttachmentDefinitions
	Socket  string // empty: that of the chains, or the default
	Version string // of the plugin
	Now     time.Time
}

// File is a configuration with its name.
type File struct {
	Name string
	Text []byte
}

// report collects findings.
type report struct {
	o             Options
	findings      []Finding
	mode          string // of RDMA devices; empty: unknown
	chains        int    // with the plugin
	socket, spool string
}

func (r *report) add(check, where string, s State, t phrase.Text) {
	r.findings = append(r.findings, Finding{check, where, s, t})
}

// Examine examines a host.
func Examine(ctx context.Context, o Options) []Finding {
	r := &report{o: o, socket: cmp.Or(o.Socket, podsock.DefaultSocket), spool: podsock.DefaultSpool}
	r.rdmaMode()
	r.configurations()
	r.program()
	if r.listener() {
		r.agent(ctx)
	}
	r.kept()
	return r.findings
}

// netnsMode is the parameter behind `rdma system show`.
const netnsMode = "sys/module/ib_core/parameters/netns_mode"

// rdmaMode reads the mode of RDMA devices.
func (r *report) rdmaMode() {
	b, err := os.ReadFile(filepath.Join(r.o.Root, netnsMode))
	switch text := strings.TrimSpace(string(b)); {
	case errors.Is(err, fs.ErrNotExist):
		r.add("rdma-mode", "/"+netnsMode, Warning, phrase.Of("cnidoctor.no-rdma"))
	case err != nil:
		r.add("rdma-mode", "/"+netnsMode, Warning, phrase.Of("cnidoctor.unreadable", "reason", err))
	case text == "Y":
		r.mode = Shared
		r.add("rdma-mode", "/"+netnsMode, OK, phrase.Of("cnidoctor.mode-shared"))
	case text == "N":
		r.mode = Exclusive
		r.add("rdma-mode", "/"+netnsMode, OK, phrase.Of("cnidoctor.mode-exclusive"))
	default:
		r.add("rdma-mode", "/"+netnsMode, Warning, phrase.Of("cnidoctor.mode-unknown", "found", podsock.Clip(text)))
	}
}

// configurations examines the chains of the runtime's directory, and further ones.
func (r *report) configurations() {
	entries, err := os.ReadDir(r.o.ConfDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.add("conflist", r.o.ConfDir, Warning, phrase.Of("cnidoctor.unreadable", "reason", err))
	}
	first := true // the first file by name is the default network
	for _, e := range entries {
		if e.IsDir() || !isConf(e.Name()) {
			continue
		}
		path := filepath.Join(r.o.ConfDir, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			r.add("conflist", path, Warning, phrase.Of("cnidoctor.unreadable", "reason", err))
			continue
		}
		r.chain(path, text, first)
		first = false
	}
	for _, f := range r.o.Files {
		before := r.chains
		r.chain(f.Name, f.Text, false)
		if r.chains == before && (len(r.findings) == 0 || r.findings[len(r.findings)-1].Where != f.Name) {
			r.add("conflist", f.Name, Problem, phrase.Of("cnidoctor.not-in-list", "plugin", pluginType))
		}
	}
	if r.chains == 0 && len(r.o.Files) == 0 {
		r.add("conflist", r.o.ConfDir, Warning, phrase.Of("cnidoctor.no-chain", "plugin", pluginType))
	}
}

// program examines whether the runtime finds the plugin.
func (r *report) program() {
	path := filepath.Join(r.o.BinDir, pluginType)
	st, err := os.Stat(path)
	switch {
	case err != nil:
		r.add("program", path, Problem, phrase.Of("cnidoctor.no-program", "reason", err))
	case !st.Mode().IsRegular() || st.Mode().Perm()&0o111 == 0:
		r.add("program", path, Problem, phrase.Of("cnidoctor.not-executable", "mode", st.Mode().String()))
	default:
		r.add("program", path, OK, phrase.Of("cnidoctor.program"))
	}
}

// listener examines the agent's socket, and reports whether it can be called.
func (r *report) listener() bool {
	st, err := os.Stat(r.socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.add("socket", r.socket, Problem, phrase.Of("cnidoctor.no-socket"))
		return false
	case err != nil:
		r.add("socket", r.socket, Problem, phrase.Of("cnidoctor.unreadable", "reason", err))
		return false
	case st.Mode().Type() != fs.ModeSocket:
		r.add("socket", r.socket, Problem, phrase.Of("cnidoctor.not-socket", "mode", st.Mode().String()))
		return false
	}
	if s, ok := st.Sys().(*syscall.Stat_t); ok && (st.Mode().Perm()&0o022 != 0 || s.Uid != 0) {
		r.add("socket", r.socket, Warning, phrase.Of("cnidoctor.socket-open", "mode", st.Mode().String(), "uid", s.Uid))
		return true
	}
	r.add("socket", r.socket, OK, phrase.Of("cnidoctor.socket"))
	return true
}

// agent asks the agent for its state.
func (r *report) agent(ctx context.Context) {
	s, err := podsock.NewClient(r.socket).Status(ctx)
	if err != nil {
		r.add("agent", r.socket, Problem, phrase.Of("cnidoctor.no-agent", "reason", err))
		return
	}
	if s.Version != r.o.Version {
		r.add("agent", r.socket, Warning, phrase.Of("cnidoctor.other-version", "agent", s.Version, "plugin", r.o.Version))
	}
	if !s.Loaded {
		r.add("agent", r.socket, Problem, phrase.Of("cnidoctor.not-loaded", "reason", cmp.Or(s.Problem, "-")))
	}
	if n := s.Pending + s.Drifted + s.Unreadable; n > 0 {
		r.add("agent", r.socket, Warning, phrase.Of("cnidoctor.differences", "pending", s.Pending, "drifted", s.Drifted, "unreadable", s.Unreadable))
	}
	r.add("agent", r.socket, OK, phrase.Of("cnidoctor.agent", "version", s.Version, "devices", s.Devices, "records", s.Records))
}

// kept examines the spool.
func (r *report) kept() {
	entries, err := os.ReadDir(r.spool)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		r.add("spool", r.spool, Warning, phrase.Of("cnidoctor.unreadable", "reason", err))
		return
	}
	n, oldest := 0, r.o.Now
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || filepath.Ext(e.Name()) != ".json" {
			continue
		}
		n++
		if info.ModTime().Before(oldest) {
			oldest = info.ModTime()
		}
	}
	if n > 0 {
		r.add("spool", r.spool, Warning, phrase.Of("cnidoctor.kept", "n", n, "age", fmt.Sprint(r.o.Now.Sub(oldest).Round(time.Second))))
	}
}
