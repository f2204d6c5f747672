// Package interop runs the field's own tools, unmodified, on Fairlane's simulated fabric.
package interop

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlane/internal/quantity"
	"fairlane/internal/testkit/peertest"
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
	dir    string // working directory of the tools, in which they leave files
	lib    string
}

// newLab serves the fabric on its own Unix sockets until the test ends.
func newLab(t *testing.T, topo *subnet.Fabric, cfg fabric.Config, o simdev.Options) *lab {
	t.Helper()
	l := &lab{t: t, topo: topo, dir: t.TempDir()}
	h := fnv.New64a()
	_, _ = h.Write([]byte(l.dir))
	name := fmt.Sprintf("fairlane-%d-%x", os.Getpid(), h.Sum64())
	l.serve("unix:"+name, cfg, o)
	return l
}

// newUDPLab is newLab on the loopback network.
func newUDPLab(t *testing.T, topo *subnet.Fabric, cfg fabric.Config, o simdev.Options) *lab {
	t.Helper()
	l := &lab{t: t, topo: topo, dir: t.TempDir()}
	l.serve("udp:0", cfg, o)
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

// command prepares a tool on the named host; its whole process group is killed with ctx.
func (l *lab) command(ctx context.Context, host, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, peertest.Program(l.t, name), args...)
	cmd.Dir = l.dir
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+l.lib, "SIM_HOST="+host, "OSM_TMP_DIR="+l.dir, "OSM_CACHE_DIR="+l.dir)
	cmd.Env = append(cmd.Env, ibsimtest.Attach(l.t, l.server.Addr())...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = stopDeadline
	return cmd
}

// try runs a tool and returns its output.
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

// startOpenSM starts OpenSM on a host and waits for SUBNET UP. It is stopped when the test ends.
func (l *lab) startOpenSM(host, options string) *ibsimtest.SM {
	l.t.Helper()
	s := ibsimtest.NewSM(l.t, l.server.Addr(), host, options)
	s.Start("SUBNET UP")
	return s
}

// twoSwitches is the fabric of most tests: h1 and h2 on leaf1, h3 and h4 on leaf2, two links between the switches,
// 4xEDR everywhere.
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

// host returns the node description of host i, from 1.
func host(i int) string { return fmt.Sprintf("h%d HCA-1", i) }

// lid returns the LID of a node: that of port 1 of a channel adapter, or of port 0 of a switch.
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

// eventually waits for a condition that another process fulfils.
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
