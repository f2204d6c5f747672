package tenancy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// AnyTag matches any version of a part of a tenant.
const AnyTag = "*"

// Tag identifies the contents of a part of a tenant: an attachment or a class. Changes of other parts do not affect it,
// so that two people can edit two parts concurrently.
func Tag(part any) string {
	b, err := json.Marshal(part)
	if err != nil {
		return "" // cannot happen: parts are plain values
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// TagError says that a part of a tenant has changed since the caller read it.
type TagError struct{ Kind, Name string }

var _ phrase.Sentence = (*TagError)(nil)

// Error names the part.
func (e *TagError) Error() string { return e.Sentence().String() }

// Sentence returns the error as a localisable text.
func (e *TagError) Sentence() phrase.Text {
	return phrase.Of("problem.part-changed", "kind", control.KindText(e.Kind), "name", e.Name)
}

// Is matches ErrPrecondition.
func (e *TagError) Is(target error) bool { return target == control.ErrPrecondition }

// unchanged returns a *TagError when a part's tag differs from the one that the caller read, unless that is AnyTag.
func unchanged(tag string, part any, kind, name string) error {
	if tag != AnyTag && tag != Tag(part) {
		return &TagError{kind, name}
	}
	return nil
}

// unused returns a *ConflictError when declared flows of a tenant use a part of it; what describes the use.
func unused(ctx context.Context, r control.Repos, fabric, tenant string, what phrase.Text, needs func(tenants.Flow) bool) error {
	flows, err := r.FlowsOf(ctx, fabric, []string{tenant})
	if err == nil && slices.ContainsFunc(flows, needs) {
		err = &control.ConflictError{Code: "in-use", Said: phrase.Of("problem.tenant-flows-use", "tenant", tenant, "what", what)}
	}
	return err
}

// editTenant applies edit to a tenant, validates it with all others, and creates the next revision.
func (s *Tenancy) editTenant(ctx context.Context, fabric, name string, said phrase.Text, edit func(control.Repos, *tenants.Tenant) error) error {
	return s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		before, err := r.Tenant(ctx, fabric, name)
		if err != nil {
			return err
		}
		t := before.Tenant
		t.Classes, t.Attachments = slices.Clone(t.Classes), slices.Clone(t.Attachments)
		if err := edit(r, &t); err != nil || sameTenant(before.Tenant, t) {
			return err
		}
		if err := tenants.Validate([]tenants.Tenant{t}, nil); err != nil {
			return control.InvalidModel(err, inPart)
		}
		if err := control.CheckWhole(ctx, r, fabric, t, inPart); err != nil {
			return err
		}
		if _, err := s.updateTenant(ctx, r, before, before.Version, t); err != nil {
			return err
		}
		return s.revise(ctx, r, fabric, policyChange{said: said, put: []tenants.Tenant{t}})
	})
}

// inPart maps a fault to its place in a request whose body is one part of a tenant. A fault elsewhere in the tenant, or in
// a flow that no longer has its part, is in no field of it.
func inPart(f *tenants.FieldError) string {
	i := strings.Index(f.Field, "].")
	if f.Flow >= 0 || i < 0 {
		return ""
	}
	return "/" + f.Field[i+len("]."):]
}

// attachment finds the attachment of a tenant at a port. text is the port's form in answers, or any name in the topology.
func (s *Tenancy) attachment(ctx context.Context, r control.Repos, fabric string, t *tenants.Tenant, text string) (int, error) {
	missing := &control.NotFoundError{Kind: "attachment", Name: text}
	id, err := ident.ParsePortID(text)
	if err != nil {
		_, topo, err := s.Latest(ctx, r, fabric)
		switch {
		case errors.Is(err, control.ErrConflict): // before the first discovery no port has a name
			return 0, missing
		case err != nil:
			return 0, err
		}
		ref, err := resolveEndpoint(topo, text)
		if err != nil {
			return 0, missing
		}
		id = topo.PortID(ref)
	}
	i := slices.IndexFunc(t.Attachments, func(a tenants.Attachment) bool { return a.Port == id })
	if i < 0 {
		return 0, missing
	}
	return i, nil
}

// Attachment returns one attachment of a tenant.
func (s *Tenancy) Attachment(ctx context.Context, fabric, tenant, port string) (a tenants.Attachment, err error) {
	err = s.Store.View(ctx, func(r control.Repos) error {
		t, err := r.Tenant(ctx, fabric, tenant)
		if err != nil {
			return err
		}
		i, err := s.attachment(ctx, r, fabric, &t.Tenant, port)
		if err == nil {
			a = t.Attachments[i]
		}
		return err
	})
	return a, err
}

// AddAttachment attaches a tenant to one more port, or adds the operator's claim to an attachment of feeds.
func (s *Tenancy) AddAttachment(ctx context.Context, fabric, tenant string, in AttachmentInput) (a tenants.Attachment, err error) {
	if in.FeedOnly {
		return a, control.Invalid("/feed_only", phrase.Of("problem.feed-only-add"))
	}
	err = s.editTenant(ctx, fabric, tenant, phrase.Of("event.attached", "tenant", tenant, "port", control.Clipped(in.Port)), func(r control.Repos, t *tenants.Tenant) error {
		_, topo, err := s.Latest(ctx, r, fabric)
		if err != nil {
			return err
		}
		ref, err := resolveEndpoint(topo, in.Port)
		if err != nil {
			return control.InvalidFrom("/port", err)
		}
		a = tenants.Attachment{Port: topo.PortID(ref), SL: in.SL}
		at, had := slices.BinarySearchFunc(t.Attachments, a, func(x, y tenants.Attachment) int { return x.Port.Compare(y.Port) })
		switch {
		case had && t.Attachments[at].FeedOnly:
			a.Claimed, a.NodeFunctions = t.Attachments[at].Claimed, t.Attachments[at].NodeFunctions
			t.Attachments[at] = a
			return nil
		case had:
			return &control.ConflictError{Code: "already-exists", Said: phrase.Of("problem.attached", "tenant", tenant, "port", a.Port)}
		}
		t.Attachments = slices.Insert(t.Attachments, at, a)
		return nil
	})
	return a, err
}

// PutAttachment changes the service level of an attachment with that tag, or AnyTag; nil lets the compiler choose. A
// service level on an attachment of feeds adds the operator's claim.
func (s *Tenancy) PutAttachment(ctx context.Context, fabric, tenant, port, tag string, sl *ident.SL) (a tenants.Attachment, err error) {
	err = s.editTenant(ctx, fabric, tenant, phrase.Of("event.service-level", "tenant", tenant, "port", control.Clipped(port)), func(r control.Repos, t *tenants.Tenant) error {
		i, err := s.attachment(ctx, r, fabric, t, port)
		if err != nil {
			return err
		}
		if err := unchanged(tag, t.Attachments[i], "attachment", port); err != nil {
			return err
		}
		t.Attachments[i].SL = sl
		t.Attachments[i].FeedOnly = t.Attachments[i].FeedOnly && sl == nil
		a = t.Attachments[i]
		return nil
	})
	return a, err
}

// DeleteAttachment removes the operator's claim of a port that none of the tenant's declared flows uses. While a feed
// claims the port, the tenant stays attached without a pinned service level; an attachment that only feeds claim is a
// *ConflictError.
func (s *Tenancy) DeleteAttachment(ctx context.Context, fabric, tenant, port, tag string) error {
	return s.editTenant(ctx, fabric, tenant, phrase.Of("event.detached", "tenant", tenant, "port", control.Clipped(port)), func(r control.Repos, t *tenants.Tenant) error {
		i, err := s.attachment(ctx, r, fabric, t, port)
		if err != nil {
			return err
		}
		if err := unchanged(tag, t.Attachments[i], "attachment", port); err != nil {
			return err
		}
		id := t.Attachments[i].Port
		if err := unused(ctx, r, fabric, tenant, phrase.Of("problem.use-port", "port", id), func(f tenants.Flow) bool { return f.Src == id || f.Dst == id }); err != nil {
			return err
		}
		feeds, err := r.Feeds(ctx, fabric, tenant)
		if err != nil {
			return err
		}
		if names := claimants(feeds)(id); t.Attachments[i].FeedOnly {
			return &control.ConflictError{Code: "in-use", Said: phrase.Of("problem.feeds-claim", "tenant", tenant, "port", id, "feeds", names)}
		} else if len(names) > 0 {
			t.Attachments[i].SL, t.Attachments[i].FeedOnly = nil, true
			return nil
		}
		t.Attachments = slices.Delete(t.Attachments, i, i+1)
		return nil
	})
}

func classAt(t *tenants.Tenant, name string) (int, error) {
	i := slices.IndexFunc(t.Classes, func(c tenants.Class) bool { return c.Name == name })
	if i < 0 {
		return 0, &control.NotFoundError{Kind: "class", Name: name}
	}
	return i, nil
}

// Class returns one class of a tenant.
func (s *Tenancy) Class(ctx context.Context, fabric, tenant, class string) (c tenants.Class, err error) {
	t, err := s.Tenant(ctx, fabric, tenant)
	if err != nil {
		return c, err
	}
	i, err := classAt(&t.Tenant, class)
	if err == nil {
		c = t.Classes[i]
	}
	return c, err
}

// AddClass appends a class to a tenant.
func (s *Tenancy) AddClass(ctx context.Context, fabric, tenant string, c tenants.Class) error {
	return s.editTenant(ctx, fabric, tenant, phrase.Of("event.class-added", "tenant", tenant, "class", c.Name), func(_ control.Repos, t *tenants.Tenant) error {
		if _, err := classAt(t, c.Name); err == nil {
			return &control.ConflictError{Code: "already-exists", Said: phrase.Of("problem.class-exists", "tenant", tenant, "class", c.Name)}
		}
		t.Classes = append(t.Classes, c)
		return nil
	})
}

// PutClass changes the weight of a class with that tag, or AnyTag.
func (s *Tenancy) PutClass(ctx context.Context, fabric, tenant, tag string, c tenants.Class) error {
	return s.editTenant(ctx, fabric, tenant, phrase.Of("event.class-weight", "class", c.Name, "tenant", tenant, "weight", c.Weight), func(_ control.Repos, t *tenants.Tenant) error {
		i, err := classAt(t, c.Name)
		if err != nil {
			return err
		}
		if err := unchanged(tag, t.Classes[i], "class", c.Name); err != nil {
			return err
		}
		t.Classes[i] = c
		return nil
	})
}

// DeleteClass removes a class that none of the tenant's declared flows uses.
func (s *Tenancy) DeleteClass(ctx context.Context, fabric, tenant, class, tag string) error {
	return s.editTenant(ctx, fabric, tenant, phrase.Of("event.class-removed", "tenant", tenant, "class", class), func(r control.Repos, t *tenants.Tenant) error {
		i, err := classAt(t, class)
		if err != nil {
			return err
		}
		if err := unchanged(tag, t.Classes[i], "class", class); err != nil {
			return err
		}
		// Flows without a class are of the default one. Where it is the only class, an implied one takes its place.
		implied := class == tenants.DefaultClass && len(t.Classes) > 1
		if err := unused(ctx, r, fabric, tenant, phrase.Of("problem.of-class", "class", class), func(f tenants.Flow) bool {
			return f.Class == class || f.Class == "" && implied
		}); err != nil {
			return err
		}
		t.Classes = slices.Delete(t.Classes, i, i+1)
		return nil
	})
}
