// Package interop runs the field's own tools, unmodified, on Fairlane's simulated fabric.
package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlane/internal/peertest"
	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ibsim/ibsimtest"
	"fairlane/subnet/ident"
)

// Deadlines of external processes.
const (
	toolDeadline   = 30 * time.Second
	subnetDeadline = 30 * time.Second
	stopDeadline   = 5 * time.Second
)

// lab is a simulated fabric with a server that the tools attach to.
type lab struct {
	t      *testing.T
	dev    *simdev.Devices
	server *simdev.Server
	topo   *subnet.Fabric
	dir    string // working directory of the tools, which litter it
	lib    string
	attach []string // environment by which the tools find the server
}

// newLab serves the fabric on unix sockets of its own until the test ends.
func newLab(t *testing.T, topo *subnet.Fabric, cfg fabric.Config, o simdev.Options) *lab {
	t.Helper()
	l := &lab{t: t, topo: topo, dir: t.TempDir()}
	h := fnv.New64a()
	_, _ = h.Write([]byte(l.dir))
	name := fmt.Sprintf("fairlane-%d-%x", os.Getpid(), h.Sum64())
	l.serve("unix:"+name, cfg, o)
	l.attach = []string{"IBSIM_SOCKNAME=" + name}
	return l
}

// newUDPLab is newLab on the loopback network.
func newUDPLab(t *testing.T, topo *subnet.Fabric, cfg fabric.Config, o simdev.Options) *lab {
	t.Helper()
	l := &lab{t: t, topo: topo, dir: t.TempDir()}
	l.serve("udp:0", cfg, o)
	host, port, err := net.SplitHostPort(strings.TrimPrefix(l.server.Addr(), "udp:"))
	if err != nil {
		t.Fatal(err)
	}
	l.attach = []string{"IBSIM_SERVER_NAME=" + host, "IBSIM_SERVER_PORT=" + port}
	return l
}

func (l *lab) serve(addr string, cfg fabric.Config, o simdev.Options) {
	t := l.t
	t.Helper()
	l.lib = ibsimtest.Preload(t)
	n, err := fabric.New(l.topo, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if l.dev, err = simdev.New(n, o); err != nil {
		t.Fatal(err)
	}
	if l.server, err = simdev.Listen(l.dev, addr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- l.server.Serve(ctx) }()
	go func() { done <- l.dev.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// command prepares a tool on the host of that name; its whole process group dies with ctx.
func (l *lab) command(ctx context.Context, host, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, peertest.Program(l.t, name), args...)
	cmd.Dir = l.dir
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+l.lib, "SIM_HOST="+host, "OSM_TMP_DIR="+l.dir, "OSM_CACHE_DIR="+l.dir)
	cmd.Env = append(cmd.Env, l.attach...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = stopDeadline
	return cmd
}

// try runs a tool and returns what it printed.
func (l *lab) try(host, name string, args ...string) (string, error) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), toolDeadline)
	defer cancel()
	var out bytes.Buffer
	cmd := l.command(ctx, host, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("no end within %s", toolDeadline)
	}
	return out.String(), err
}

// run is try for tools that must succeed.
func (l *lab) run(host, name string, args ...string) string {
	l.t.Helper()
	out, err := l.try(host, name, args...)
	if err != nil {
		l.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// opensm is a running subnet manager.
type opensm struct {
	cmd *exec.Cmd
	log string
	end chan error
	up  time.Duration // from start to SUBNET UP
}

// startOpenSM starts OpenSM on a host and waits for SUBNET UP. It is stopped when the test ends.
func (l *lab) startOpenSM(host, extra string) *opensm {
	l.t.Helper()
	conf := filepath.Join(l.dir, "osm.conf")
	text := "force_log_flush TRUE\nlog_flags 0x03\n" + extra
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	s := &opensm{log: filepath.Join(l.dir, "osm.log"), end: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	s.cmd = l.command(ctx, host, "opensm", "-F", conf, "-f", s.log, "-s", "10")
	var out bytes.Buffer
	s.cmd.Stdout, s.cmd.Stderr = &out, &out
	start := time.Now()
	if err := s.cmd.Start(); err != nil {
		cancel()
		l.t.Fatal(err)
	}
	go func() { s.end <- s.cmd.Wait() }()
	l.t.Cleanup(func() {
		s.stop(cancel)
		if l.t.Failed() {
			l.t.Logf("opensm printed:\n%s", out.String())
		}
	})
	if err := s.waitLog("SUBNET UP", 1, subnetDeadline); err != nil {
		log, _ := os.ReadFile(s.log)
		l.t.Fatalf("opensm: %v; log:\n%s", err, log)
	}
	s.up = time.Since(start)
	return s
}

// stop ends OpenSM by the signal it expects, and by force when it does not obey.
func (s *opensm) stop(kill context.CancelFunc) {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.end:
		kill()
	case <-time.After(stopDeadline):
		kill()
		<-s.end
	}
}

// waitLog waits until a text stands in the log so many times.
func (s *opensm) waitLog(text string, times int, deadline time.Duration) error {
	expired := time.After(deadline)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		log, err := os.ReadFile(s.log)
		if err == nil && strings.Count(string(log), text) >= times {
			return nil
		}
		select {
		case <-expired:
			return fmt.Errorf("%q not %d times in the log within %s", text, times, deadline)
		case err := <-s.end:
			s.end <- err
			return errors.Join(fmt.Errorf("opensm ended before %q was in its log", text), err)
		case <-tick.C:
		}
	}
}

// twoSwitches is the fabric of most tests: h1 and h2 on leaf1, h3 and h4 on leaf2, two links
// between the switches, 4xEDR everywhere.
func twoSwitches(t *testing.T) *subnet.Fabric {
	t.Helper()
	var nodes []subnet.Node
	for i := range 2 {
		nodes = append(nodes, subnet.Node{
			GUID: ident.GUID(0x200000 + i), Kind: subnet.KindSwitch,
			Name: fmt.Sprintf("leaf%d", i+1), Ports: subnet.NewPorts(12),
		})
	}
	var links []subnet.Link
	join := func(a int32, p ident.PortNum, b int32, q ident.PortNum) {
		links = append(links, subnet.Link{
			A: subnet.PortRef{Node: a, Port: p}, B: subnet.PortRef{Node: b, Port: q},
			Width: 4, Speed: subnet.EDR, Delay: 100 * quantity.Nanosecond,
		})
	}
	for i := range 4 {
		g := ident.GUID(0x100000 + 16*i)
		ports := subnet.NewPorts(1)
		ports[1].GUID = g + 1
		nodes = append(nodes, subnet.Node{GUID: g, Kind: subnet.KindCA, Name: fmt.Sprintf("h%d HCA-1", i+1), Ports: ports})
		join(int32(i/2), ident.PortNum(i%2+1), int32(2+i), 1)
	}
	join(0, 11, 1, 11)
	join(0, 12, 1, 12)
	topo, err := subnet.New("two switches", nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

// host is the node description of host i, from 1.
func host(i int) string { return fmt.Sprintf("h%d HCA-1", i) }

// lid is the LID of a node: port 1 of a channel adapter, port 0 of a switch.
func (l *lab) lid(node int32) string {
	port := ident.PortNum(1)
	if l.topo.Nodes[node].Kind == subnet.KindSwitch {
		port = 0
	}
	var lid ident.LID
	l.dev.With(func(n *fabric.Network) { lid, _ = n.LID(node, port) })
	return fmt.Sprint(lid)
}

// wantMatch fails unless the text matches every pattern.
func wantMatch(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(`(?m)` + p).MatchString(text) {
			t.Errorf("no match for %q in:\n%s", p, text)
		}
	}
}

// eventually waits for a condition that another process brings about.
func eventually(f func() bool) error {
	expired := time.After(subnetDeadline)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-expired:
			return fmt.Errorf("did not come true within %s", subnetDeadline)
		case <-tick.C:
		}
	}
	return nil
}
