package gnmitree_test

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/openconfig/gnmi/proto/gnmi"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"fairlane/ccconfig/gnmi/gnmitree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mirror is a client's copy of the subscribed tree.
type mirror struct {
	mu     sync.Mutex
	leaves map[string]string
	err    error
}

// follow applies messages until the stream ends.
func (m *mirror) follow(s gnmi.GNMI_SubscribeClient) {
	for {
		r, err := s.Recv()
		if err != nil {
			return
		}
		n := r.GetUpdate()
		m.mu.Lock()
		for _, p := range n.GetDelete() {
			at, err := gnmitree.FromProto(p)
			if _, known := m.leaves[at.String()]; !known || err != nil {
				m.err = fmt.Errorf("%s is deleted, but did not exist: %w", at, err)
			}
			delete(m.leaves, at.String())
		}
		for _, u := range n.GetUpdate() {
			at, err := gnmitree.FromProto(u.GetPath())
			v, err2 := gnmitree.FromTyped(u.GetVal())
			if err != nil || err2 != nil {
				m.err = errors.Join(err, err2)
			}
			if m.leaves[at.String()] == v.String() {
				m.err = fmt.Errorf("%s is %s again", at, v)
			}
			m.leaves[at.String()] = v.String()
		}
		m.mu.Unlock()
	}
}

// step is one change of a tree.
type step struct {
	at     string
	value  uint64
	what   string // "set", "drop", or "quiet": set, reported later by a notice of a path above
	above  int    // elements of the notice
	settle bool
}

func steps() *rapid.Generator[[]step] {
	leaf := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("/a/%s/l[k=%d]/%s", rapid.SampledFrom([]string{"x", "y"}).Draw(t, "container"), rapid.IntRange(1, 3).Draw(t, "entry"), rapid.SampledFrom([]string{"v", "w"}).Draw(t, "leaf"))
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{leaf.Draw(t, "at"), rapid.Uint64Range(0, 3).Draw(t, "value"), rapid.SampledFrom([]string{"set", "set", "drop", "quiet"}).Draw(t, "what"), rapid.IntRange(0, 4).Draw(t, "above"), rapid.Bool().Draw(t, "settle")}
	}), 0, 40)
}

// TestSubscriberStateEqualsTree changes a tree at random, and compares it with the subscriber's state whenever both
// are idle: no value is lost or sent twice, and no unknown leaf is deleted.
func TestSubscriberStateEqualsTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		pattern := rapid.SampledFrom([]string{"/", "/a/x", "/a/*/l[k=1]", "/a/y/l/v", "/.../w", "/a/.../l[k=2]"}).Draw(rt, "pattern")
		all := steps().Draw(rt, "steps")
		mode := rapid.SampledFrom([]gnmi.SubscriptionMode{gnmi.SubscriptionMode_ON_CHANGE, gnmi.SubscriptionMode_TARGET_DEFINED}).Draw(rt, "mode")
		var failed error
		synctest.Test(t, func(t *testing.T) { failed = mirrored(t, pattern, mode, all) })
		if failed != nil {
			rt.Fatal(failed)
		}
	})
}

func mirrored(t *testing.T, pattern string, mode gnmi.SubscriptionMode, all []step) error {
	m := &memory{}
	l := subscribe(t, single(t, m), streaming(to(mode, pattern)))
	got := &mirror{leaves: map[string]string{}}
	var reading sync.WaitGroup
	reading.Go(func() { got.follow(l.stream) })
	defer reading.Wait()
	defer l.cancel()
	check := func() error {
		synctest.Wait()
		got.mu.Lock()
		defer got.mu.Unlock()
		want := map[string]string{}
		for _, l := range m.leaves {
			if path(pattern).Covers(l.Path) {
				want[l.Path.String()] = l.Value.String()
			}
		}
		if got.err != nil || !maps.Equal(got.leaves, want) {
			return fmt.Errorf("the subscriber of %s has %v, %w, want %v", pattern, got.leaves, got.err, want)
		}
		return nil
	}
	for _, s := range all {
		switch s.what {
		case "set":
			m.change(s.at, gnmitree.Uint(s.value))
		case "drop":
			m.drop(path(s.at).First(s.above).String())
		case "quiet":
			m.put(s.at, gnmitree.Uint(s.value), gnmitree.ClassState, false)
			m.Changed(path(s.at).First(s.above))
		}
		if s.settle {
			if err := check(); err != nil {
				return err
			}
		}
	}
	return check()
}
