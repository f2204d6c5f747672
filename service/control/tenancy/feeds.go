package tenancy

import (
	"context"
	"fmt"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
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

// FeedInput is the whole content of a feed.
type FeedInput struct {
	Ports []FeedPort
	// NodeFunctions says that the ports' hosts choose the virtual functions of workloads.
	NodeFunctions bool
}

// FeedPort names a port with the rate that is promised to workloads there.
type FeedPort struct {
	Port    string
	Claimed quantity.BitRate // 0 to MaxClaimed
}

// MaxClaimed bounds what one feed claims of a port. The sum of all feeds of a tenant stays within an integer.
const MaxClaimed = quantity.BitRate(1_000_000_000_000_000)

// claimed returns what feeds claim together, as attachments by feeds alone, sorted by port, each once.
func claimed(feeds []control.Feed) []tenants.Attachment {
	var all []tenants.Attachment
	for _, f := range feeds {
		for i, port := range f.Ports {
			a := tenants.Attachment{Port: port, FeedOnly: true, NodeFunctions: f.NodeFunctions}
			if f.Claimed != nil {
				a.Claimed = f.Claimed[i]
			}
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b tenants.Attachment) int { return a.Port.Compare(b.Port) })
	out := all[:0]
	for _, a := range all {
		if last := len(out) - 1; last >= 0 && out[last].Port == a.Port {
			out[last].Claimed += a.Claimed
			out[last].NodeFunctions = out[last].NodeFunctions || a.NodeFunctions
			continue
		}
		out = append(out, a)
	}
	return out
}

// withClaims returns the operator's attachments with those that only feeds claim, sorted by port, and with what feeds say of either.
func withClaims(own, claims []tenants.Attachment) []tenants.Attachment {
	if len(claims) == 0 {
		return own
	}
	out := make([]tenants.Attachment, 0, len(own)+len(claims))
	for _, a := range claims {
		for len(own) > 0 && own[0].Port.Compare(a.Port) < 0 {
			out, own = append(out, own[0]), own[1:]
		}
		if len(own) > 0 && own[0].Port == a.Port {
			a.SL, a.FeedOnly, own = own[0].SL, false, own[1:]
		}
		out = append(out, a)
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

// PutFeed makes a feed claim exactly the given ports for a tenant, and adds the feed when the tenant has none of the name.
// version is the version that the caller has seen, 0 for a feed that does not exist, or AnyVersion. A port that the latest
// snapshot lacks is an *InvalidError, and nothing changes. When the claims are the same, the feed keeps its version.
func (s *Tenancy) PutFeed(ctx context.Context, fabric, tenant, feed string, version int64, in FeedInput) (out FeedChange, err error) {
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
		if err := s.resolveFeed(ctx, r, &next, in); err != nil {
			return err
		}
		if x.at >= 0 && slices.Equal(before.Ports, next.Ports) && slices.Equal(before.Claimed, next.Claimed) && before.NodeFunctions == next.NodeFunctions {
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
		return s.applyFeed(ctx, r, x.tenant, append(others, out.Feed), before, &out)
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
		out.Ports, out.Claimed, out.Version = nil, nil, 0
		return s.applyFeed(ctx, r, x.tenant, slices.Delete(slices.Clone(x.feeds), x.at, x.at+1), gone, &out)
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

// resolveFeed fills a feed by its input, with ports by identifier, sorted.
func (s *Tenancy) resolveFeed(ctx context.Context, r control.Repos, f *control.Feed, in FeedInput) error {
	f.Ports, f.Claimed, f.NodeFunctions = make([]ident.PortID, 0, len(in.Ports)), nil, in.NodeFunctions
	if len(in.Ports) == 0 {
		return nil // also before the first discovery
	}
	_, topo, err := s.Latest(ctx, r, f.Fabric)
	if err != nil {
		return err
	}
	var bad control.InvalidError
	seen, rates := make(map[ident.PortID]bool, len(in.Ports)), map[ident.PortID]quantity.BitRate{}
	for i, p := range in.Ports {
		id, err := resolveOnce(topo, p.Port, seen)
		if err != nil {
			bad.AddFrom(fmt.Sprintf("/attachments/%d/port", i), err)
			continue
		}
		if p.Claimed < 0 || p.Claimed > MaxClaimed {
			bad.Add(fmt.Sprintf("/attachments/%d/claimed_bps", i), phrase.Of("problem.between", "found", int64(p.Claimed), "min", 0, "max", int64(MaxClaimed)))
			continue
		}
		f.Ports = append(f.Ports, id)
		if p.Claimed > 0 {
			rates[id] = p.Claimed
		}
	}
	slices.SortFunc(f.Ports, ident.PortID.Compare)
	if len(rates) > 0 {
		f.Claimed = make([]quantity.BitRate, len(f.Ports))
		for i, id := range f.Ports {
			f.Claimed[i] = rates[id]
		}
	}
	return bad.OrNil()
}

// applyFeed brings a tenant's attachments in line with its feeds, after one of them changed from was, and records the change.
func (s *Tenancy) applyFeed(ctx context.Context, r control.Repos, before control.Tenant, feeds []control.Feed, was control.Feed, out *FeedChange) error {
	t := before.Tenant
	t.Attachments = withClaims(t.Own(), claimed(feeds))
	said := phrase.Of("event.feed", "feed", out.Name, "tenant", t.Name, "ports", len(out.Ports))
	if out.Version == 0 {
		said = phrase.Of("event.feed-removed", "feed", out.Name, "tenant", t.Name)
	}
	out.Attached, out.Detached = missingPorts(portsOf(t), portsOf(before.Tenant)), missingPorts(portsOf(before.Tenant), portsOf(t))
	if !sameTenant(before.Tenant, t) {
		if err := tenants.Validate([]tenants.Tenant{t}, nil); err != nil {
			return control.InvalidModel(err, control.InTenant(""))
		}
		if _, err := r.UpdateTenant(ctx, control.Tenant{Tenant: t, Fabric: before.Fabric, Version: before.Version, UpdatedAt: s.Now()}); err != nil {
			return err
		}
		if err := s.revise(ctx, r, before.Fabric, policyChange{said: said, put: []tenants.Tenant{t}}); err != nil {
			return err
		}
	}
	// The tenant sees this event, and must not learn the names of feeds. Claims that change on the same ports are no event of it.
	if len(out.Attached)+len(out.Detached) > 0 {
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
		Before: portList{Tenant: t.Name, Released: missingPorts(was.Ports, out.Ports), Promised: promised(&was)},
		After:  portList{Tenant: t.Name, Claimed: missingPorts(out.Ports, was.Ports), Promised: promised(&out.Feed)}})
}

// promised returns what a feed claims of all its ports together; 0 for none.
func promised(f *control.Feed) (sum quantity.BitRate) {
	for _, rate := range f.Claimed {
		sum += rate
	}
	return sum
}

// portList is one side of an audit entry about a feed: the difference alone, since a feed may have thousands of ports.
type portList struct {
	Tenant   string           `json:"tenant,omitempty"`
	Promised quantity.BitRate `json:"promised_bps,omitempty"` // to workloads, on all ports of the feed
	Claimed  []ident.PortID   `json:"claimed,omitempty"`      // by the feed
	Released []ident.PortID   `json:"released,omitempty"`     // by the feed
	Attached []ident.PortID   `json:"attached,omitempty"`     // to the tenant
	Detached []ident.PortID   `json:"detached,omitempty"`     // from the tenant
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
