package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/agent"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicyang"
)

// hung is a host whose listing of cards blocks until released.
type hung struct {
	*rig
	goOn chan struct{}
}

func (h *hung) NICs(ctx context.Context) ([]agent.NIC, error) {
	if h.goOn != nil {
		<-h.goOn
	}
	return h.rig.NICs(ctx)
}

func TestASetDoesNotWaitForAScanOfTheHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &hung{rig: newRig(t)}
		a := h.agent(t, func(o *agent.Options) { o.Host = h })
		h.goOn = make(chan struct{})
		swept := make(chan error, 1)
		go func() { swept <- a.Sweep(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Set(ctx, []gnmitree.Operation{give("eth-a", key(1, "rpg_ai_rate"), 20)}); err != nil || h.file("rp_ai_rate") != "20" {
			t.Errorf("during a read of the host: %v, %s", err, h.file("rp_ai_rate"))
		}
		close(h.goOn)
		if err := <-swept; err != nil || state(t, a, "eth-a", key(1, "rpg_ai_rate"), "outcome") != "verified" {
			t.Error(err)
		}
	})
}

// TestASetDoesNotWaitForAQueryThatHangs uses a host whose mstconfig hangs, in a sweep of a known card and of a replaced
// one.
func TestASetDoesNotWaitForAQueryThatHangs(t *testing.T) {
	t.Parallel()
	for _, life := range []string{"life-1", "life-2"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			a := r.agent(t, func(o *agent.Options) { o.FreshNV = time.Minute })
			mustSet(t, a, give("eth-a", key(1, "rpg_gd"), 10))
			hangs := make(chan struct{})
			r.do(func() { r.hangs, r.life, r.now = hangs, life, r.now.Add(2*time.Minute) })
			swept := make(chan error, 1)
			go func() { swept <- a.Sweep(t.Context()) }()
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := a.Set(ctx, []gnmitree.Operation{give("eth-a", key(1, "rpg_ai_rate"), 20)}); err != nil || r.file("rp_ai_rate") != "20" {
				t.Errorf("%s: while mstconfig hangs: %v, %s", life, err, r.file("rp_ai_rate"))
			}
			close(hangs)
			if err := <-swept; err != nil {
				t.Error(err)
			}
			for _, name := range []string{"rpg_ai_rate", "rpg_gd"} {
				if got := state(t, a, "eth-a", key(1, name), "outcome"); got != "verified" && got != "unchanged" {
					t.Errorf("%s: outcome of %s is %s", life, name, got)
				}
			}
			if got := state(t, a, "eth-a", key(1, "roce_cc_algorithm"), "problem"); !strings.Contains(got, "took longer") && life == "life-2" {
				t.Errorf("%s: an unread parameter has the problem %q", life, got)
			}
			if got := reapply(t, a, "eth-a", "attempts"); got != "0" {
				t.Errorf("%s: %s attempts of setting again", life, got)
			}
		})
	}
}

// TestSetDoesNotWaitForAQuery lets a subscriber request the non-volatile configuration of a card whose mstconfig
// hangs, and give up, while others wait for their turn.
func TestSetDoesNotWaitForAQuery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.agent(t, func(o *agent.Options) { o.FreshNV = time.Minute })
		hangs := make(chan struct{})
		r.do(func() { r.hangs, r.now = hangs, r.now.Add(2*time.Minute) })
		got := make(chan error, 2)
		for _, wait := range []time.Duration{time.Hour, time.Second} {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				defer cancel()
				_, err := a.Get(ctx, gnmitree.Query{Paths: []gnmitree.Path{nicyang.Port("eth-a", 1)}})
				got <- err
			}()
			synctest.Wait()
		}
		if err := <-got; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request beyond its time limit: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Set(ctx, []gnmitree.Operation{give("eth-a", key(1, "rpg_ai_rate"), 20)}); err != nil || r.file("rp_ai_rate") != "20" {
			t.Errorf("during a query: %v, %s", err, r.file("rp_ai_rate"))
		}
		if _, err := a.Set(ctx, []gnmitree.Operation{give("eth-a", key(1, "rpg_gd"), 10)}); err != nil {
			t.Error(err)
		}
		close(hangs)
		if err := <-got; err != nil {
			t.Errorf("a waiting request: %v", err)
		}
		if p := state(t, a, "eth-a", key(1, "roce_cc_algorithm"), "problem"); !strings.Contains(p, "took longer") {
			t.Errorf("an unread parameter has the problem %q", p)
		}
	})
}

// TestASetDoesNotWaitForAnotherCard uses a card whose driver hangs during a reading.
func TestASetDoesNotWaitForAnotherCard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.agent(t)
		read, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		r.do(func() {
			r.onRead["sys/kernel/debug/mlx5/0000:5e:00.0/cc_params/rp_gd"] = func() ([]byte, error) {
				r.mu.Unlock() // a hanging driver does not block the others
				once.Do(func() { close(read) })
				<-goOn
				r.mu.Lock()
				return []byte("11\n"), nil
			}
		})
		swept := make(chan error, 1)
		go func() { swept <- a.Sweep(t.Context()) }()
		<-read
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Set(ctx, []gnmitree.Operation{give("eth-a", key(1, "rpg_ai_rate"), 20)}); err != nil || r.file("rp_ai_rate") != "20" {
			t.Errorf("while another card is read: %v, %s", err, r.file("rp_ai_rate"))
		}
		close(goOn)
		if err := <-swept; err != nil {
			t.Error(err)
		}
	})
}
