package pods_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
)

var errDevice = errors.New("invalid argument")

// cards are fake devices: their values by id.
type cards struct {
	mu       sync.Mutex
	values   map[string]podsock.Settings
	refuse   map[string]error // by id, of Apply
	broken   map[string]error // by id, of Restore
	unread   map[string]error // by id, of Read
	crash    string           // device at whose Apply, after the write, the agent is killed
	noRate   map[string]bool  // devices without rates
	applies  int
	restores int
	// killAt is the operation, counted from 1, at which the agent is killed: before or after it took effect; 0: none.
	killAt, operations int
	killAfter          bool
	hold               chan struct{} // Apply waits for it, if set
	entered            chan string
}

func newCards(ids ...string) *cards {
	c := &cards{values: map[string]podsock.Settings{}, refuse: map[string]error{}, broken: map[string]error{}, unread: map[string]error{}, noRate: map[string]bool{}}
	for _, id := range ids {
		c.values[id] = podsock.Settings{MaxMbps: new(uint32(0)), ShareMbps: new(uint32(0)), TOS: new(uint8(0))}
	}
	return c
}

// kill counts an operation, and ends the process before it or, deferred, after it.
func (c *cards) kill() (after func()) {
	c.operations++
	now := c.operations == c.killAt
	if now && !c.killAfter {
		panic(killed{})
	}
	return func() {
		if now {
			panic(killed{})
		}
	}
}

func (c *cards) Refresh(context.Context) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.values), nil
}

func (c *cards) Find(_ context.Context, q pods.Query) (podsock.Device, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.values[q.ID]; !ok {
		return podsock.Device{}, errors.New("no such device")
	}
	return podsock.Device{ID: q.ID, RDMA: "mlx5_" + q.ID[len(q.ID)-1:], PF: "0000:3b:00.0", Port: "0x1:1", Link: "Ethernet"}, nil
}

func (c *cards) Read(_ context.Context, d podsock.Device) (podsock.Settings, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.kill()()
	return c.values[d.ID], c.unread[d.ID]
}

// killed stands for the end of the process.
type killed struct{}

func (c *cards) Apply(_ context.Context, d podsock.Device, l podsock.Levers) (pods.Applied, error) {
	if c.hold != nil {
		c.entered <- d.ID
		<-c.hold
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.kill()()
	c.applies++
	if err := c.refuse[d.ID]; err != nil {
		return pods.Applied{}, err
	}
	var out pods.Applied
	now := c.values[d.ID]
	if l.TOS != nil {
		now.TOS, out.Settings.TOS = l.TOS, l.TOS
	}
	if c.noRate[d.ID] && (l.MaxMbps != nil || l.ShareOf1000 != nil) {
		out.Missing = "rates: not offered"
	} else {
		if l.MaxMbps != nil {
			now.MaxMbps, out.Settings.MaxMbps = l.MaxMbps, l.MaxMbps
		}
		if l.ShareOf1000 != nil {
			share := uint32(*l.ShareOf1000) * 200
			now.ShareMbps, out.Settings.ShareMbps = &share, &share
		}
	}
	c.values[d.ID] = now
	if c.crash == d.ID {
		panic(killed{})
	}
	return out, nil
}

func (c *cards) Restore(_ context.Context, d podsock.Device, s podsock.Settings) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.kill()()
	c.restores++
	now, ok := c.values[d.ID]
	if !ok {
		return pods.ErrGone
	}
	if err := c.broken[d.ID]; err != nil {
		return err
	}
	if s.MaxMbps != nil {
		now.MaxMbps = s.MaxMbps
	}
	if s.ShareMbps != nil {
		now.ShareMbps = s.ShareMbps
	}
	if s.TOS != nil {
		now.TOS = s.TOS
	}
	c.values[d.ID] = now
	return nil
}

func (c *cards) Counters(context.Context, podsock.Device) (map[string]uint64, error) {
	return map[string]uint64{"port_xmit_data": 7}, nil
}

// is fails the test unless a device has these values.
func (c *cards) is(t *testing.T, id string, maxMbps, shareMbps uint32, tos uint8) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.values[id]; *v.MaxMbps != maxMbps || *v.ShareMbps != shareMbps || *v.TOS != tos {
		t.Errorf("%s has max_mbps %d, share_mbps %d, tos %d, want %d, %d, %d", id, *v.MaxMbps, *v.ShareMbps, *v.TOS, maxMbps, shareMbps, tos)
	}
}

func (c *cards) set(id string, maxMbps, shareMbps uint32, tos uint8) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values[id] = podsock.Settings{MaxMbps: &maxMbps, ShareMbps: &shareMbps, TOS: &tos}
}

// spaces are fake network namespaces: identities by path.
type spaces struct {
	mu sync.Mutex
	id map[string]string
}

func (s *spaces) Identify(path string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.id[path]; ok {
		return id, nil
	}
	return "", fs.ErrNotExist
}

func (s *spaces) Gone(path, id string) bool {
	now, err := s.Identify(path)
	return err != nil || now != id
}

func (s *spaces) end(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.id, path)
}

// source is a fake source of bindings.
type source struct {
	mu    sync.Mutex
	bound map[string]pods.Binding
	age   time.Duration
	never bool
}

func (s *source) Binding(namespace string) (pods.Binding, time.Duration, pods.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.never {
		return pods.Binding{}, 0, pods.Unknown
	}
	if b, ok := s.bound[namespace]; ok {
		return b, s.age, pods.Bound
	}
	return pods.Binding{}, s.age, pods.Unbound
}

func (s *source) change(f func(*source)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// rig is a node.
type rig struct {
	t        *testing.T
	dir      string
	cards    *cards
	spaces   *spaces
	bindings *source
	boot     string
	now      time.Time
	table    *pods.Table
}

const (
	vf0, vf1 = "0000:3b:00.1", "0000:3b:00.2"
	sf0      = "mlx5_core.sf.4"
)

// bulk is a class with all levers.
func bulk() pods.Binding {
	return pods.Binding{Name: "gold-bulk", Tenant: "gold", Class: "bulk", Levers: podsock.Levers{MaxMbps: new(uint32(40000)), ShareOf1000: new(uint16(250)), TOS: new(uint8(104))}}
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{
		t: t, dir: t.TempDir(), cards: newCards(vf0, vf1, sf0), boot: "boot-1", now: time.Unix(1_800_000_000, 0),
		spaces: &spaces{id: map[string]string{"/run/netns/a": "1", "/run/netns/b": "2"}}, bindings: &source{bound: map[string]pods.Binding{"team-a": bulk()}},
	}
	r.open()
	return r
}

// open starts the agent, again if it ran before.
func (r *rig) open() {
	r.t.Helper()
	table, err := pods.Open(pods.Options{
		Dir: r.dir, Version: "test", BootID: r.boot, Bindings: r.bindings, Devices: r.cards, Namespaces: r.spaces,
		Now: func() time.Time { return r.now }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.table = table
}

// spool returns the directory of kept requests.
func (r *rig) spool() string { return filepath.Join(r.dir, "spool") }

// attachment returns the request of a container in a network namespace of its name.
func attachment(container, device string) podsock.Attachment {
	return podsock.Attachment{
		Key: podsock.Key{Network: "rdma-net", ContainerID: container, Interface: "net1"}, NetNS: "/run/netns/" + container,
		Pod: podsock.Pod{Namespace: "team-a", Name: "pod-" + container, UID: "uid-" + container}, Device: device,
	}
}

func (r *rig) add(a podsock.Attachment) podsock.Record {
	r.t.Helper()
	record, err := r.table.Add(r.t.Context(), a, podsock.SourceCNI)
	if err != nil {
		r.t.Fatal(err)
	}
	return record
}

// refused fails the test unless an error is a problem of a kind, and returns its text.
func refused(t *testing.T, err error, code podsock.Code) string {
	t.Helper()
	p, ok := errors.AsType[*podsock.Problem](err)
	if !ok || p.Code != code {
		t.Fatalf("error %v, want a problem %q", err, code)
	}
	return p.Detail
}

// one returns the only record.
func (r *rig) one() podsock.Record {
	r.t.Helper()
	all := r.table.List(r.t.Context(), false)
	if len(all) != 1 {
		r.t.Fatalf("%d records, want 1: %+v", len(all), all)
	}
	return all[0]
}

func (r *rig) none() {
	r.t.Helper()
	if all := r.table.List(r.t.Context(), false); len(all) != 0 {
		r.t.Fatalf("%d records, want none: %+v", len(all), all)
	}
}
