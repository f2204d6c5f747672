package kubenode

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlane/agent/cluster"
	"fairlane/agent/pods"
	"fairlane/agent/pods/podserve"
	"fairlane/agent/pods/podsock"
	"fairlane/kube/kubetest"
)

// Card is a fake NIC with virtual functions. It is the only part of a node in these tests that does not run for real.
type Card struct {
	Port string   // as managers identify it
	Mbps uint32   // rate of a port
	VFs  []string // PCI addresses, of all ports
	Link string   // link layer: Ethernet or InfiniBand
	// Changed is called after every change of a function's values, if set.
	Changed func(port string, function int, s podsock.Settings)

	mu    sync.Mutex
	now   map[string]podsock.Settings
	ports map[string]int // by function: index in names
	names []string       // ports
	fail  error          // of every write
}

// NewCard returns a card whose functions have no limits.
func NewCard(port string, mbps uint32, vfs ...string) *Card {
	c := &Card{Port: port, Mbps: mbps, Link: "Ethernet", now: map[string]podsock.Settings{}, ports: map[string]int{}}
	c.AddPort(port, vfs...)
	return c
}

// AddPort adds a port with its functions.
func (c *Card) AddPort(port string, vfs ...string) {
	for _, vf := range vfs {
		c.ports[vf] = len(c.names)
		c.now[vf] = podsock.Settings{MaxMbps: new(uint32(0)), ShareMbps: new(uint32(0)), TOS: new(uint8(0))}
	}
	c.names, c.VFs = append(c.names, port), append(c.VFs, vfs...)
}

// Place returns the port of a function, and its index there.
func (c *Card) Place(vf string) (port string, function int) {
	at := c.ports[vf]
	for _, other := range c.VFs[:slices.Index(c.VFs, vf)] {
		if c.ports[other] == at {
			function++
		}
	}
	return c.names[at], function
}

// changed calls Changed with a function's new values. The caller holds the lock.
func (c *Card) changed(vf string) {
	if c.Changed != nil {
		port, function := c.Place(vf)
		c.Changed(port, function, c.now[vf])
	}
}

// Settings returns the values of a function.
func (c *Card) Settings(vf string) podsock.Settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now[vf]
}

// Fail makes every write fail; nil ends that.
func (c *Card) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

// Refresh implements pods.Devices.
func (c *Card) Refresh(context.Context) (int, error) { return len(c.VFs), nil }

// Find implements pods.Devices.
func (c *Card) Find(_ context.Context, q pods.Query) (podsock.Device, error) {
	i := slices.Index(c.VFs, q.ID)
	if i < 0 {
		return podsock.Device{}, podsock.Problemf(podsock.CodeDevice, "device %s: not on this node", q.ID)
	}
	port, function := c.Place(q.ID)
	return podsock.Device{
		ID: q.ID, RDMA: fmt.Sprintf("mlx5_%d", i+2), PF: fmt.Sprintf("0000:3b:00.%d", c.ports[q.ID]), PFNetDev: fmt.Sprintf("eth%d", 2+c.ports[q.ID]), VF: &function, Port: port, Link: c.Link,
	}, nil
}

// Read implements pods.Devices.
func (c *Card) Read(_ context.Context, d podsock.Device) (podsock.Settings, error) {
	return c.Settings(d.ID), nil
}

// Apply implements pods.Devices.
func (c *Card) Apply(_ context.Context, d podsock.Device, l podsock.Levers) (pods.Applied, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return pods.Applied{}, c.fail
	}
	var out pods.Applied
	if c.Link != "Ethernet" { // as package agent/host
		if (l != podsock.Levers{}) {
			out.Missing = "virtual functions have no rates on InfiniBand"
		}
		return out, nil
	}
	now := c.now[d.ID]
	if l.MaxMbps != nil {
		now.MaxMbps, out.Settings.MaxMbps = l.MaxMbps, l.MaxMbps
	}
	if l.ShareOf1000 != nil {
		share := uint32(*l.ShareOf1000) * c.Mbps / 1000
		now.ShareMbps, out.Settings.ShareMbps = &share, &share
	}
	if l.TOS != nil {
		now.TOS, out.Settings.TOS = l.TOS, l.TOS
	}
	c.now[d.ID] = now
	c.changed(d.ID)
	return out, nil
}

// Restore implements pods.Devices.
func (c *Card) Restore(_ context.Context, d podsock.Device, s podsock.Settings) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now[d.ID]
	if s.MaxMbps != nil {
		now.MaxMbps = s.MaxMbps
	}
	if s.ShareMbps != nil {
		now.ShareMbps = s.ShareMbps
	}
	if s.TOS != nil {
		now.TOS = s.TOS
	}
	c.now[d.ID] = now
	c.changed(d.ID)
	return nil
}

// Counters implements pods.Devices.
func (c *Card) Counters(context.Context, podsock.Device) (map[string]uint64, error) { return nil, nil }

// namespaces are the machine's network namespaces.
type namespaces struct{}

func (namespaces) Identify(path string) (string, error) {
	var s syscall.Stat_t
	if err := syscall.Stat(path, &s); err != nil {
		return "", fs.ErrNotExist
	}
	return fmt.Sprintf("%d:%d", s.Dev, s.Ino), nil
}

func (n namespaces) Gone(path, id string) bool {
	now, err := n.Identify(path)
	return err != nil || now != id
}

// Agent is the node's agent: its table of pods, its socket and its connection to the cluster, as fairlane-agent has them.
type Agent struct {
	Table *pods.Table
	stop  context.CancelFunc
	ended sync.WaitGroup
}

// Socket is the socket of the node's agent.
func (n *Node) Socket() string { return n.path("agent", "pods.sock") }

// Spool is the directory in which the plugin keeps what it could not tell the agent.
func (n *Node) Spool() string { return n.path("agent", "spool") }

// Agent starts the node's agent, with the rights that deploy/kubernetes gives it. It ends with the test, or by Stop.
func (n *Node) Agent(t testing.TB, card *Card) *Agent {
	t.Helper()
	if err := os.MkdirAll(n.path("agent"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(n.path("agent.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() }) // after Stop
	log := slog.New(slog.NewTextHandler(out, nil))
	connection, err := cluster.New(cluster.Options{
		Config: n.cluster.As(t, "fairlane-agent", n.Name), Node: n.Name, File: n.path("agent", "bindings.json"), PodResources: cluster.DefaultPodResources, Every: 2 * time.Second, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	table, err := pods.Open(pods.Options{
		Dir: n.path("agent"), Version: "test", BootID: "boot", Bindings: connection, Devices: card, Namespaces: namespaces{}, Now: time.Now, Log: log, Grace: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := podserve.Listen(t.Context(), n.Socket())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	a := &Agent{Table: table, stop: stop}
	server := podserve.New(podserve.Options{Table: table, Allowed: []uint32{0}, Log: log})
	a.ended.Go(func() { table.Run(ctx, time.Second) })
	a.ended.Go(func() { connection.Run(ctx, table) })
	a.ended.Go(func() {
		if err := server.Serve(ctx, l); err != nil {
			log.Error("socket", "error", err.Error())
		}
	})
	t.Cleanup(a.Stop)
	return a
}

// Stop ends the agent. Nothing is released: it stands for a crash as well as for an orderly end.
func (a *Agent) Stop() {
	a.stop()
	a.ended.Wait()
}

// Record waits for the record of a pod's device, and returns it.
func (a *Agent) Record(t testing.TB, namespace, pod string) podsock.Record {
	t.Helper()
	var found podsock.Record
	kubetest.Eventually(t, eventually, func() string {
		for _, r := range a.Table.List(t.Context(), false) {
			if r.Pod.Namespace == namespace && r.Pod.Name == pod {
				found = r
				return ""
			}
		}
		return "no record of pod " + namespace + "/" + pod
	})
	return found
}
