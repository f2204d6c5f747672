package tenancy_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/usecases"
	"fairlane/service/store"
	"fairlane/service/store/pgtest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// onBoth runs a test with a rig on each database.
func onBoth(t *testing.T, f func(t *testing.T, r *controltest.Rig)) {
	t.Parallel()
	open := func(ctx context.Context, name string) (control.Store, io.Closer, error) {
		s, err := store.Open(ctx, name, store.Options{})
		return s, s, err
	}
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "fairlane.db") },
		"postgres": func(t *testing.T) string { return pgtest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, controltest.On(t, open, database(t), &controltest.Devices{}))
		})
	}
}

// feeds is a lab whose tenant red has ports h1 and h4 of the operator.
type feeds struct {
	t *testing.T
	s *usecases.Services
}

func labWithFeeds(t *testing.T, r *controltest.Rig) *feeds {
	t.Helper()
	r.Lab(t)
	return &feeds{t, r.Service}
}

// claim is a feed's input of ports alone.
func claim(ports ...string) (in tenancy.FeedInput) {
	for _, p := range ports {
		in.Ports = append(in.Ports, tenancy.FeedPort{Port: p})
	}
	return in
}

// put makes a feed of red claim ports.
func (f *feeds) put(feed string, ports ...string) tenancy.FeedChange {
	f.t.Helper()
	out, err := f.s.PutFeed(f.t.Context(), "lab", "red", feed, control.AnyVersion, claim(ports...))
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// drop deletes a feed of red.
func (f *feeds) drop(feed string) {
	f.t.Helper()
	if err := f.s.DeleteFeed(f.t.Context(), "lab", "red", feed, control.AnyVersion); err != nil {
		f.t.Fatal(err)
	}
}

// operator replaces the operator's ports of red, and its flows by none.
func (f *feeds) operator(ports ...tenancy.AttachmentInput) {
	f.t.Helper()
	if _, _, err := f.s.PutFlows(f.t.Context(), "lab", control.AnyVersion, []tenancy.FlowInput{}); err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.s.UpdateTenant(f.t.Context(), "lab", 0, tenancy.TenantInput{Name: "red", Weight: 3000, PKey: 0x8001, Attachments: ports}); err != nil {
		f.t.Fatal(err)
	}
}

// attachments prints the attachments of red, such as "h1 h2(feed a,b) h4!3": h2 only by feeds, h4 with a service level.
func (f *feeds) attachments() string {
	f.t.Helper()
	of, err := f.s.Claimants(f.t.Context(), "lab", "red")
	if err != nil {
		f.t.Fatal(err)
	}
	return f.each(" ", func(text string, a tenants.Attachment) string {
		if a.SL != nil {
			text += fmt.Sprintf("!%d", *a.SL)
		}
		if names := of("red", a.Port); len(names) > 0 {
			text += "(" + map[bool]string{true: "only ", false: "also "}[a.FeedOnly] + strings.Join(names, ",") + ")"
		} else if a.FeedOnly {
			text += "(no feed)"
		}
		return text
	})
}

// each joins what print returns for each attachment of red, by the name of its port.
func (f *feeds) each(separator string, print func(port string, a tenants.Attachment) string) string {
	f.t.Helper()
	tn, err := f.s.Tenant(f.t.Context(), "lab", "red")
	if err != nil {
		f.t.Fatal(err)
	}
	name, err := f.s.PortNames(f.t.Context(), "lab")
	if err != nil {
		f.t.Fatal(err)
	}
	var out []string
	for _, a := range tn.Attachments {
		out = append(out, print(strings.TrimSuffix(name(a.Port), "/P1"), a))
	}
	return strings.Join(out, separator)
}

func (f *feeds) want(what, want string) {
	f.t.Helper()
	if got := f.attachments(); got != want {
		f.t.Errorf("%s: red is attached to %s, want %s", what, got, want)
	}
}

func at(name string) tenancy.AttachmentInput { return tenancy.AttachmentInput{Port: name} }

func TestATenantIsAttachedWhileTheOperatorOrAnyFeedClaimsThePort(t *testing.T) {
	onBoth(t, func(t *testing.T, r *controltest.Rig) {
		f := labWithFeeds(t, r)
		f.put("a", "h2", "h1")
		f.want("a feed", "h1(also a) h2(only a) h4")
		f.put("b", "h2", "h3")
		f.want("two feeds", "h1(also a) h2(only a,b) h3(only b) h4")
		if c := f.put("a"); len(c.Detached) != 0 || c.Count != 0 {
			t.Errorf("a feed that releases what others claim changes %+v", c)
		}
		f.want("the first feed claims nothing", "h1 h2(only b) h3(only b) h4")
		f.operator(at("h3"))
		f.want("other ports of the operator", "h2(only b) h3(also b)")
		f.drop("b")
		f.want("the second feed is deleted", "h3")
		f.put("a", "h1", "h2", "h3", "h4")
		f.operator()
		f.want("no port of the operator", "h1(only a) h2(only a) h3(only a) h4(only a)")
		f.drop("a")
		f.want("nobody", "")
	})
}

func TestAServiceLevelIsTheOperators(t *testing.T) {
	onBoth(t, func(t *testing.T, r *controltest.Rig) {
		f, ctx := labWithFeeds(t, r), t.Context()
		f.operator(tenancy.AttachmentInput{Port: "h1", SL: new(ident.SL(3))}, at("h4"))
		f.put("a", "h1", "h2")
		f.want("a pinned port is claimed", "h1!3(also a) h2(only a) h4")
		f.put("a", "h2")
		f.want("and released", "h1!3 h2(only a) h4")
		f.put("a", "h1", "h2")
		if err := f.s.DeleteAttachment(ctx, "lab", "red", "h1", tenancy.AnyTag); err != nil {
			t.Fatal(err)
		}
		f.want("the operator detaches a claimed port", "h1(only a) h2(only a) h4")
		if err := f.s.DeleteAttachment(ctx, "lab", "red", "h2", tenancy.AnyTag); controltest.Code(err) != "in-use" || !strings.Contains(err.Error(), "claim it: a") {
			t.Errorf("the operator detaches a feed's port: %v", err)
		}
		if _, err := f.s.PutAttachment(ctx, "lab", "red", "h2", tenancy.AnyTag, nil); err != nil {
			t.Fatal(err)
		}
		f.want("no service level for a feed's port", "h1(only a) h2(only a) h4")
		if _, err := f.s.PutAttachment(ctx, "lab", "red", "h2", tenancy.AnyTag, new(ident.SL(5))); err != nil {
			t.Fatal(err)
		}
		if _, err := f.s.AddAttachment(ctx, "lab", "red", at("h1")); err != nil {
			t.Fatal(err)
		}
		f.want("both are the operator's as well", "h1(also a) h2!5(also a) h4")
		f.drop("a")
		f.want("without the feed", "h1 h2!5 h4")
	})
}

// What was read and is written back, by the operator or from a file, does not become the operator's.
func TestTheOperatorsDeclarationsLeaveFeedsAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, r *controltest.Rig) {
		f, ctx := labWithFeeds(t, r), t.Context()
		seen, err := f.s.ApplyTenants(ctx, "lab", controltest.Tenants(), true)
		if err != nil {
			t.Fatal(err)
		}
		first, err := f.s.Policy(ctx, "lab", 0)
		if err != nil {
			t.Fatal(err)
		}
		f.put("a", "h1", "h2")
		set := controltest.Tenants()
		set.Version, set.Prune = seen.Version, true
		res, err := f.s.ApplyTenants(ctx, "lab", set, false)
		if err != nil || !slices.Contains(res.Unchanged, "red") || res.Version != seen.Version {
			t.Errorf("a file changes %+v, %v; want nothing, at the version before the feed", res, err)
		}
		set.Tenants[0].Attachments = []tenancy.AttachmentInput{{Port: "h1"}, {Port: "h2", FeedOnly: true}, {Port: "nowhere", FeedOnly: true}, {Port: "h4"}}
		if res, err = f.s.ApplyTenants(ctx, "lab", set, false); err != nil || !slices.Contains(res.Unchanged, "red") {
			t.Errorf("what was read changes %+v, %v", res, err)
		}
		set.Version = 0
		set.Tenants[0].Weight++
		if _, err = f.s.ApplyTenants(ctx, "lab", set, false); err != nil {
			t.Fatal(err)
		}
		f.want("a weight in a file", "h1(also a) h2(only a) h4")
		set.Tenants[0].Attachments[1].SL = new(ident.SL(1))
		_, err = f.s.ApplyTenants(ctx, "lab", set, false)
		if d := cmp.Diff([]string{"/tenants/0/attachments/1/sl"}, pointers(err)); d != "" {
			t.Errorf("a service level for a feed's port: %v\n%s", err, d)
		}
		if _, changed, err := f.s.RestorePolicy(ctx, "lab", first.Number, control.AnyVersion); err != nil || !changed {
			t.Errorf("restoring a revision from before the feed: %v, %v", changed, err)
		}
		f.want("a restored revision", "h1(also a) h2(only a) h4")
		with, err := f.s.Policy(ctx, "lab", 0)
		if err != nil {
			t.Fatal(err)
		}
		f.drop("a")
		if _, changed, err := f.s.RestorePolicy(ctx, "lab", with.Number, control.AnyVersion); err != nil || changed {
			t.Errorf("restoring what differs by a feed only: %v, %v", changed, err)
		}
		f.want("a revision from before the feed's end", "h1 h4")
	})
}

func TestDeclaredFlowsDoNotRelyOnFeeds(t *testing.T) {
	onBoth(t, func(t *testing.T, r *controltest.Rig) {
		f, ctx := labWithFeeds(t, r), t.Context()
		f.put("a", "h1", "h2", "h4")
		_, _, err := f.s.PutFlows(ctx, "lab", control.AnyVersion, []tenancy.FlowInput{{Tenant: "red", Src: "h2", Dst: "h4"}})
		if d := cmp.Diff([]string{"/flows/0/src"}, pointers(err)); d != "" {
			t.Errorf("a flow from a feed's port: %v\n%s", err, d)
		}
		f.drop("a") // the flow from h1 to h4 is no obstacle
		f.want("after the feed", "h1 h4")
	})
}

func TestAFeedIsChangedWholeOrNotAtAll(t *testing.T) {
	onBoth(t, func(t *testing.T, r *controltest.Rig) {
		f, ctx := labWithFeeds(t, r), t.Context()
		first := f.put("a", "h2")
		if first.Version != 1 {
			t.Errorf("new feed is %+v", first)
		}
		for what, c := range map[string]struct {
			feed    string
			version int64
			ports   []string
			want    []string
		}{
			"unknown ports":      {"a", 1, []string{"h3", "nowhere", "h1", "h9"}, []string{"/attachments/1/port", "/attachments/3/port"}},
			"a port twice":       {"a", 1, []string{"h3", "h3/P1"}, []string{"/attachments/1/port"}},
			"a port of a switch": {"new", 0, []string{"sw1:1"}, []string{"/attachments/0/port"}},
			"a bad name":         {"A b", 0, nil, []string{""}},
		} {
			leaves(t, f.s, what, func() {
				_, err := f.s.PutFeed(ctx, "lab", "red", c.feed, c.version, claim(c.ports...))
				if d := cmp.Diff(c.want, pointers(err)); d != "" {
					t.Errorf("%s: %v\n%s", what, err, d)
				}
				if what == "unknown ports" && (!strings.Contains(err.Error(), "nowhere") || !strings.Contains(err.Error(), "h9")) {
					t.Errorf("the refusal does not name the ports: %v", err)
				}
			})
		}
		leaves(t, f.s, "stale versions and missing objects", func() {
			for _, v := range []int64{0, 2} {
				_, err := f.s.PutFeed(ctx, "lab", "red", "a", v, claim("h3"))
				controltest.MustFail(t, fmt.Sprintf("version %d", v), err, control.ErrPrecondition)
			}
			_, err := f.s.PutFeed(ctx, "lab", "red", "new", 1, claim("h3"))
			controltest.MustFail(t, "version 1 of none", err, control.ErrPrecondition)
			_, err = f.s.PutFeed(ctx, "lab", "nobody", "a", 0, claim("h3"))
			controltest.MustFail(t, "no tenant", err, control.ErrNotFound)
			_, err = f.s.Feed(ctx, "lab", "red", "new")
			controltest.MustFail(t, "no feed", err, control.ErrNotFound)
			controltest.MustFail(t, "deletion of no feed", f.s.DeleteFeed(ctx, "lab", "red", "new", control.AnyVersion), control.ErrNotFound)
			controltest.MustFail(t, "deletion at another version", f.s.DeleteFeed(ctx, "lab", "red", "a", 7), control.ErrPrecondition)
			if again, err := f.s.PutFeed(ctx, "lab", "red", "a", 1, claim("h2/P1")); err != nil || again.Version != 1 {
				t.Errorf("the same ports again: %+v, %v", again, err)
			}
			dry := control.DryRun(ctx)
			err = f.s.Atomic(dry, func(ctx context.Context) error {
				c, err := f.s.PutFeed(ctx, "lab", "red", "a", 1, claim("h3"))
				if len(c.Attached) != 1 || len(c.Detached) != 1 || c.Version != 2 {
					t.Errorf("a dry run says %+v", c)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		for i := range control.MaxFeeds - 1 {
			f.put(fmt.Sprintf("f%d", i))
		}
		if _, err := f.s.PutFeed(ctx, "lab", "red", "last", 0, claim()); controltest.Code(err) != "too-many" {
			t.Errorf("one feed too many: %v", err)
		}
	})
}

// A change of a feed is in the audit log with who and what, is a revision of the policy when attachments change, and tells
// the tenant of the number of ports alone.
func TestChangesOfFeedsAreRecorded(t *testing.T) {
	onBoth(t, func(t *testing.T, r *controltest.Rig) {
		f := labWithFeeds(t, r)
		before := stateOf(t, f.s, "lab")
		feeder := control.WithPrincipal(t.Context(), control.Principal{Kind: control.PrincipalService, Name: "k8s", Grants: []tenants.Grant{{Role: tenants.RoleFeeder, Domain: tenants.Domain{Fabric: "lab"}}}})
		c, err := f.s.PutFeed(feeder, "lab", "red", "kubernetes-lab1", 0, claim("h1", "h2"))
		if err != nil || c.Actor != "k8s" || len(c.Attached) != 1 {
			t.Fatal(c, err)
		}
		if _, err := f.s.PutFeed(feeder, "lab", "red", "kubernetes-lab1", 1, claim("h2")); err != nil { // no attachment changes
			t.Fatal(err)
		}
		after := stateOf(t, f.s, "lab")
		if after.Policy != before.Policy+1 {
			t.Errorf("policy is at %d after %d, want one revision", after.Policy, before.Policy)
		}
		var got []string
		for _, e := range controltest.AuditEntries(t, f.s)[before.Audit:] {
			got = append(got, fmt.Sprintf("%s %s by %s: %s > %s", e.Action, e.Object, e.Actor, e.Before, e.After))
		}
		want := []string{
			`tenant.updated red by k8s: {} > {"attached":["` + c.Attached[0].String() + `"]}`,
			`feed.replaced kubernetes-lab1 by k8s: {"tenant":"red"} > {"tenant":"red","claimed":["0x0200000000010000:1","` + c.Attached[0].String() + `"]}`,
			`feed.replaced kubernetes-lab1 by k8s: {"tenant":"red","released":["0x0200000000010000:1"]} > {"tenant":"red"}`,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("audit entries (-want +got):\n%s", d)
		}
		viewer := control.WithPrincipal(t.Context(), control.Principal{Kind: control.PrincipalUser, Name: "eve", Grants: []tenants.Grant{{Role: tenants.RoleTenantAdmin, Domain: tenants.Domain{Fabric: "lab", Tenant: "red"}}}})
		events, _, err := f.s.Events(viewer, "lab", 0, control.Page{})
		if err != nil || len(events) == 0 {
			t.Fatal(events, err)
		}
		if last := events[len(events)-1]; last.Said.String() != "tenant red was attached to 1 port and detached from 0" || last.Actor != control.MaskedActor {
			t.Errorf("the tenant sees %q by %s", last.Said.String(), last.Actor)
		}
		for _, e := range events {
			if strings.Contains(e.Said.String()+string(e.Data)+e.Actor, "k8s") || strings.Contains(e.Said.String()+string(e.Data), "kubernetes") {
				t.Errorf("the tenant learns of the feed: %+v", e)
			}
		}
		names, err := f.s.Claimants(viewer, "lab", "red")
		if err != nil || names("red", c.Attached[0]) != nil {
			t.Errorf("the tenant is told the feeds %v, %v", names("red", c.Attached[0]), err)
		}
	})
}

func TestFeedsEndWithTheirTenant(t *testing.T) {
	onBoth(t, func(t *testing.T, r *controltest.Rig) {
		f, ctx := labWithFeeds(t, r), t.Context()
		f.operator()
		f.put("a", "h2")
		if err := f.s.DeleteTenant(ctx, "lab", "red", 0); err != nil {
			t.Fatal(err)
		}
		if list, _, err := f.s.ListFeeds(ctx, control.FeedFilter{Fabric: "lab"}, control.Page{}); err != nil || len(list) != 0 {
			t.Errorf("feeds of a deleted tenant: %+v, %v", list, err)
		}
		if _, err := f.s.CreateTenant(ctx, "lab", tenancy.TenantInput{Name: "red", Weight: 1000, Attachments: []tenancy.AttachmentInput{at("h1"), {Port: "h2", FeedOnly: true}}}); err != nil {
			t.Fatal(err)
		}
		f.want("another tenant of the name", "h1")
	})
}

func TestTwoFeedsWriteConcurrently(t *testing.T) {
	onBoth(t, func(t *testing.T, r *controltest.Rig) {
		f := labWithFeeds(t, r)
		const rounds = 10
		var wg sync.WaitGroup
		for _, feed := range []string{"a", "b"} {
			wg.Go(func() {
				version := int64(0)
				for i := range rounds {
					ports := [][]string{{"h2", "h3"}, {"h2"}}[i%2]
					c, err := r.Manager(t).PutFeed(t.Context(), "lab", "red", feed, version, claim(ports...))
					if err != nil || c.Version != version+1 {
						t.Errorf("feed %s, round %d: %+v, %v", feed, i, c, err)
						return
					}
					version = c.Version
				}
			})
		}
		wg.Wait()
		f.want("both are done", "h1 h2(only a,b) h4")
		for _, feed := range []string{"a", "b"} {
			if got, err := f.s.Feed(t.Context(), "lab", "red", feed); err != nil || got.Version != rounds || got.Count != 1 {
				t.Errorf("feed %s is %+v, %v", feed, got, err)
			}
		}
	})
}

// wide is a fabric of 20,000 hosts.
type wide struct{ topo *subnet.Fabric }

func (w wide) Discover(context.Context, string, policy.Options) (*subnet.Fabric, control.DiscoverStats, error) {
	return w.topo, control.DiscoverStats{Plane: subnet.PlaneIB}, nil
}

// 20,000 ports in one request take a bounded time and memory, and so does one port more. The bounds are for a busy machine: the request needs
// 0.4 s of one core and 80 MB.
func TestAFeedOfTwentyThousandPorts(t *testing.T) {
	const leaves, each = 100, 200
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: leaves, Spines: 2, HostsPerLeaf: each})
	if err != nil {
		t.Fatal(err)
	}
	var ports []string
	for _, n := range topo.Nodes {
		if n.Kind == subnet.KindCA {
			ports = append(ports, n.Name)
		}
	}
	if len(ports) != leaves*each {
		t.Fatalf("the fabric has %d hosts", len(ports))
	}
	onBoth(t, func(t *testing.T, r *controltest.Rig) {
		s, ctx := r.Manager(t, func(d *control.Deps) { d.Discoverer = wide{topo} }), t.Context()
		if _, err := s.CreateFabric(ctx, control.Fabric{Name: "lab", Source: controltest.Source}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Discover(ctx, "lab"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CreateTenant(ctx, "lab", tenancy.TenantInput{Name: "red", Weight: 1000}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.PortNames(ctx, "lab"); err != nil { // reads the topology before the transaction, as the API does
			t.Fatal(err)
		}
		for _, n := range []int{len(ports) - 1, len(ports)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			used, begun := processorTime(), time.Now()
			c, err := s.PutFeed(ctx, "lab", "red", "a", control.AnyVersion, claim(ports[:n]...))
			runtime.ReadMemStats(&after)
			if err != nil || c.Count != n {
				t.Fatal(c.Count, err)
			}
			cpu, mem := processorTime()-used, (after.TotalAlloc-before.TotalAlloc)>>20
			t.Logf("%d ports: %v of processor time, %v, %d MB allocated", n, cpu, time.Since(begun), mem)
			if cpu > 10*time.Second || mem > 512 {
				t.Errorf("%d ports took %v of processor time and allocated %d MB", n, cpu, mem)
			}
		}
		got, err := s.Tenant(ctx, "lab", "red")
		if err != nil || len(got.Attachments) != len(ports) {
			t.Errorf("red has %d attachments: %v", len(got.Attachments), err)
		}
	})
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
