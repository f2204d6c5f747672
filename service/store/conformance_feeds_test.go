package store

import (
	"testing"
	"time"

	"fairlane/internal/quantity"
	"fairlane/service/control"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// feed adds a feed of a tenant of fabric lab.
func (f *fixture) feed(tenant, name string, ports ...ident.PortID) control.Feed {
	f.t.Helper()
	in := control.Feed{Fabric: "lab", Tenant: tenant, Name: name, Ports: ports, Actor: "k", CreatedAt: at(), UpdatedAt: at()}
	var out control.Feed
	f.tx(func(r control.Repos) (err error) { out, err = r.PutFeed(f.t.Context(), in); return err })
	return out
}

func checkFeeds(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.fabric("prod")
	for _, name := range []string{"blue", "red"} {
		f.plainTenant("lab", name)
		f.plainTenant("prod", name)
	}
	stored := func(what string, want []control.Feed, names ...string) {
		t.Helper()
		f.view(func(r control.Repos) error {
			got, err := r.Feeds(ctx, "lab", names...)
			f.equal(what, want, got)
			return err
		})
	}
	stored("no feeds", []control.Feed{})
	many := make([]ident.PortID, 20_000) // compressed
	for i := range many {
		many[i] = port(1<<63+uint64(i), 254)
	}
	large, small := f.feed("red", "b", many...), f.feed("red", "a", port(2, 1))
	empty := f.feed("blue", "b")
	if large.Version != 1 || large.Count != len(many) || empty.Count != 0 {
		t.Errorf("new feeds are %+v, %+v", large.Version, empty)
	}
	f.want(f.s.Tx(ctx, func(r control.Repos) error {
		_, err := r.PutFeed(ctx, control.Feed{Fabric: "lab", Tenant: "nobody", Name: "x"})
		return err
	}), control.ErrNotFound)
	stored("feeds of red", []control.Feed{small, large}, "red")

	change := small
	change.Claimed, change.NodeFunctions = []quantity.BitRate{0, 40 * quantity.Gbps}, true
	change.Ports, change.Actor, change.UpdatedAt = []ident.PortID{port(1, 1), port(2, 1)}, "other", at().Add(time.Second)
	f.tx(func(r control.Repos) (err error) { change, err = r.PutFeed(ctx, change); return err })
	if change.Version != 2 || change.Count != 2 {
		t.Errorf("changed feed is %+v", change)
	}
	f.want(f.s.Tx(ctx, func(r control.Repos) error { _, err := r.PutFeed(ctx, small); return err }), control.ErrPrecondition)
	stored("changed feeds", []control.Feed{change, large}, "red")

	listed := func(by control.FeedFilter, want ...control.Feed) {
		t.Helper()
		f.view(func(r control.Repos) error {
			got, err := paged(1, func(p control.Page) ([]control.Feed, string, error) { return r.ListFeeds(ctx, by, p) })
			for i := range want {
				want[i].Ports, want[i].Claimed = nil, nil
			}
			f.equal("list", want, got)
			return err
		})
	}
	listed(control.FeedFilter{Fabric: "lab"}, empty, change, large)
	listed(control.FeedFilter{Fabric: "lab", Tenant: "red"}, change, large)
	listed(control.FeedFilter{Fabric: "lab", Feed: "b"}, empty, large)
	listed(control.FeedFilter{Fabric: "prod"})

	f.tx(func(r control.Repos) error { return r.DeleteFeed(ctx, "lab", "red", "b") })
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.DeleteFeed(ctx, "lab", "red", "b") }), control.ErrNotFound)
	stored("feeds after a deletion", []control.Feed{change}, "red")

	f.tx(func(r control.Repos) error { return r.DeleteTenant(ctx, "lab", "red", 0) })
	f.plainTenant("lab", "red") // another tenant of the name
	stored("feeds of a new tenant", []control.Feed{}, "red")
	f.tx(func(r control.Repos) error {
		tn, err := r.Tenant(ctx, "lab", "blue")
		if err != nil {
			return err
		}
		sl := ident.SL(3)
		tn.Attachments = append(tn.Attachments, tenants.Attachment{Port: port(1, 1), FeedOnly: true, Claimed: quantity.Gbps, NodeFunctions: true}, tenants.Attachment{Port: port(2, 1), SL: &sl})
		got, err := r.UpdateTenant(ctx, tn)
		f.equal("attachments", tn.Attachments, got.Attachments)
		return err
	})
}
