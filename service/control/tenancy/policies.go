package tenancy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/tenants"
)

// PolicyContent is a revision with its contents.
type PolicyContent struct {
	control.Policy
	List    []tenants.Tenant // by name
	Traffic []tenants.Flow   // in the order declared
	Options policy.Options
}

// ownOnly returns the contents without attachments that only feeds claim.
func (c PolicyContent) ownOnly() PolicyContent {
	c.List = tenants.OwnOnly(c.List)
	return c
}

// policyChange is the change of a fabric's policy in one transaction.
type policyChange struct {
	said     phrase.Text
	put      []tenants.Tenant
	gone     []string
	flows    []tenants.Flow // nil: unchanged
	options  *policy.Options
	restores int64
}

func (c *policyChange) parts() ([]control.PolicyPart, error) {
	var parts []control.PolicyPart
	add := func(kind control.PartKind, name string, v any) error {
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode %s of a policy: %w", kind, err)
		}
		parts = append(parts, control.PolicyPart{Kind: kind, Name: name, Body: b})
		return nil
	}
	for _, t := range c.put {
		if err := add(control.PartTenant, t.Name, t); err != nil {
			return nil, err
		}
	}
	for _, name := range c.gone {
		parts = append(parts, control.PolicyPart{Kind: control.PartTenant, Name: name})
	}
	if c.flows != nil {
		if err := add(control.PartFlows, "", c.flows); err != nil {
			return nil, err
		}
	}
	if c.options != nil {
		if err := add(control.PartOptions, "", *c.options); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// revise creates the next revision. The first one of a fabric holds its whole state, which exceeds the change where
// tenants are older than revisions.
func (s *Tenancy) revise(ctx context.Context, r control.Repos, fabric string, c policyChange) error {
	switch _, err := r.Policy(ctx, fabric, 0); {
	case errors.Is(err, control.ErrNotFound):
		list, err := r.AllTenants(ctx, fabric)
		if err != nil {
			return err
		}
		c.put, c.gone = control.Plain(list), nil
		if c.flows, _, err = r.Flows(ctx, fabric); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	parts, err := c.parts()
	if err != nil || len(parts) == 0 {
		return err
	}
	p := control.Policy{Fabric: fabric, Said: c.said, Actor: control.Actor(ctx), Restores: c.restores, Flows: -1, CreatedAt: s.Now()}
	if c.flows != nil {
		p.Flows = len(c.flows)
	}
	_, err = r.AddPolicy(ctx, p, parts)
	return err
}

// ListPolicies returns the revisions of a fabric's policy, newest first.
func (s *Tenancy) ListPolicies(ctx context.Context, fabric string, p control.Page) (list []control.Policy, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { list, next, err = r.ListPolicies(ctx, fabric, p); return err })
	return list, next, err
}

// Policy returns a revision with its contents; number 0 is the latest.
func (s *Tenancy) Policy(ctx context.Context, fabric string, number int64) (c PolicyContent, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { c, err = ContentOf(ctx, r, fabric, number); return err })
	return c, err
}

// ContentOf returns the contents of a revision of a fabric.
func ContentOf(ctx context.Context, r control.Repos, fabric string, number int64) (PolicyContent, error) {
	p, err := r.Policy(ctx, fabric, number)
	if err != nil {
		return PolicyContent{}, err
	}
	parts, err := r.PolicyParts(ctx, fabric, p.Number)
	if err != nil {
		return PolicyContent{}, err
	}
	c := PolicyContent{Policy: p, List: []tenants.Tenant{}, Traffic: []tenants.Flow{}}
	for _, part := range parts {
		var err error
		switch part.Kind {
		case control.PartTenant:
			var t tenants.Tenant
			err = json.Unmarshal(part.Body, &t)
			c.List = append(c.List, t)
		case control.PartFlows:
			err = json.Unmarshal(part.Body, &c.Traffic)
		case control.PartOptions:
			err = json.Unmarshal(part.Body, &c.Options)
		}
		if err != nil {
			return PolicyContent{}, fmt.Errorf("decode %s %s of policy %d of %s: %w", part.Kind, part.Name, p.Number, fabric, err)
		}
	}
	return c, nil
}

// maxLabel bounds a label, in characters.
const maxLabel = 200

// LabelPolicy sets the label of a revision; "" removes it.
func (s *Tenancy) LabelPolicy(ctx context.Context, fabric string, number int64, label string) (p control.Policy, err error) {
	if utf8.RuneCountInString(label) > maxLabel || strings.ContainsFunc(label, func(r rune) bool { return r < ' ' || r == '\x7f' }) {
		return control.Policy{}, control.Invalid("/label", phrase.Of("problem.label", "found", control.Clipped(label)))
	}
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		before, err := r.Policy(ctx, fabric, number)
		if err != nil {
			return err
		}
		if err := r.LabelPolicy(ctx, fabric, number, label); err != nil {
			return err
		}
		if p, err = r.Policy(ctx, fabric, number); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: fabric, Kind: "policy.labelled", Subject: fmt.Sprint(number),
			Said: phrase.Of("event.policy-label", "policy", number, "label", label)}, control.Change{Before: before.Label, After: label})
	})
	return p, err
}

// RestorePolicy restores the tenants, flows and options of a revision, as the next revision. It leaves the claims of feeds
// as they are now, and rejects ports that the fabric no longer has. version is the number of the latest revision that the caller has seen, or AnyVersion. changed is
// false when nothing differs; then there is no new revision.
func (s *Tenancy) RestorePolicy(ctx context.Context, fabric string, number, version int64) (p control.Policy, changed bool, err error) {
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		now, err := ContentOf(ctx, r, fabric, 0)
		if err != nil {
			return err
		}
		if version != control.AnyVersion && version != now.Number {
			return &control.PreconditionError{Kind: "policy of", Name: fabric, Want: version, Have: now.Number}
		}
		then, err := ContentOf(ctx, r, fabric, number)
		if err != nil {
			return err
		}
		if diff := diffPolicies(now.ownOnly(), then.ownOnly()); diff.Empty() {
			p = now.Policy
			return nil
		}
		changed = true
		if err := s.restore(ctx, r, now, then); err != nil {
			return err
		}
		if p, err = r.Policy(ctx, fabric, 0); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: fabric, Kind: "policy.restored", Subject: fmt.Sprint(number),
			Said: phrase.Of("event.policy-restored", "policy", number, "as", p.Number)}, control.Change{Before: now.Number, After: p.Number})
	})
	return p, changed, err
}

func (s *Tenancy) restore(ctx context.Context, r control.Repos, now, then PolicyContent) error {
	set := TenantSet{Prune: true, Flows: make([]FlowInput, len(then.Traffic)), Tenants: make([]TenantInput, len(then.List))}
	for i, t := range then.List {
		in := TenantInput{Name: t.Name, Weight: t.Weight, PKey: t.PKey, Guarantee: t.Guarantee, Cap: t.Cap, Classes: t.Classes}
		for _, a := range t.Attachments {
			in.Attachments = append(in.Attachments, AttachmentInput{Port: a.Port.String(), SL: a.SL, FeedOnly: a.FeedOnly})
		}
		set.Tenants[i] = in
	}
	for i, f := range then.Traffic {
		set.Flows[i] = FlowInput{Tenant: f.Tenant, Class: f.Class, Src: f.Src.String(), Dst: f.Dst.String(), QPs: f.QPs, Demand: f.Demand}
	}
	a, err := s.applyTenants(ctx, r, now.Fabric, set)
	if err != nil {
		return err
	}
	c := a.change(phrase.Of("event.policy-was-restored", "policy", then.Number))
	c.restores = then.Number
	if !control.SameJSON(now.Options, then.Options) { // otherwise their version would grow, and an edit of them be refused
		c.options = &then.Options
	}
	return s.revise(ctx, r, now.Fabric, c)
}

// Options returns the default options of a fabric's plans, and the number of the revision that introduced them, 0 when
// none were set.
func (s *Tenancy) Options(ctx context.Context, fabric string) (o policy.Options, version int64, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { o, version, err = control.OptionsOf(ctx, r, fabric); return err })
	return o, version, err
}

// PutOptions replaces the options at version, as returned by Options, or at AnyVersion.
func (s *Tenancy) PutOptions(ctx context.Context, fabric string, version int64, o policy.Options) (next int64, err error) {
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		effective := o
		if err := control.FollowPlane(ctx, r, fabric, &effective); err != nil {
			return err
		}
		if err := control.CheckOptions(effective); err != nil {
			return err
		}
		before, have, err := control.OptionsOf(ctx, r, fabric)
		switch {
		case err != nil:
			return err
		case version != control.AnyVersion && version != have:
			return &control.PreconditionError{Kind: "options of", Name: fabric, Want: version, Have: have}
		}
		if next = have; have > 0 && control.SameJSON(before, o) {
			return nil
		}
		if err := s.revise(ctx, r, fabric, policyChange{said: phrase.Of("event.options", "fabric", fabric), options: &o}); err != nil {
			return err
		}
		if _, next, err = control.OptionsOf(ctx, r, fabric); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: fabric, Kind: "options.replaced", Subject: fabric, Said: phrase.Of("event.options", "fabric", fabric)},
			control.Change{Before: before, After: o})
	})
	return next, err
}

// PolicyDiff lists the changes from one revision to another.
type PolicyDiff struct {
	From, To       int64
	Added, Removed []tenants.Tenant // by name
	Changed        []TenantDiff     // by name
	FlowsAdded     []tenants.Flow   // at most maxListedFlows; the counts are complete
	FlowsRemoved   []tenants.Flow
	FlowsAddedN    int
	FlowsRemovedN  int
	Before, After  policy.Options // the options
}

// maxListedFlows bounds the flows that a difference lists.
const maxListedFlows = 100

// Empty reports whether the revisions are equal.
func (d *PolicyDiff) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+d.FlowsAddedN+d.FlowsRemovedN == 0 && control.SameJSON(d.Before, d.After)
}

// TenantDiff is a changed tenant.
type TenantDiff struct{ Before, After tenants.Tenant }

// DiffPolicies returns the changes from revision from to revision to; 0 is the latest.
func (s *Tenancy) DiffPolicies(ctx context.Context, fabric string, from, to int64) (d PolicyDiff, err error) {
	err = s.Store.View(ctx, func(r control.Repos) error {
		b, err := ContentOf(ctx, r, fabric, to)
		if err != nil {
			return err
		}
		a, err := ContentOf(ctx, r, fabric, from)
		if err != nil {
			return err
		}
		d = diffPolicies(a, b)
		return nil
	})
	return d, err
}

func diffPolicies(from, to PolicyContent) PolicyDiff {
	d := PolicyDiff{From: from.Number, To: to.Number}
	old := make(map[string]tenants.Tenant, len(from.List))
	for _, t := range from.List {
		old[t.Name] = t
	}
	for _, t := range to.List {
		before, had := old[t.Name]
		delete(old, t.Name)
		switch {
		case !had:
			d.Added = append(d.Added, t)
		case !sameTenant(before, t):
			d.Changed = append(d.Changed, TenantDiff{before, t})
		}
	}
	for _, t := range from.List {
		if _, left := old[t.Name]; left {
			d.Removed = append(d.Removed, t)
		}
	}
	d.FlowsAdded, d.FlowsAddedN = missing(to.Traffic, from.Traffic)
	d.FlowsRemoved, d.FlowsRemovedN = missing(from.Traffic, to.Traffic)
	d.Before, d.After = from.Options, to.Options
	return d
}

// missing returns the flows of a that are not in b, counting duplicates.
func missing(a, b []tenants.Flow) (first []tenants.Flow, n int) {
	have := make(map[tenants.Flow]int, len(b))
	for _, f := range b {
		have[f]++
	}
	for _, f := range a {
		if have[f]--; have[f] >= 0 {
			continue
		}
		if n++; n <= maxListedFlows {
			first = append(first, f)
		}
	}
	return first, n
}
