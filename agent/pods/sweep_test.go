package pods_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
)

func TestANamespaceThatIsBoundAgainWhileAPodRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := attachment("a", vf0)
	r.add(a)
	slow := pods.Binding{Name: "silver-slow", Tenant: "silver", Class: "slow", Levers: podsock.Levers{MaxMbps: new(uint32(100))}}
	r.bindings.change(func(s *source) { s.bound["team-a"] = slow })
	if text := refused(t, r.table.Check(t.Context(), a), podsock.CodeDrift); !strings.Contains(text, "bulk of tenant gold") || !strings.Contains(text, "slow of tenant silver") {
		t.Error(text)
	}
	r.table.Sweep(t.Context())
	r.cards.is(t, vf0, 100, 0, 0) // levers that the new class lacks have their earlier values
	if err := r.table.Check(t.Context(), a); err != nil || r.one().Tenant != "silver" {
		t.Error(err, r.one())
	}
	r.bindings.change(func(s *source) { delete(s.bound, "team-a") })
	r.table.Sweep(t.Context())
	r.cards.is(t, vf0, 0, 0, 0)
	if got := r.one(); got.Tenant != "" || got.Class != "" || (got.Applied != podsock.Settings{}) {
		t.Errorf("%+v", got)
	}
}

func TestDriftIsReportedAndAResetIsRepaired(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := attachment("a", vf0)
	r.add(a)
	r.cards.set(vf0, 12345, 50000, 104)
	r.table.Sweep(t.Context())
	got := r.one()
	if !got.Drift || !strings.Contains(got.Reason, "max_mbps 12345") || !strings.Contains(got.Reason, "max_mbps 40000") || r.table.Status().Drifted != 1 {
		t.Errorf("%+v", got)
	}
	r.cards.is(t, vf0, 12345, 50000, 104) // another program set it
	if text := refused(t, r.table.Check(t.Context(), a), podsock.CodeDrift); !strings.Contains(text, "12345") {
		t.Error(text)
	}
	r.cards.set(vf0, 0, 0, 104) // a driver that was loaded again resets rates
	r.table.Sweep(t.Context())
	r.cards.is(t, vf0, 40000, 50000, 104)
	if got := r.one(); got.Drift || got.Reason != "" || r.table.Status().Drifted != 0 {
		t.Errorf("%+v", got)
	}
	r.cards.unread[vf0] = errDevice
	r.table.Sweep(t.Context())
	if s := r.table.Status(); s.Unreadable != 1 || s.Drifted != 0 || r.one().ReadBack.MaxMbps != nil {
		t.Errorf("%+v: what cannot be read has no value", s)
	}
	refused(t, r.table.Check(t.Context(), a), podsock.CodeDevice)
}

func TestCheckFindsMissingRecordsAndOtherDevices(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	refused(t, r.table.Check(t.Context(), attachment("a", vf0)), podsock.CodeUnknown)
	r.add(attachment("a", vf0))
	refused(t, r.table.Check(t.Context(), attachment("a", vf1)), podsock.CodeDrift)
	r.bindings.change(func(s *source) { s.never = true }) // a manager that is away is no drift
	if err := r.table.Check(t.Context(), attachment("a", vf0)); err != nil {
		t.Error(err)
	}
}

func TestCollectionKeepsValidAttachmentsAndOtherNetworks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := attachment("b", vf1)
	other.Network = "other-net"
	setup := func() {
		r.add(attachment("a", vf0))
		r.add(other)
	}
	setup()
	if _, err := r.table.GC(t.Context(), podsock.GC{Network: "rdma-net"}); err == nil {
		t.Error("no list is a valid request")
	}
	if n, err := r.table.GC(t.Context(), podsock.GC{Network: "rdma-net", Valid: []podsock.Valid{{ContainerID: "a", Interface: "net1"}}}); n != 0 || err != nil {
		t.Error(n, err)
	}
	if n, err := r.table.GC(t.Context(), podsock.GC{Network: "rdma-net", Valid: []podsock.Valid{{ContainerID: "a", Interface: "net2"}}}); n != 1 || err != nil {
		t.Error(n, err)
	}
	setup()
	if n, err := r.table.GC(t.Context(), podsock.GC{Network: "rdma-net", Valid: []podsock.Valid{}}); n != 1 || err != nil || r.one().Network != "other-net" {
		t.Error(n, err)
	}
	r.cards.is(t, vf0, 0, 0, 0)
}

func TestADeviceThatCannotBeRestoredIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(attachment("a", vf0))
	r.cards.broken[vf0] = errDevice
	if err := r.table.Delete(t.Context(), attachment("a", vf0).Key); err != nil {
		t.Errorf("DEL fails: %v", err)
	}
	if got := r.one(); !got.Releasing || !strings.Contains(got.Reason, "invalid argument") {
		t.Errorf("%+v", got)
	}
	r.open()
	delete(r.cards.broken, vf0)
	r.table.Sweep(t.Context())
	r.none()
	r.cards.is(t, vf0, 0, 0, 0)

	r.add(attachment("a", vf0))
	delete(r.cards.values, vf0) // the card was removed
	if err := r.table.Delete(t.Context(), attachment("a", vf0).Key); err != nil {
		t.Error(err)
	}
	r.none()
}

func TestRecordsOfEndedPodsAreReleasedAfterTheGraceTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(attachment("a", vf0))
	unknown := attachment("c", vf1) // its network namespace is not visible to the agent
	r.add(unknown)
	r.spaces.end("/run/netns/a")
	for range 3 {
		r.table.Sweep(t.Context())
	}
	if n := len(r.table.List(t.Context(), false)); n != 2 {
		t.Errorf("%d records within the grace time", n)
	}
	r.now = r.now.Add(pods.DefaultGrace)
	r.table.Sweep(t.Context())
	if got := r.one(); got.ContainerID != "c" {
		t.Errorf("%+v", got)
	}
	r.cards.is(t, vf0, 0, 0, 0)
}

func TestKeptRequestsAreExecutedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(attachment("a", vf0))
	if err := podsock.SpoolRelease(r.spool(), attachment("a", vf0).Key, r.now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	started := attachment("b", vf1)
	started.FailPolicy = podsock.Open
	if err := podsock.SpoolAttach(r.spool(), &started, r.now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	ended := attachment("z", sf0)
	if err := podsock.SpoolAttach(r.spool(), &ended, r.now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.spool(), "junk.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.now = r.now.Add(2 * time.Second)
	r.open()
	r.table.Sweep(t.Context())
	if got := r.one(); got.ContainerID != "b" || got.Class != "bulk" {
		t.Errorf("%+v", got)
	}
	r.cards.is(t, vf0, 0, 0, 0)
	r.cards.is(t, vf1, 40000, 50000, 104)
	if left, err := filepath.Glob(filepath.Join(r.spool(), "*.json")); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
	// A release that a later ADD of the same attachment overtook does nothing.
	if err := podsock.SpoolRelease(r.spool(), started.Key, r.now.Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	r.table.Sweep(t.Context())
	r.one()
	// A request that cannot be executed stays.
	r.bindings.change(func(s *source) { s.never = true })
	closed := attachment("a", vf0)
	if err := podsock.SpoolAttach(r.spool(), &closed, r.now); err != nil {
		t.Fatal(err)
	}
	r.table.Sweep(t.Context())
	if left, err := filepath.Glob(filepath.Join(r.spool(), "*.json")); err != nil || len(left) != 1 {
		t.Error(left, err)
	}
}

// Each change makes the agent read all claims of the node's pods.
func TestASweepThatFindsNothingNewIsNoChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	changed := func() bool {
		select {
		case <-r.table.Changed():
			return true
		default:
			return false
		}
	}
	r.add(attachment("a", vf0))
	if !changed() {
		t.Error("a new record is no change")
	}
	r.now = r.now.Add(time.Minute)
	r.table.Sweep(t.Context())
	if checked := r.one().Checked; changed() || !checked.Equal(r.now) {
		t.Errorf("a change at %s, checked at %s", r.now, checked)
	}
	r.cards.set(vf0, 12345, 50000, 104)
	r.table.Sweep(t.Context())
	if !changed() {
		t.Error("drift is no change")
	}
}

type notifier struct {
	*source
	changed chan struct{}
}

func (n notifier) Changed() <-chan struct{} { return n.changed }

func TestRunSweepsWhenBindingsChange(t *testing.T) {
	r := newRig(t)
	synctest.Test(t, func(t *testing.T) {
		n := notifier{r.bindings, make(chan struct{}, 1)}
		table, err := pods.Open(pods.Options{Dir: r.dir, BootID: "x", Bindings: n, Devices: r.cards, Namespaces: r.spaces, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { table.Run(ctx, time.Hour); close(done) }()
		synctest.Wait()
		if s := table.Status(); !s.Loaded || s.Devices != 3 {
			t.Errorf("%+v", s)
		}
		if _, err := table.Add(ctx, attachment("a", vf0), podsock.SourceCNI); err != nil {
			t.Fatal(err)
		}
		r.bindings.change(func(s *source) { delete(s.bound, "team-a") })
		n.changed <- struct{}{}
		synctest.Wait()
		if got := table.List(ctx, true); len(got) != 1 || got[0].Class != "" || got[0].Counters["port_xmit_data"] != 7 {
			t.Errorf("%+v", got)
		}
		cancel()
		<-done
	})
}
