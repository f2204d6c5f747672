package pods_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAPodGetsTheClassOfItsNamespaceAndLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cards.set(vf0, 5, 6, 7)
	record := r.add(attachment("a", vf0))
	r.cards.is(t, vf0, 40000, 50000, 104)
	if record.Tenant != "gold" || record.Class != "bulk" || record.Pending || record.Found.RDMA != "mlx5_1" || *record.ReadBack.ShareMbps != 50000 || *record.Before.MaxMbps != 5 {
		t.Errorf("%+v", record)
	}
	if err := r.table.Check(t.Context(), attachment("a", vf0)); err != nil {
		t.Error(err)
	}
	for range 3 { // as container runtimes do
		if err := r.table.Delete(t.Context(), attachment("a", vf0).Key); err != nil {
			t.Error(err)
		}
	}
	r.cards.is(t, vf0, 5, 6, 7)
	r.none()
	if files, err := os.ReadDir(filepath.Join(r.dir, "records")); err != nil || len(files) != 0 {
		t.Errorf("the journal holds %v, %v", files, err)
	}
}

func TestARepeatedAddAppliesAgainAndKeepsTheEarlierValues(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 3 {
		r.add(attachment("a", vf0))
	}
	if r.cards.applies != 3 || *r.one().Before.MaxMbps != 0 {
		t.Errorf("%d applies, before %+v", r.cards.applies, r.one().Before)
	}
	// The same attachment with another device releases the first.
	r.add(attachment("a", vf1))
	r.cards.is(t, vf0, 0, 0, 0)
	r.cards.is(t, vf1, 40000, 50000, 104)
	if got := r.one().Device; got != vf1 {
		t.Error(got)
	}
}

func TestUnboundNamespacesAndNetworksWithoutDevices(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := attachment("a", vf0)
	a.Pod.Namespace = "team-b"
	if record := r.add(a); record.Tenant != "" || record.Pending || r.cards.applies != 0 || record.Found.RDMA == "" {
		t.Errorf("unbound: %+v", record)
	}
	lost := attachment("c", "0000:99:00.1")
	lost.Pod.Namespace = "team-b"
	if record := r.add(lost); record.Pending || !strings.Contains(record.Missing, "no such device") {
		t.Errorf("unbound, unknown device: %+v", record)
	}
	b := attachment("b", "")
	if record := r.add(b); record.Class != "bulk" || record.Pending || !strings.Contains(record.Missing, "no device") {
		t.Errorf("no device: %+v", record)
	}
	if err := r.table.Check(t.Context(), b); err != nil {
		t.Error(err)
	}
}

func TestTwoInterfacesOfAPodAndAnAuxiliaryDevice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cards.noRate[sf0] = true
	first, second := attachment("a", vf0), attachment("a", sf0)
	second.Interface = "net2"
	r.add(first)
	if record := r.add(second); record.Missing != "rates: not offered" || record.Pending || *record.Applied.TOS != 104 || record.Applied.MaxMbps != nil {
		t.Errorf("%+v", record)
	}
	r.cards.is(t, sf0, 0, 0, 104)
	if err := r.table.Delete(t.Context(), first.Key); err != nil {
		t.Fatal(err)
	}
	r.cards.is(t, vf0, 0, 0, 0)
	if got := r.one().Interface; got != "net2" {
		t.Error(got)
	}
}

func TestADeviceIsTakenOverOnlyFromAnEndedPod(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cards.set(vf0, 5, 6, 7)
	r.add(attachment("a", vf0))
	_, err := r.table.Add(t.Context(), attachment("b", vf0), podsock.SourceCNI)
	if text := refused(t, err, podsock.CodeTryAgain); !strings.Contains(text, "team-a/pod-a") {
		t.Error(text)
	}
	r.spaces.end("/run/netns/a")
	// A class that cannot be applied leaves the ended pod's record, which has the earlier values.
	r.cards.refuse[vf0] = errDevice
	_, err = r.table.Add(t.Context(), attachment("b", vf0), podsock.SourceCNI)
	refused(t, err, podsock.CodeDevice)
	delete(r.cards.refuse, vf0)
	r.add(attachment("b", vf0))
	if got := r.one(); got.ContainerID != "b" || *got.Before.MaxMbps != 5 {
		t.Errorf("%+v", got)
	}
	if err := r.table.Delete(t.Context(), attachment("b", vf0).Key); err != nil {
		t.Fatal(err)
	}
	r.cards.is(t, vf0, 5, 6, 7)
}

// A path of another network namespace than before is not the one of the earlier pod.
func TestAReusedPathIsAnEndedNamespace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(attachment("a", vf0))
	r.spaces.mu.Lock()
	r.spaces.id["/run/netns/a"] = "3"
	r.spaces.mu.Unlock()
	r.add(attachment("b", vf0))
	if got := r.one().ContainerID; got != "b" {
		t.Error(got)
	}
}

// A pod with a claim whose driver runs a CNI chain has one record: that of CNI.
func TestAClaimAndCNIOfTheSamePodShareARecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	claim := attachment("a", vf0)
	claim.Network, claim.ContainerID, claim.NetNS = "claim", "uid-a", ""
	if _, err := r.table.Add(t.Context(), claim, podsock.SourceClaim); err != nil {
		t.Fatal(err)
	}
	r.add(attachment("a", vf0))
	if got := r.one(); got.Source != podsock.SourceCNI || *got.Before.MaxMbps != 0 {
		t.Errorf("%+v", got)
	}
	if record, err := r.table.Add(t.Context(), claim, podsock.SourceClaim); err != nil || record.Source != podsock.SourceCNI {
		t.Errorf("%+v, %v", record, err)
	}
	r.one()
	if n, err := r.table.Reconcile(t.Context(), podsock.SourceClaim, func(*podsock.Record) bool { return false }); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// The fail policy: what happens to a pod when its binding is known, known to be old, or unknown.
func TestFailPolicyOfBindings(t *testing.T) {
	t.Parallel()
	const old, older = 23 * time.Hour, 25 * time.Hour
	for _, c := range []struct {
		name      string
		never     bool
		age       time.Duration
		namespace string
		network   podsock.FailPolicy
		binding   podsock.FailPolicy
		cachedFor time.Duration
		want      string // "class", "none", "pending" or "again"
	}{
		{"bound", false, 0, "team-a", "", "", 0, "class"},
		{"bound, cached", false, old, "team-a", "", "", 0, "class"},
		{"bound, cached, closed network", false, old, "team-a", podsock.Closed, "", 0, "class"},
		{"bound, cached, open network", false, old, "team-a", podsock.Open, "", 0, "class"},
		{"bound, too old", false, older, "team-a", "", "", 0, "again"},
		{"bound, older than its own limit", false, time.Hour, "team-a", "", "", time.Minute, "again"},
		{"bound, within its own limit", false, older, "team-a", "", "", 48 * time.Hour, "class"},
		{"bound, too old, open binding", false, older, "team-a", "", podsock.Open, 0, "pending"},
		{"bound, too old, open network", false, older, "team-a", podsock.Open, podsock.Closed, 0, "pending"},
		{"bound, too old, closed network wins", false, older, "team-a", podsock.Closed, podsock.Open, 0, "again"},
		{"unbound", false, 0, "team-b", "", "", 0, "none"},
		{"unbound, closed network", false, 0, "team-b", podsock.Closed, "", 0, "none"},
		{"unbound, too old", false, older, "team-b", "", "", 0, "none"},
		{"unbound, too old, closed network", false, older, "team-b", podsock.Closed, "", 0, "again"},
		{"unknown", true, 0, "team-a", "", "", 0, "again"},
		{"unknown, open network", true, 0, "team-a", podsock.Open, "", 0, "pending"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			b := bulk()
			b.FailPolicy, b.CachedFor = c.binding, c.cachedFor
			r.bindings.change(func(s *source) { s.bound["team-a"], s.age, s.never = b, c.age, c.never })
			a := attachment("a", vf0)
			a.Pod.Namespace, a.FailPolicy = c.namespace, c.network
			record, err := r.table.Add(t.Context(), a, podsock.SourceCNI)
			got := "class"
			switch {
			case err != nil:
				refused(t, err, podsock.CodeTryAgain)
				got = "again"
			case record.Pending:
				got = "pending"
			case record.Class == "":
				got = "none"
			}
			if got != c.want {
				t.Fatalf("got %q, %+v, %v, want %q", got, record, err, c.want)
			}
			if applied := r.cards.applies > 0; applied != (c.want == "class") {
				t.Errorf("%d applies", r.cards.applies)
			}
			if c.want != "pending" {
				return
			}
			// The agent applies the class once it knows it.
			r.bindings.change(func(s *source) { s.age, s.never = 0, false })
			r.table.Sweep(t.Context())
			if got := r.one(); got.Pending || got.Class != "bulk" {
				t.Errorf("after the bindings came back: %+v", got)
			}
		})
	}
}

func TestFailPolicyOfDevices(t *testing.T) {
	t.Parallel()
	for _, policy := range []podsock.FailPolicy{"", podsock.Closed, podsock.Open} {
		r := newRig(t)
		r.cards.refuse[vf0] = errDevice
		a := attachment("a", vf0)
		a.FailPolicy = policy
		record, err := r.table.Add(t.Context(), a, podsock.SourceCNI)
		if policy != podsock.Open {
			if text := refused(t, err, podsock.CodeDevice); !strings.Contains(text, "invalid argument") || !errors.Is(err, errDevice) {
				t.Error(text)
			}
			r.none()
			continue
		}
		if err != nil || !record.Pending || !strings.Contains(record.Reason, "invalid argument") {
			t.Fatalf("%+v, %v", record, err)
		}
		if err := r.table.Check(t.Context(), a); err == nil {
			t.Error("CHECK of a pod without its class succeeds")
		}
		delete(r.cards.refuse, vf0)
		r.table.Sweep(t.Context())
		r.cards.is(t, vf0, 40000, 50000, 104)
		if err := r.table.Check(t.Context(), a); err != nil || r.one().Reason != "" {
			t.Error(err, r.one().Reason)
		}
	}
}

func TestAnUnknownDevice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.table.Add(t.Context(), attachment("a", "0000:99:00.1"), podsock.SourceCNI)
	refused(t, err, podsock.CodeDevice)
	r.none()
	for _, bad := range []string{"../../etc", "0000:3b:00.1/../..", "mlx5_core.sf.4/..", "mlx5 core.sf.1", "0000:3B:00.1"} {
		_, err := r.table.Add(t.Context(), attachment("a", bad), podsock.SourceCNI)
		refused(t, err, podsock.CodeInvalid)
	}
}

// The agent is killed between the write to the device and the record: the pod did not start, so the device is restored.
func TestAKillBetweenApplyAndRecordLeavesTheDeviceAsBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cards.set(vf0, 5, 6, 7)
	r.cards.crash = vf0
	func() {
		defer func() {
			if _, ok := recover().(killed); !ok {
				t.Fatal("the agent was not killed")
			}
		}()
		_, _ = r.table.Add(t.Context(), attachment("a", vf0), podsock.SourceCNI)
	}()
	r.cards.crash = ""
	r.cards.is(t, vf0, 40000, 50000, 104)
	r.open()
	r.table.Sweep(t.Context())
	r.cards.is(t, vf0, 5, 6, 7)
	r.none()
	// The runtime repeats the ADD, which finds the earlier values again.
	if record := r.add(attachment("a", vf0)); *record.Before.MaxMbps != 5 {
		t.Errorf("%+v", record)
	}
	// A kill in a repeated ADD does not end the pod, which runs.
	r.cards.crash = vf0
	func() {
		defer func() { _ = recover() }()
		_, _ = r.table.Add(t.Context(), attachment("a", vf0), podsock.SourceCNI)
	}()
	r.cards.crash = ""
	r.open()
	r.table.Sweep(t.Context())
	if got := r.one(); got.Pending || *got.Before.MaxMbps != 5 {
		t.Errorf("%+v", got)
	}
}

// The agent is killed before or after each operation on a device in the life of a pod: its start, another class, a repeated
// start, its end. After a restart and a sweep, the device has the class of its record or, without a record, its own values.
func TestAKillAtAnyOperationLeavesTheDeviceAndItsRecordInAgreement(t *testing.T) {
	t.Parallel()
	slow := pods.Binding{Name: "slow", Tenant: "silver", Class: "slow", Levers: podsock.Levers{MaxMbps: new(uint32(100))}}
	kills := 0
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			r := newRig(t)
			r.cards.set(vf0, 5, 6, 7)
			r.cards.killAt, r.cards.killAfter = at, after
			ended := func() (done bool) {
				defer func() {
					if _, ok := recover().(killed); ok {
						done = false
					}
				}()
				_, _ = r.table.Add(t.Context(), attachment("a", vf0), podsock.SourceCNI)
				r.bindings.change(func(s *source) { s.bound["team-a"] = slow })
				r.table.Sweep(t.Context())
				_, _ = r.table.Add(t.Context(), attachment("a", vf0), podsock.SourceCNI)
				_ = r.table.Delete(t.Context(), attachment("a", vf0).Key)
				return true
			}()
			if ended {
				break
			}
			kills++
			r.cards.killAt = 0
			r.open()
			r.table.Sweep(t.Context())
			class, _, _ := r.bindings.Binding("team-a")
			if all := r.table.List(t.Context(), false); len(all) == 0 {
				r.cards.is(t, vf0, 5, 6, 7)
			} else if all[0].Pending || all[0].Class != class.Class {
				t.Errorf("killed at %d, after %v: %+v", at, after, all[0])
			} else if class.Class == "slow" {
				r.cards.is(t, vf0, 100, 6, 7)
			} else {
				r.cards.is(t, vf0, 40000, 50000, 104)
			}
			if err := r.table.Delete(t.Context(), attachment("a", vf0).Key); err != nil {
				t.Error(err)
			}
			r.none()
			r.cards.is(t, vf0, 5, 6, 7)
		}
	}
	if kills < 16 {
		t.Errorf("%d kills: the test is no test", kills)
	}
}

func TestRecordsSurviveARestartAndNotAReboot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(attachment("a", vf0))
	before := r.one()
	r.open()
	if d := cmp.Diff(before, r.one()); d != "" {
		t.Errorf("after a restart:\n%s", d)
	}
	r.boot = "boot-2"
	r.cards.set(vf0, 0, 0, 0)
	r.open()
	r.none()
	if r.cards.restores != 0 {
		t.Errorf("%d restores of a device that a reboot reset", r.cards.restores)
	}
}

func TestADamagedRecordIsSetAside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(attachment("a", vf0))
	r.add(attachment("b", vf1))
	files, err := filepath.Glob(filepath.Join(r.dir, "records", "*.json"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte(`{"version":1,"entry":{"network":"x"`), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, torn := range []string{"records/.fairlane-new-1", ".fairlane-new-2", "spool/.fairlane-new-3"} {
		path := filepath.Join(r.dir, torn)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("torn"), 0o600), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	r.open()
	r.one()
	left, err := filepath.Glob(filepath.Join(r.dir, "records", "*"))
	if err != nil || len(left) != 2 || !strings.Contains(left[0]+left[1], ".damaged") {
		t.Error(left, err)
	}
	for _, dir := range []string{".", "records", "spool"} {
		if torn, err := filepath.Glob(filepath.Join(r.dir, dir, ".fairlane-new-*")); err != nil || len(torn) != 0 {
			t.Error(torn, err)
		}
	}
}

// Two pods in flight on one physical function do not wait for each other; two calls for one device do.
func TestASlowDeviceDelaysItsOwnCallsOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cards.hold, r.cards.entered = make(chan struct{}), make(chan string, 4)
	var group sync.WaitGroup
	for i, device := range []string{vf0, vf1} {
		group.Go(func() { _, _ = r.table.Add(t.Context(), attachment(string(rune('a'+i)), device), podsock.SourceCNI) })
	}
	if first, second := <-r.cards.entered, <-r.cards.entered; first == second {
		t.Errorf("%s twice", first)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	refused(t, r.table.Delete(ctx, attachment("a", vf0).Key), podsock.CodeTryAgain)
	close(r.cards.hold)
	group.Wait()
	r.table.Sweep(t.Context()) // divides the share, which a call does only with devices whose calls have ended
	r.cards.is(t, vf0, 40000, 25000, 104)
	r.cards.is(t, vf1, 40000, 25000, 104)
}

// Concurrent calls of every kind end with a table that agrees with the devices.
func TestConcurrentCallsAgreeWithTheDevices(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 25 {
				a := attachment(string(rune('a'+worker%2)), []string{vf0, vf1}[i%2])
				a.Interface = fmt.Sprintf("net%d", worker)
				_, _ = r.table.Add(t.Context(), a, podsock.SourceCNI)
				if i%3 == 0 {
					r.table.Sweep(t.Context())
				}
				_ = r.table.Delete(t.Context(), a.Key)
			}
		})
	}
	group.Wait()
	r.none()
	r.cards.is(t, vf0, 0, 0, 0)
	r.cards.is(t, vf1, 0, 0, 0)
}

var _ pods.Devices = (*cards)(nil)

func TestDevicesOfAClassDivideItsShareOfThePort(t *testing.T) {
	r := newRig(t)
	r.add(attachment("c1", vf0))
	r.add(attachment("c2", vf1))
	ctx := t.Context()
	r.table.Sweep(ctx) // the first device gives up its part
	r.cards.is(t, vf0, 40000, 25000, 104)
	r.cards.is(t, vf1, 40000, 25000, 104)
	applies := r.cards.applies
	r.table.Sweep(ctx)
	if r.cards.applies != applies {
		t.Errorf("a sweep of a divided share wrote %d times, want none", r.cards.applies-applies)
	}
	if err := r.table.Delete(ctx, attachment("c2", vf1).Key); err != nil {
		t.Fatal(err)
	}
	r.table.Sweep(ctx)
	r.cards.is(t, vf0, 40000, 50000, 104)
	r.cards.is(t, vf1, 0, 0, 0)
}

func TestTheShareOfAPortWinsOverThatOfTheClass(t *testing.T) {
	r := newRig(t)
	r.add(attachment("c1", vf0))
	r.cards.is(t, vf0, 40000, 50000, 104)
	port := r.one().Found.Port
	share := func(of map[string]uint16) {
		t.Helper()
		b := bulk()
		b.Shares = of
		r.bindings.change(func(s *source) { s.bound["team-a"] = b })
		r.table.Sweep(t.Context())
	}
	share(map[string]uint16{port: 125, "0x9:1": 900})
	r.cards.is(t, vf0, 40000, 25000, 104)
	r.add(attachment("c2", vf1)) // a pod that comes later divides it
	r.table.Sweep(t.Context())
	r.cards.is(t, vf0, 40000, 12400, 104)
	r.cards.is(t, vf1, 40000, 12400, 104)
	if err := r.table.Delete(t.Context(), attachment("c2", vf1).Key); err != nil {
		t.Fatal(err)
	}
	share(map[string]uint16{port: 0}) // the port is not divided any more
	r.cards.is(t, vf0, 40000, 0, 104)
	share(nil)
	r.cards.is(t, vf0, 40000, 50000, 104)
}

func TestClassesOfATenantDivideItsShareByWeight(t *testing.T) {
	r := newRig(t)
	class := func(namespace, class string) {
		b := bulk()
		b.Name, b.Class, b.Weights = namespace, class, map[string]float64{"gold": 3, "bulk": 1}
		r.bindings.change(func(s *source) { s.bound[namespace] = b })
	}
	class("team-a", "gold")
	class("team-b", "bulk")
	r.add(attachment("c1", vf0))
	r.cards.is(t, vf0, 40000, 50000, 104) // alone it has the tenant's share
	other := attachment("c2", vf1)
	other.Pod.Namespace = "team-b"
	r.add(other)
	r.table.Sweep(t.Context())
	r.cards.is(t, vf0, 40000, 37400, 104)
	r.cards.is(t, vf1, 40000, 12400, 104)
	applies := r.cards.applies
	r.table.Sweep(t.Context())
	if r.cards.applies != applies {
		t.Errorf("a sweep of a divided share wrote %d times, want none", r.cards.applies-applies)
	}
	if err := r.table.Delete(t.Context(), attachment("c1", vf0).Key); err != nil {
		t.Fatal(err)
	}
	r.table.Sweep(t.Context())
	r.cards.is(t, vf1, 40000, 50000, 104)
}
