package ufm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"fairlane/subnet/ident"
)

// Change is the effect of one request on a partition.
type Change struct {
	PKey ident.PKey
	Kind ChangeKind
	// Before and After are the service levels, for SetSL and Create.
	Before, After ident.SL
	Members       []Member // for Join and Leave
	IPoIB         bool     // for Create and Join
	qos           qos      // for SetSL: what is sent with it
}

// ChangeKind is a kind of change.
type ChangeKind string

// Kinds of changes, in the order in which those of a partition are made.
const (
	Create ChangeKind = "create"
	SetSL  ChangeKind = "set-sl"
	Join   ChangeKind = "join"
	Leave  ChangeKind = "leave"
	Delete ChangeKind = "delete"
)

// String describes a change: "partition 0x10: service level 0 -> 3".
func (c Change) String() string {
	s := "partition " + c.PKey.String() + ": "
	switch c.Kind {
	case Create:
		return s + fmt.Sprintf("new, service level %d", c.After)
	case SetSL:
		return s + fmt.Sprintf("service level %d -> %d", c.Before, c.After)
	case Join, Leave:
		return s + fmt.Sprintf("%d ports %s", len(c.Members), c.Kind)
	}
	return s + string(c.Kind)
}

// Placement is a desired placement.
type Placement struct {
	// Want are the tenants' partitions, without duplicates. Further members in UFM stay.
	Want []Partition
	// Before is the previous placement. Members and partitions that are in Before but not in Want are removed; a
	// partition that is then empty is deleted. A service level that differs from both Before's and Want's was set by
	// another manager.
	Before []Partition
	// Force also sets service levels that another manager changed.
	Force bool
}

// Plan returns the changes of Place, in order: first those that add tenants, then those that remove them, so that no
// tenant's traffic lacks a partition in between. It fails on partitions that must not be placed, and with ErrConflict.
func Plan(have []Partition, p Placement) ([]Change, error) {
	var errs []error
	seen := map[ident.PKey]bool{}
	for i := range p.Want {
		w := &p.Want[i]
		if err := w.validate(); err != nil {
			errs = append(errs, err)
		} else if seen[w.PKey] {
			errs = append(errs, fmt.Errorf("partition %s is wanted twice: want it once", w.PKey))
		}
		seen[w.PKey] = true
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var in, out []Change
	for _, w := range p.Want {
		h, there := find(have, w.PKey)
		b, placed := find(p.Before, w.PKey)
		if there && placed && !p.Force && h.SL != w.SL && h.SL != b.SL {
			errs = append(errs, fmt.Errorf("%w: partition %s has service level %d, we set %d and want %d: find out which manager changed it, or force it",
				ErrConflict, w.PKey, h.SL, b.SL, w.SL))
		}
		in = append(in, addMember(h, there, w)...)
		if gone := without(b.Members, w.Members); len(gone) > 0 {
			out = append(out, removeMember(h, gone)...)
		}
	}
	for _, b := range p.Before {
		if h, there := find(have, b.PKey); there && !seen[b.PKey] && b.validate() == nil {
			out = append(out, removeMember(h, b.Members)...)
			if len(without(h.Members, b.Members)) == 0 {
				out = append(out, Change{PKey: b.PKey, Kind: Delete})
			}
		}
	}
	return append(in, out...), errors.Join(errs...)
}

// addMember lists the changes that bring a partition to the desired state.
func addMember(h Partition, there bool, w Partition) (out []Change) {
	switch {
	case !there:
		out = append(out, Change{PKey: w.PKey, Kind: Create, After: w.SL, IPoIB: w.IPoIB})
		h.IPoIB = w.IPoIB
	case h.SL != w.SL:
		c := Change{PKey: w.PKey, Kind: SetSL, Before: h.SL, After: w.SL}
		if h.qos != nil {
			c.qos = *h.qos
		}
		c.qos.ServiceLevel = w.SL
		out = append(out, c)
	}
	for _, full := range []bool{true, false} {
		var join []Member
		for _, m := range w.Members {
			if m.Full == full && !slices.Contains(h.Members, m) {
				join = append(join, m)
			}
		}
		if len(join) > 0 {
			out = append(out, Change{PKey: w.PKey, Kind: Join, Members: join, IPoIB: h.IPoIB})
		}
	}
	return out
}

// removeMember removes ports that are members.
func removeMember(h Partition, gone []Member) []Change {
	var there []Member
	for _, g := range gone {
		if slices.ContainsFunc(h.Members, func(m Member) bool { return m.Port == g.Port }) {
			there = append(there, g)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return []Change{{PKey: h.PKey, Kind: Leave, Members: there}}
}

func find(all []Partition, k ident.PKey) (Partition, bool) {
	i := slices.IndexFunc(all, func(p Partition) bool { return p.PKey == k })
	if i < 0 {
		return Partition{PKey: k}, false
	}
	return all[i], true
}

// without returns the members of a whose port is not in b.
func without(a, b []Member) (out []Member) {
	for _, m := range a {
		if !slices.ContainsFunc(b, func(o Member) bool { return o.Port == m.Port }) {
			out = append(out, m)
		}
	}
	return out
}

// Place applies partitions and reads them back. It is idempotent: after an error, another call continues where it
// stopped. done are the changes that UFM confirmed, also after a failure.
func (c *Client) Place(ctx context.Context, p Placement) (done []Change, err error) {
	have, err := c.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	changes, err := Plan(have, p)
	if err != nil {
		return nil, err
	}
	for _, ch := range changes {
		if err := c.do(ctx, ch); err != nil {
			return done, fmt.Errorf("%s: %w", ch, err)
		}
		done = append(done, ch)
	}
	if len(changes) == 0 {
		return nil, nil
	}
	if have, err = c.Partitions(ctx); err != nil {
		return done, err
	}
	left, err := Plan(have, p)
	if err != nil || len(left) == 0 {
		return done, err
	}
	return done, fmt.Errorf("%w: it confirmed all, but reads back without %s", ErrRefused, sentence(left))
}

func sentence(cs []Change) string {
	parts := make([]string, len(cs))
	for i, c := range cs {
		parts[i] = c.String()
	}
	return strings.Join(parts, "; ")
}

func (c *Client) do(ctx context.Context, ch Change) error {
	key := keyForm(ch.PKey)
	switch ch.Kind {
	case Create:
		return c.call(ctx, http.MethodPost, "/resources/pkeys/add", addForm{PKey: key, IPoIB: ch.IPoIB, ServiceLevel: ch.After}, nil)
	case SetSL:
		return c.call(ctx, http.MethodPut, "/resources/pkeys/qos_conf", qosForm{PKey: key, qos: ch.qos}, nil)
	case Join:
		f := membersForm{PKey: key, IPoIB: ch.IPoIB, Membership: "limited", GUIDs: guidForms(ch.Members)}
		if ch.Members[0].Full {
			f.Membership = "full"
		}
		return c.call(ctx, http.MethodPost, "/resources/pkeys", f, nil)
	case Leave:
		return c.call(ctx, http.MethodPost, "/actions/remove_guids_from_pkey", removeForm{PKey: key, GUIDs: guidForms(ch.Members)}, nil)
	default:
		return c.call(ctx, http.MethodDelete, "/resources/pkeys/"+key, nil, nil)
	}
}
