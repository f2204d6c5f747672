package tenancy

import (
	"context"
	"fmt"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// A tenant is attached to a port while the operator or any feed claims it. The claims of a feed are one row; the union of
// all claims is the tenant's attachments, on which FeedOnly marks those without a claim of the operator. A feed changes
// only its own row, and the operator only the other attachments.

// FeedChange is the effect of a change of a feed.
type FeedChange struct {
	control.Feed
	// Attached and Detached are the ports that the tenant's attachments gain and lose, sorted. A port that the operator or
	// another feed also claims is in neither.
	Attached, Detached []ident.PortID
}

// claimed returns the ports that feeds claim, sorted, each once.
func claimed(feeds []control.Feed) []ident.PortID {
	var all []ident.PortID
	for _, f := range feeds {
		all = append(all, f.Ports...)
	}
	slices.SortFunc(all, ident.PortID.Compare)
	return slices.Compact(all)
}

// withClaims returns the operator's attachments with those that only feeds claim, sorted by port.
func withClaims(own []tenants.Attachment, claims []ident.PortID) []tenants.Attachment {
	if len(claims) == 0 {
		return own
	}
	out := make([]tenants.Attachment, 0, len(own)+len(claims))
	for _, port := range claims {
		for len(own) > 0 && own[0].Port.Compare(port) < 0 {
			out, own = append(out, own[0]), own[1:]
		}
		if len(own) == 0 || own[0].Port != port {
			out = append(out, tenants.Attachment{Port: port, FeedOnly: true})
		}
	}
	return append(out, own...)
}

// claimants returns a function that names the feeds that claim a port, in the order of feeds.
func claimants(feeds []control.Feed) func(ident.PortID) []string {
	return func(port ident.PortID) (names []string) {
		for _, f := range feeds {
			if _, has := slices.BinarySearchFunc(f.Ports, port, ident.PortID.Compare); has {
				names = append(names, f.Name)
			}
		}
		return names
	}
}

// Claimants returns a function that names the feeds that claim a port for a tenant. For callers with roles in single
// tenants only, it names none: feeds belong to the operator.
func (s *Tenancy) Claimants(ctx context.Context, fabric string, names ...string) (of func(tenant string, port ident.PortID) []string, err error) {
	if control.VisibleTenants(ctx, fabric) != nil {
		return func(string, ident.PortID) []string { return nil }, nil
	}
	by := map[string][]control.Feed{}
	err = s.Store.View(ctx, func(r control.Repos) error {
		feeds, err := r.Feeds(ctx, fabric, names...)
		for _, f := range feeds {
			by[f.Tenant] = append(by[f.Tenant], f)
		}
		return err
	})
	return func(tenant string, port ident.PortID) []string { return claimants(by[tenant])(port) }, err
}

// ListFeeds lists the feeds of a fabric, by tenant and name, without their ports.
func (s *Tenancy) ListFeeds(ctx context.Context, f control.FeedFilter, p control.Page) (list []control.Feed, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { list, next, err = r.ListFeeds(ctx, f, p); return err })
	return list, next, err
}

// Feed returns a feed of a tenant with its ports.
func (s *Tenancy) Feed(ctx context.Context, fabric, tenant, feed string) (f control.Feed, err error) {
	err = s.Store.View(ctx, func(r control.Repos) error {
		x, err := loadFeed(ctx, r, fabric, tenant, feed)
		if err == nil && x.at < 0 {
			err = &control.NotFoundError{Kind: "feed", Name: feed}
		}
		if err == nil {
			f = x.feeds[x.at]
		}
		return err
	})
	return f, err
}

// PutFeed makes a feed claim exactly the named ports for a tenant, and adds the feed when the tenant has none of the name.
// version is the version that the caller has seen, 0 for a feed that does not exist, or AnyVersion. A port that the latest
// snapshot lacks is an *InvalidError, and nothing changes. When the claims are the same, the feed keeps its version.
func (s *Tenancy) PutFeed(ctx context.Context, fabric, tenant, feed string, version int64, ports []string) (out FeedChange, err error) {
	if !tenants.ValidName(feed) {
		return out, control.Invalid("", phrase.Of("problem.feed-name", "found", control.Clipped(feed)))
	}
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		x, err := loadFeed(ctx, r, fabric, tenant, feed)
		if err != nil {
			return err
		}
		next := control.Feed{Fabric: fabric, Tenant: tenant, Name: feed, CreatedAt: s.Now()}
		if x.at >= 0 {
			next = x.feeds[x.at]
		} else if len(x.feeds) >= control.MaxFeeds {
			return &control.ConflictError{Code: "too-many", Said: phrase.Of("problem.feeds-max", "tenant", tenant, "max", control.MaxFeeds)}
		}
		if err := fresh(feed, version, next.Version); err != nil {
			return err
		}
		before := next
		if next.Ports, err = s.resolveFeed(ctx, r, fabric, ports); err != nil {
			return err
		}
		if x.at >= 0 && slices.Equal(before.Ports, next.Ports) {
			out.Feed = before
			return nil
		}
		next.Actor, next.UpdatedAt = control.Actor(ctx), s.Now()
		if out.Feed, err = r.PutFeed(ctx, next); err != nil {
			return err
		}
		others := slices.Clone(x.feeds)
		if x.at >= 0 {
			others = slices.Delete(others, x.at, x.at+1)
		}
		return s.applyFeed(ctx, r, x.tenant, append(others, out.Feed), before.Ports, &out)
	})
	return out, err
}

// DeleteFeed removes a feed of a tenant with all its claims. version is the version that the caller has seen, or
// AnyVersion.
func (s *Tenancy) DeleteFeed(ctx context.Context, fabric, tenant, feed string, version int64) error {
	return s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		x, err := loadFeed(ctx, r, fabric, tenant, feed)
		switch {
		case err != nil:
			return err
		case x.at < 0:
			return &control.NotFoundError{Kind: "feed", Name: feed}
		}
		gone := x.feeds[x.at]
		if err := fresh(feed, version, gone.Version); err != nil {
			return err
		}
		if err := r.DeleteFeed(ctx, fabric, tenant, feed); err != nil {
			return err
		}
		out := FeedChange{Feed: gone}
		out.Ports, out.Version = nil, 0
		return s.applyFeed(ctx, r, x.tenant, slices.Delete(slices.Clone(x.feeds), x.at, x.at+1), gone.Ports, &out)
	})
}

// tenantFeeds is a tenant with its feeds. at is the position of the feed that is asked for, -1 when there is none.
type tenantFeeds struct {
	tenant control.Tenant
	feeds  []control.Feed
	at     int
}

func loadFeed(ctx context.Context, r control.Repos, fabric, tenant, feed string) (x tenantFeeds, err error) {
	if x.tenant, err = r.Tenant(ctx, fabric, tenant); err != nil {
		return x, err
	}
	x.feeds, err = r.Feeds(ctx, fabric, tenant)
	x.at = slices.IndexFunc(x.feeds, func(f control.Feed) bool { return f.Name == feed })
	return x, err
}

// fresh rejects a change that is based on another version of a feed.
func fresh(feed string, want, have int64) error {
	if want != control.AnyVersion && want != have {
		return &control.PreconditionError{Kind: "feed", Name: feed, Want: want, Have: have}
	}
	return nil
}

// resolveFeed converts port names into identifiers, sorted.
func (s *Tenancy) resolveFeed(ctx context.Context, r control.Repos, fabric string, ports []string) ([]ident.PortID, error) {
	out := make([]ident.PortID, 0, len(ports))
	if len(ports) == 0 {
		return out, nil // also before the first discovery
	}
	_, topo, err := s.Latest(ctx, r, fabric)
	if err != nil {
		return nil, err
	}
	var bad control.InvalidError
	seen := make(map[ident.PortID]bool, len(ports))
	for i, text := range ports {
		id, err := resolveOnce(topo, text, seen)
		if err != nil {
			bad.AddFrom(fmt.Sprintf("/attachments/%d/port", i), err)
			continue
		}
		out = append(out, id)
	}
	slices.SortFunc(out, ident.PortID.Compare)
	return out, bad.OrNil()
}

// applyFeed brings a tenant's attachments in line with its feeds, after the claims of one changed from the ports before,
// and records the change.
func (s *Tenancy) applyFeed(ctx context.Context, r control.Repos, before control.Tenant, feeds []control.Feed, claims []ident.PortID, out *FeedChange) error {
	t := before.Tenant
	t.Attachments = withClaims(t.Own(), claimed(feeds))
	said := phrase.Of("event.feed", "feed", out.Name, "tenant", t.Name, "ports", len(out.Ports))
	if out.Version == 0 {
		said = phrase.Of("event.feed-removed", "feed", out.Name, "tenant", t.Name)
	}
	if !sameTenant(before.Tenant, t) {
		if err := tenants.Validate([]tenants.Tenant{t}, nil); err != nil {
			return control.InvalidModel(err, control.InTenant(""))
		}
		out.Attached, out.Detached = missingPorts(portsOf(t), portsOf(before.Tenant)), missingPorts(portsOf(before.Tenant), portsOf(t))
		if _, err := r.UpdateTenant(ctx, control.Tenant{Tenant: t, Fabric: before.Fabric, Version: before.Version, UpdatedAt: s.Now()}); err != nil {
			return err
		}
		if err := s.revise(ctx, r, before.Fabric, policyChange{said: said, put: []tenants.Tenant{t}}); err != nil {
			return err
		}
		// The tenant sees this event, and must not learn the names of feeds.
		if err := s.AddEvent(ctx, r, control.Event{Fabric: before.Fabric, Kind: "tenant.updated", Subject: t.Name,
			Said: phrase.Of("event.attachments", "tenant", t.Name, "attached", len(out.Attached), "detached", len(out.Detached))},
			control.Change{Before: portList{Detached: out.Detached}, After: portList{Attached: out.Attached}}); err != nil {
			return err
		}
	}
	kind := "feed.replaced"
	if out.Version == 0 {
		kind = "feed.deleted"
	}
	return s.AddEvent(ctx, r, control.Event{Fabric: before.Fabric, Kind: kind, Subject: out.Name, Said: said}, control.Change{
		Before: portList{Tenant: t.Name, Released: missingPorts(claims, out.Ports)}, After: portList{Tenant: t.Name, Claimed: missingPorts(out.Ports, claims)}})
}

// portList is one side of an audit entry about a feed: the difference alone, since a feed may have thousands of ports.
type portList struct {
	Tenant   string         `json:"tenant,omitempty"`
	Claimed  []ident.PortID `json:"claimed,omitempty"`  // by the feed
	Released []ident.PortID `json:"released,omitempty"` // by the feed
	Attached []ident.PortID `json:"attached,omitempty"` // to the tenant
	Detached []ident.PortID `json:"detached,omitempty"` // from the tenant
}

func portsOf(t tenants.Tenant) []ident.PortID {
	out := make([]ident.PortID, len(t.Attachments))
	for i, a := range t.Attachments {
		out[i] = a.Port
	}
	return out
}

// missingPorts returns the ports of a that b lacks; both are sorted.
func missingPorts(a, b []ident.PortID) []ident.PortID {
	var out []ident.PortID
	for _, port := range a {
		for len(b) > 0 && b[0].Compare(port) < 0 {
			b = b[1:]
		}
		if len(b) == 0 || b[0] != port {
			out = append(out, port)
		}
	}
	return out
}
