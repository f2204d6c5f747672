package gnmitree_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/internal/testkit/grpctest"
)

// memory is a tree in memory: config leaves can be set, everything else is put by the test.
type memory struct {
	gnmitree.Watchers
	info gnmitree.Info

	mu     sync.Mutex
	leaves []gnmitree.Leaf
	fail   error // of Get and Set
	gets   int
}

// port returns a tree with a NIC of two ports, in the form of the agent's tree.
func port() *memory {
	m := &memory{info: gnmitree.Info{
		Models: []gnmitree.Model{{Name: "fairlane-nic", Organization: "Fairlane", Version: "1.0.0"}}, Module: "fairlane-nic",
	}}
	for _, n := range []string{"1", "2"} {
		at := "/nics/nic[name=a]/ports/port[number=" + n + "]"
		m.put(at+"/state/mac", gnmitree.String("02:00:00:00:00:0"+n), gnmitree.ClassState, false)
		m.put(at+"/state/speed-mbps", gnmitree.Uint(400000), gnmitree.ClassOperational, false)
		m.put(at+"/params/param[name=rpg_ai_rate][index=0]/config/value", gnmitree.Uint(5), gnmitree.ClassConfig, false)
		m.put(at+"/params/param[name=rpg_ai_rate][index=0]/state/value", gnmitree.Uint(5), gnmitree.ClassState, false)
		m.put(at+"/counters/counter[name=np_cnp_sent]/state/value", gnmitree.Uint(0), gnmitree.ClassOperational, true)
	}
	return m
}

func path(text string) gnmitree.Path {
	p, err := gnmitree.ParsePath(text)
	if err != nil {
		panic(err)
	}
	return p
}

// put sets a leaf without notice.
func (m *memory) put(at string, v gnmitree.Value, class gnmitree.Class, sampled bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(gnmitree.Leaf{Path: path(at), Value: v, Class: class, Sampled: sampled})
}

func (m *memory) set(l gnmitree.Leaf) {
	i := slices.IndexFunc(m.leaves, func(o gnmitree.Leaf) bool {
		return slices.EqualFunc(o.Path.Elems, l.Path.Elems, func(a, b gnmitree.Elem) bool { return a.Name == b.Name && slices.Equal(a.Keys, b.Keys) })
	})
	if i >= 0 {
		m.leaves[i].Value, m.leaves[i].Time = l.Value, l.Time
		return
	}
	m.leaves = append(m.leaves, l)
}

// change sets a leaf and notifies the watchers.
func (m *memory) change(at string, v gnmitree.Value) {
	m.put(at, v, gnmitree.ClassState, false)
	m.Changed(path(at))
}

// drop deletes the nodes at or below a path and notifies the watchers.
func (m *memory) drop(at string) {
	m.mu.Lock()
	m.leaves = slices.DeleteFunc(m.leaves, func(l gnmitree.Leaf) bool { return path(at).Covers(l.Path) })
	m.mu.Unlock()
	m.Changed(path(at))
}

func (m *memory) broken(err error) {
	m.mu.Lock()
	m.fail = err
	m.mu.Unlock()
	m.Changed()
}

func (m *memory) Info() gnmitree.Info { return m.info }

func (m *memory) Get(_ context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gets++
	out := make([][]gnmitree.Leaf, len(q.Paths))
	for i, p := range q.Paths {
		for _, l := range m.leaves {
			if p.Covers(l.Path) {
				out[i] = append(out[i], l)
			}
		}
	}
	return out, m.fail
}

func (m *memory) keys(list gnmitree.Path) []string {
	switch list.Last() {
	case "nic", "counter":
		return []string{"name"}
	case "port":
		return []string{"number"}
	case "param":
		return []string{"name", "index"}
	}
	return nil
}

func (m *memory) Set(_ context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return gnmitree.Result{}, m.fail
	}
	was := slices.Clone(m.leaves)
	var paths []gnmitree.Path
	for _, o := range ops {
		if o.Op != gnmitree.OpUpdate {
			m.leaves = slices.DeleteFunc(m.leaves, func(l gnmitree.Leaf) bool { return o.Path.Covers(l.Path) && l.Class == gnmitree.ClassConfig })
		}
		paths = append(paths, o.Path)
		if o.Op == gnmitree.OpDelete {
			continue
		}
		leaves, err := gnmitree.Flatten(o.Path, o.Value, gnmitree.Schema{Keys: m.keys, Modules: []string{"fairlane-nic"}})
		for _, l := range leaves {
			if !slices.ContainsFunc(l.Path.Elems, func(e gnmitree.Elem) bool { return e.Name == "config" }) {
				if l.Path.Last() == "name" || l.Path.Last() == "index" || l.Path.Last() == "number" {
					continue
				}
				err = gnmitree.Errorf(codes.PermissionDenied, "path %s: read only", l.Path)
				break
			}
			if _, err = l.Value.AsUint(); err != nil {
				err = gnmitree.Errorf(codes.InvalidArgument, "path %s: %v", l.Path, err)
				break
			}
			l.Class = gnmitree.ClassConfig
			m.set(l)
		}
		if err != nil {
			m.leaves = was
			if status.Code(err) == codes.Unknown {
				err = gnmitree.Errorf(codes.InvalidArgument, "%v", err)
			}
			return gnmitree.Result{}, err
		}
	}
	if len(paths) > 0 {
		m.Changed(paths...)
	}
	return gnmitree.Result{}, nil
}

// serve runs a server for targets in memory, and returns it with a client. Both end with the test.
func serve(t testing.TB, o gnmitree.Options, opts ...grpc.ServerOption) (gnmi.GNMIClient, *gnmitree.Server) {
	t.Helper()
	s, err := gnmitree.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	l := bufconn.Listen(64 << 10)
	grpctest.ServeOn(t, l, func(ctx context.Context, l net.Listener) error { return s.Serve(ctx, l, opts...) })
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }
	return gnmi.NewGNMIClient(grpctest.Connect(t, dial)), s
}

func single(t testing.TB, m *memory) gnmi.GNMIClient {
	t.Helper()
	c, _ := serve(t, gnmitree.Options{Targets: gnmitree.Single(m, "a")})
	return c
}

func wire(text string) *gnmi.Path { return path(text).Proto() }

// refused checks an error's code and words.
func refused(t *testing.T, what string, err error, code codes.Code, words ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %v, want a word of %q", what, err, w)
		}
	}
}

// text returns a notification as lines: path = value, or - path.
func text(t *testing.T, n *gnmi.Notification) (lines []string) {
	t.Helper()
	show := func(p *gnmi.Path) string {
		q, err := gnmitree.FromProto(n.GetPrefix())
		if err != nil {
			t.Fatal(err)
		}
		r, err := gnmitree.FromProto(p)
		if err != nil {
			t.Fatal(err)
		}
		return q.Join(r).String()
	}
	for _, p := range n.GetDelete() {
		lines = append(lines, "- "+show(p))
	}
	for _, u := range n.GetUpdate() {
		v := string(u.GetVal().GetJsonIetfVal()) + string(u.GetVal().GetJsonVal())
		if v == "" {
			f, err := gnmitree.FromTyped(u.GetVal())
			if err != nil {
				t.Fatal(err)
			}
			v = f.String()
		}
		lines = append(lines, show(u.GetPath())+" = "+v)
	}
	return lines
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func short(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
