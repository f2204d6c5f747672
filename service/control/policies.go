package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlane/internal/phrase"
	"fairlane/tenants"
)

// Policy is one revision of what is wanted of a fabric: its tenants, flows and compile options at a moment. Only its
// label ever changes. Every change of tenants, flows or options makes the next revision in its own transaction.
type Policy struct {
	Fabric    string
	Number    int64       // 1, 2, 3 … on a fabric
	Label     string      // people's name for it; empty is none
	Said      phrase.Text // what changed; of revisions from before message ids verbatim English
	Actor     string
	Restores  int64 // the revision that this one is equal to; 0 when it is no restoration
	Tenants   int   // how many there are
	Flows     int
	CreatedAt time.Time
}

// PolicyContent is a revision with all that it holds.
type PolicyContent struct {
	Policy
	List    []tenants.Tenant // by name
	Traffic []tenants.Flow   // in the order declared
	Options CompileOptions
}

// PartKind is a kind of part that revisions are made of.
type PartKind string

// Kinds of parts.
const (
	PartTenant  PartKind = "tenant"
	PartFlows   PartKind = "flows"
	PartOptions PartKind = "options"
)

// PolicyPart is one tenant, all flows or the options of a revision, as JSON.
type PolicyPart struct {
	Kind  PartKind
	Name  string // of a tenant; else empty
	Since int64  // the revision that brought it
	Body  []byte // nil in AddPolicy: it is gone
}

// PolicyRepo keeps revisions.
type PolicyRepo interface {
	// AddPolicy adds the next revision, in which the parts replace those of the same kind and name. Flows below 0
	// are as many as before.
	AddPolicy(ctx context.Context, p Policy, parts []PolicyPart) (Policy, error)
	// Policy returns a revision, 0 for the latest.
	Policy(ctx context.Context, fabric string, number int64) (Policy, error)
	// PolicyParts returns the parts of a revision by kind and name; no kinds are all.
	PolicyParts(ctx context.Context, fabric string, number int64, kinds ...PartKind) ([]PolicyPart, error)
	// ListPolicies returns revisions, newest first.
	ListPolicies(ctx context.Context, fabric string, p Page) (list []Policy, next string, err error)
	LabelPolicy(ctx context.Context, fabric string, number int64, label string) error
}

// policyChange is what one transaction changes of a fabric's policy.
type policyChange struct {
	said     phrase.Text
	put      []tenants.Tenant
	gone     []string
	flows    []tenants.Flow // nil: as before
	options  *CompileOptions
	restores int64
}

func (c *policyChange) parts() ([]PolicyPart, error) {
	var parts []PolicyPart
	add := func(kind PartKind, name string, v any) error {
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode %s of a policy: %w", kind, err)
		}
		parts = append(parts, PolicyPart{Kind: kind, Name: name, Body: b})
		return nil
	}
	for _, t := range c.put {
		if err := add(PartTenant, t.Name, t); err != nil {
			return nil, err
		}
	}
	for _, name := range c.gone {
		parts = append(parts, PolicyPart{Kind: PartTenant, Name: name})
	}
	if c.flows != nil {
		if err := add(PartFlows, "", c.flows); err != nil {
			return nil, err
		}
	}
	if c.options != nil {
		if err := add(PartOptions, "", *c.options); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// revise makes the next revision. The first one of a fabric holds everything that is there, which is more than the
// change where tenants are older than revisions are.
func (s *Service) revise(ctx context.Context, r Repos, fabric string, c policyChange) error {
	switch _, err := r.Policy(ctx, fabric, 0); {
	case errors.Is(err, ErrNotFound):
		list, err := r.AllTenants(ctx, fabric)
		if err != nil {
			return err
		}
		c.put, c.gone = plain(list), nil
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
	p := Policy{Fabric: fabric, Said: c.said, Actor: actor(ctx), Restores: c.restores, Flows: -1, CreatedAt: s.now()}
	if c.flows != nil {
		p.Flows = len(c.flows)
	}
	_, err = r.AddPolicy(ctx, p, parts)
	return err
}

// ListPolicies returns the revisions of a fabric's policy, newest first.
func (s *Service) ListPolicies(ctx context.Context, fabric string, p Page) (list []Policy, next string, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { list, next, err = r.ListPolicies(ctx, fabric, p); return err })
	return list, next, err
}

// Policy returns a revision with all that it holds; number 0 is the latest.
func (s *Service) Policy(ctx context.Context, fabric string, number int64) (c PolicyContent, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { c, err = policyContent(ctx, r, fabric, number); return err })
	return c, err
}

func policyContent(ctx context.Context, r Repos, fabric string, number int64) (PolicyContent, error) {
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
		case PartTenant:
			var t tenants.Tenant
			err = json.Unmarshal(part.Body, &t)
			c.List = append(c.List, t)
		case PartFlows:
			err = json.Unmarshal(part.Body, &c.Traffic)
		case PartOptions:
			err = json.Unmarshal(part.Body, &c.Options)
		}
		if err != nil {
			return PolicyContent{}, fmt.Errorf("decode %s %s of policy %d of %s: %w", part.Kind, part.Name, p.Number, fabric, err)
		}
	}
	return c, nil
}

// LabelPolicy gives a revision a name for people; an empty one takes it away.
func (s *Service) LabelPolicy(ctx context.Context, fabric string, number int64, label string) (p Policy, err error) {
	if len(label) > 200 || strings.ContainsFunc(label, func(r rune) bool { return r < ' ' }) {
		return Policy{}, Invalid("/label", phrase.Of("problem.label", "found", clipped(label)))
	}
	err = s.d.Store.Tx(OnFabric(ctx, fabric), func(r Repos) error {
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
		return s.event(ctx, r, Event{Fabric: fabric, Kind: "policy.labelled", Subject: fmt.Sprint(number),
			Said: phrase.Of("event.policy-label", "policy", number, "label", label)}, change{Before: before.Label, After: label})
	})
	return p, err
}

// RestorePolicy brings tenants, flows and options back to what they were at a revision, as the next revision. Ports
// that the fabric no longer has are refused. version is the latest revision's number that the caller has seen, or
// AnyVersion. changed is false when nothing differs, and then there is no new revision.
func (s *Service) RestorePolicy(ctx context.Context, fabric string, number, version int64) (p Policy, changed bool, err error) {
	err = s.d.Store.Tx(OnFabric(ctx, fabric), func(r Repos) error {
		now, err := policyContent(ctx, r, fabric, 0)
		if err != nil {
			return err
		}
		if version != AnyVersion && version != now.Number {
			return &PreconditionError{Kind: "policy of", Name: fabric, Want: version, Have: now.Number}
		}
		then, err := policyContent(ctx, r, fabric, number)
		if err != nil {
			return err
		}
		if diff := diffPolicies(now, then); diff.Empty() {
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
		return s.event(ctx, r, Event{Fabric: fabric, Kind: "policy.restored", Subject: fmt.Sprint(number),
			Said: phrase.Of("event.policy-restored", "policy", number, "as", p.Number)}, change{Before: now.Number, After: p.Number})
	})
	return p, changed, err
}

func (s *Service) restore(ctx context.Context, r Repos, now, then PolicyContent) error {
	set := TenantSet{Prune: true, Flows: make([]FlowInput, len(then.Traffic)), Tenants: make([]TenantInput, len(then.List))}
	for i, t := range then.List {
		in := TenantInput{Name: t.Name, Weight: t.Weight, PKey: t.PKey, Guarantee: t.Guarantee, Cap: t.Cap, Classes: t.Classes}
		for _, a := range t.Attachments {
			in.Attachments = append(in.Attachments, AttachmentInput{Port: a.Port.String(), SL: a.SL})
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
	c.restores, c.options = then.Number, &then.Options
	return s.revise(ctx, r, now.Fabric, c)
}

// Options returns the options that plans of a fabric are compiled with when none are given, and the number of the
// revision that brought them, 0 when nobody has chosen any.
func (s *Service) Options(ctx context.Context, fabric string) (o CompileOptions, version int64, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { o, version, err = options(ctx, r, fabric); return err })
	return o, version, err
}

func options(ctx context.Context, r Repos, fabric string) (o CompileOptions, version int64, err error) {
	p, err := r.Policy(ctx, fabric, 0)
	if errors.Is(err, ErrNotFound) {
		_, err = r.Fabric(ctx, fabric)
		return o, 0, err
	} else if err != nil {
		return o, 0, err
	}
	parts, err := r.PolicyParts(ctx, fabric, p.Number, PartOptions)
	if err != nil || len(parts) == 0 {
		return o, 0, err
	}
	if err := json.Unmarshal(parts[0].Body, &o); err != nil {
		return o, 0, fmt.Errorf("decode options of %s: %w", fabric, err)
	}
	return o, parts[0].Since, nil
}

// PutOptions replaces the options made against version, as Options gave it, or AnyVersion.
func (s *Service) PutOptions(ctx context.Context, fabric string, version int64, o CompileOptions) (next int64, err error) {
	err = s.d.Store.Tx(OnFabric(ctx, fabric), func(r Repos) error {
		effective := o
		if err := effective.follow(ctx, r, fabric); err != nil {
			return err
		}
		if err := effective.Check(); err != nil {
			return err
		}
		before, have, err := options(ctx, r, fabric)
		switch {
		case err != nil:
			return err
		case version != AnyVersion && version != have:
			return &PreconditionError{Kind: "options of", Name: fabric, Want: version, Have: have}
		}
		if next = have; have > 0 && sameJSON(before, o) {
			return nil
		}
		if err := s.revise(ctx, r, fabric, policyChange{said: phrase.Of("event.options", "fabric", fabric), options: &o}); err != nil {
			return err
		}
		if _, next, err = options(ctx, r, fabric); err != nil {
			return err
		}
		return s.event(ctx, r, Event{Fabric: fabric, Kind: "options.replaced", Subject: fabric, Said: phrase.Of("event.options", "fabric", fabric)},
			change{Before: before, After: o})
	})
	return next, err
}

// sameJSON compares values by what they are stored as.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// PolicyDiff is what changes from one revision to another.
type PolicyDiff struct {
	From, To       int64
	Added, Removed []tenants.Tenant // by name
	Changed        []TenantDiff     // by name
	FlowsAdded     []tenants.Flow   // at most maxListedFlows; the counts are whole
	FlowsRemoved   []tenants.Flow
	FlowsAddedN    int
	FlowsRemovedN  int
	Before, After  CompileOptions // the options
}

// maxListedFlows bounds the flows that a difference lists.
const maxListedFlows = 100

// Empty reports that the revisions hold the same.
func (d *PolicyDiff) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+d.FlowsAddedN+d.FlowsRemovedN == 0 && sameJSON(d.Before, d.After)
}

// TenantDiff is a tenant that is another.
type TenantDiff struct{ Before, After tenants.Tenant }

// DiffPolicies tells what changes from revision from to revision to; 0 is the latest.
func (s *Service) DiffPolicies(ctx context.Context, fabric string, from, to int64) (d PolicyDiff, err error) {
	err = s.d.Store.View(ctx, func(r Repos) error {
		b, err := policyContent(ctx, r, fabric, to)
		if err != nil {
			return err
		}
		a, err := policyContent(ctx, r, fabric, from)
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

// missing returns the flows of a that b has not, as often as a has more of them.
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
