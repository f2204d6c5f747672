package gnmid_test

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

	"fairlane/internal/gnmid"
	"fairlane/internal/testkit/grpctest"
)

// memory is a tree in memory: config leaves can be set, everything else is put by the test.
type memory struct {
	gnmid.Watchers
	info gnmid.Info

	mu     sync.Mutex
	leaves []gnmid.Leaf
	fail   error // of Get and Set
	gets   int
}

// port is a tree with a NIC of two ports as the agent's looks.
func port() *memory {
	m := &memory{info: gnmid.Info{
		Models: []gnmid.Model{{Name: "fairlane-nic", Organization: "Fairlane", Version: "1.0.0"}}, Module: "fairlane-nic",
	}}
	for _, n := range []string{"1", "2"} {
		at := "/nics/nic[name=a]/ports/port[number=" + n + "]"
		m.put(at+"/state/mac", gnmid.String("02:00:00:00:00:0"+n), gnmid.ClassState, false)
		m.put(at+"/state/speed-mbps", gnmid.Uint(400000), gnmid.ClassOperational, false)
		m.put(at+"/params/param[name=rpg_ai_rate][index=0]/config/value", gnmid.Uint(5), gnmid.ClassConfig, false)
		m.put(at+"/params/param[name=rpg_ai_rate][index=0]/state/value", gnmid.Uint(5), gnmid.ClassState, false)
		m.put(at+"/counters/counter[name=np_cnp_sent]/state/value", gnmid.Uint(0), gnmid.ClassOperational, true)
	}
	return m
}

func path(text string) gnmid.Path {
	p, err := gnmid.ParsePath(text)
	if err != nil {
		panic(err)
	}
	return p
}

// put sets a leaf without notice.
func (m *memory) put(at string, v gnmid.Value, class gnmid.Class, sampled bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(gnmid.Leaf{Path: path(at), Value: v, Class: class, Sampled: sampled})
}

func (m *memory) set(l gnmid.Leaf) {
	i := slices.IndexFunc(m.leaves, func(o gnmid.Leaf) bool {
		return slices.EqualFunc(o.Path.Elems, l.Path.Elems, func(a, b gnmid.Elem) bool { return a.Name == b.Name && slices.Equal(a.Keys, b.Keys) })
	})
	if i >= 0 {
		m.leaves[i].Value, m.leaves[i].Time = l.Value, l.Time
		return
	}
	m.leaves = append(m.leaves, l)
}

// change sets a leaf and says so.
func (m *memory) change(at string, v gnmid.Value) {
	m.put(at, v, gnmid.ClassState, false)
	m.Changed(path(at))
}

// drop deletes what is at or below a path and says so.
func (m *memory) drop(at string) {
	m.mu.Lock()
	m.leaves = slices.DeleteFunc(m.leaves, func(l gnmid.Leaf) bool { return path(at).Covers(l.Path) })
	m.mu.Unlock()
	m.Changed(path(at))
}

func (m *memory) broken(err error) {
	m.mu.Lock()
	m.fail = err
	m.mu.Unlock()
	m.Changed()
}

func (m *memory) Info() gnmid.Info { return m.info }

func (m *memory) Get(_ context.Context, q gnmid.Query) ([][]gnmid.Leaf, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gets++
	out := make([][]gnmid.Leaf, len(q.Paths))
	for i, p := range q.Paths {
		for _, l := range m.leaves {
			if p.Covers(l.Path) {
				out[i] = append(out[i], l)
			}
		}
	}
	return out, m.fail
}

func (m *memory) keys(list gnmid.Path) []string {
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

func (m *memory) Set(_ context.Context, ops []gnmid.Operation) (gnmid.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return gnmid.Result{}, m.fail
	}
	was := slices.Clone(m.leaves)
	var paths []gnmid.Path
	for _, o := range ops {
		if o.Op != gnmid.OpUpdate {
			m.leaves = slices.DeleteFunc(m.leaves, func(l gnmid.Leaf) bool { return o.Path.Covers(l.Path) && l.Class == gnmid.ClassConfig })
		}
		paths = append(paths, o.Path)
		if o.Op == gnmid.OpDelete {
			continue
		}
		leaves, err := gnmid.Flatten(o.Path, o.Value, gnmid.Schema{Keys: m.keys, Modules: []string{"fairlane-nic"}})
		for _, l := range leaves {
			if !slices.ContainsFunc(l.Path.Elems, func(e gnmid.Elem) bool { return e.Name == "config" }) {
				if l.Path.Last() == "name" || l.Path.Last() == "index" || l.Path.Last() == "number" {
					continue
				}
				err = gnmid.Errorf(codes.PermissionDenied, "path %s: read only", l.Path)
				break
			}
			if _, err = l.Value.AsUint(); err != nil {
				err = gnmid.Errorf(codes.InvalidArgument, "path %s: %v", l.Path, err)
				break
			}
			l.Class = gnmid.ClassConfig
			m.set(l)
		}
		if err != nil {
			m.leaves = was
			if status.Code(err) == codes.Unknown {
				err = gnmid.Errorf(codes.InvalidArgument, "%v", err)
			}
			return gnmid.Result{}, err
		}
	}
	if len(paths) > 0 {
		m.Changed(paths...)
	}
	return gnmid.Result{}, nil
}

// serve answers for targets in memory, and returns a client of it. Both end with the test.
func serve(t testing.TB, o gnmid.Options, opts ...grpc.ServerOption) (gnmi.GNMIClient, *gnmid.Server) {
	t.Helper()
	s, err := gnmid.NewServer(o)
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
	c, _ := serve(t, gnmid.Options{Targets: gnmid.Single(m, "a")})
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

// text is a notification on lines: path = value, or - path.
func text(t *testing.T, n *gnmi.Notification) (lines []string) {
	t.Helper()
	show := func(p *gnmi.Path) string {
		q, err := gnmid.FromProto(n.GetPrefix())
		if err != nil {
			t.Fatal(err)
		}
		r, err := gnmid.FromProto(p)
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
			f, err := gnmid.FromTyped(u.GetVal())
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
