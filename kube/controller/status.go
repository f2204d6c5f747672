package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/v1alpha1"
)

// defaultClass is the class of a tenant without classes.
const defaultClass = "default"

// report writes the status of bindings and attachments where it changed, and records the events of pods.
func (p *pass) report(ctx context.Context) error {
	var all []error
	for _, c := range p.claims {
		if err := p.reportBinding(ctx, c); err != nil {
			all = append(all, fmt.Errorf("tenantbinding %s: %w", c.binding.Name, err))
		}
	}
	return errors.Join(append(all, p.reportAttachments(ctx))...)
}

func (p *pass) reportBinding(ctx context.Context, c *claim) error {
	if err := p.ensureFinalizer(ctx, c); err != nil || len(c.binding.Finalizers) == 0 {
		return err
	}
	before := c.binding.Status.DeepCopy()
	p.status(c)
	if equality.Semantic.DeepEqual(*before, c.binding.Status) {
		return nil
	}
	return client.IgnoreNotFound(p.Client.Status().Update(ctx, c.binding))
}

// status sets the status of a binding.
func (p *pass) status(c *claim) {
	t, s, b := p.tenants[c.binding.Spec.Tenant], &c.binding.Status, c.binding
	s.ObservedGeneration = b.Generation
	s.Namespaces, s.Pods, s.Ports = int32(c.namespaces), int32(len(c.pods)), int32(len(c.ports))
	s.ClaimedBps = claimedBps(c)
	p.set(b, v1alpha1.ConditionBound, p.bound(c))
	p.set(b, v1alpha1.ConditionUnambiguous, unambiguous(c))
	p.set(b, v1alpha1.ConditionInForce, p.inForce(c))
	p.set(b, v1alpha1.ConditionSharesHeld, p.sharesHeld(c))
	if errors.Is(t.err, ErrNotFound) {
		s.Weight, s.Classes, s.EntitledBps, s.DeliveredBps, s.ContendedSeconds, s.Plan, s.PolicyRevision = "", nil, nil, nil, nil, "", 0
		return
	}
	if t.err != nil || !p.reached { // classes stay, since nodes apply them; measured figures do not
		s.DeliveredBps, s.ContendedSeconds = nil, nil
		return
	}
	s.Weight, s.EntitledBps = t.tenant.Weight, t.tenant.EntitledBps
	s.DeliveredBps = settled(s.DeliveredBps, t.tenant.DeliveredBps, 0.01, 0)
	s.ContendedSeconds = settled(s.ContendedSeconds, t.tenant.ContendedSeconds, 0.01, 60)
	s.Plan, s.PolicyRevision = p.plan.Name, p.plan.Revision
	s.Classes = p.classes(c)
}

// claimedBps returns the rates booked for a binding's pods on all ports together; nil without any.
func claimedBps(c *claim) *int64 {
	sum := int64(0)
	for _, rate := range c.claimed {
		sum += rate
	}
	if sum == 0 {
		return nil
	}
	return &sum
}

// settled returns the new value of a measured figure, or the old one if it differs from that by at most the fraction, or by
// less than the amount: a status is not written for noise.
func settled(before, now *int64, fraction float64, amount int64) *int64 {
	if before == nil || now == nil || (*now == 0) != (*before == 0) {
		return now
	}
	d := *now - *before
	if d < 0 {
		d = -d
	}
	if float64(d) <= fraction*float64(*before) || d < amount {
		return before
	}
	return now
}

func (p *pass) set(b *v1alpha1.TenantBinding, condition string, v verdict) {
	meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
		Type: condition, Status: v.status, ObservedGeneration: b.Generation, LastTransitionTime: metav1.NewTime(p.Now()), Reason: v.reason, Message: v.text,
	})
}

// failed returns the verdict of an error of the manager.
func failed(b *v1alpha1.TenantBinding, err error) verdict {
	refused := (*RefusedError)(nil)
	switch {
	case errors.Is(err, ErrNotFound):
		return saidNoTenant(b)
	case errors.As(err, &refused):
		return saidRefused(refused)
	case b.DeletionTimestamp != nil:
		return saidRemoving(b)
	}
	return saidUnreachable()
}

func (p *pass) bound(c *claim) verdict {
	b, t := c.binding, p.tenants[c.binding.Spec.Tenant]
	if t.err != nil {
		return failed(b, t.err)
	}
	if !hasClass(t.tenant.Classes, b.Spec.Class) {
		return saidNoClass(b, t.tenant.Classes)
	}
	return saidBound(b)
}

func hasClass(classes []TenantClass, name string) bool {
	if len(classes) == 0 {
		return name == "" || name == defaultClass
	}
	return slices.ContainsFunc(classes, func(c TenantClass) bool { return c.Name == name })
}

func unambiguous(c *claim) verdict {
	if len(c.disputed) == 0 {
		return saidUnambiguous()
	}
	slices.SortFunc(c.disputed, func(a, b dispute) int { return strings.Compare(a.namespace, b.namespace) })
	return saidDisputed(c.disputed)
}

func (p *pass) inForce(c *claim) verdict {
	t := p.tenants[c.binding.Spec.Tenant]
	var mine []BadPort
	for _, bad := range t.bad {
		if c.ports[bad.Port] {
			mine = append(mine, bad)
		}
	}
	switch {
	case t.err != nil:
		return failed(c.binding, t.err)
	case len(mine) > 0:
		return saidBadPorts(p.fabric, mine)
	case len(c.ports) == 0 && p.force.status == metav1.ConditionTrue:
		return saidNoAttachments()
	}
	return p.force
}

func (p *pass) sharesHeld(c *claim) verdict {
	share, ok := p.shares.Tenants[c.binding.Spec.Tenant]
	if !p.reached || !ok || p.stale() {
		return saidNotMeasured()
	}
	if v, ok := sharesVerdicts[share.Contention]; ok {
		return v
	}
	if share.Received == nil {
		return saidNotMeasured()
	}
	if *share.Received < 1-p.shares.Tolerance {
		return saidBelow()
	}
	return saidHeld()
}

// classes returns the classes of the binding's tenant with what the plan in force assigns to them.
func (p *pass) classes(c *claim) []v1alpha1.BindingClass {
	t := p.tenants[c.binding.Spec.Tenant].tenant
	var sl, dscp, share []*int32
	for _, pl := range p.plan.Placements {
		if pl.Tenant == c.binding.Spec.Tenant {
			sl, dscp = append(sl, pl.SL), append(dscp, pl.DSCP)
			if pl.Share != nil { // a port that is not divided says nothing about others
				share = append(share, pl.Share)
			}
		}
	}
	class := v1alpha1.BindingClass{Name: defaultClass, Weight: "1", SL: uniform(sl), DSCP: uniform(dscp), ShareOf1000: uniform(share)}
	if t.CapBps > 0 {
		class.MaxMbps = new(t.CapBps / 1e6)
	}
	if len(t.Classes) == 0 {
		return []v1alpha1.BindingClass{class}
	}
	all := make([]v1alpha1.BindingClass, len(t.Classes))
	for i, tc := range t.Classes {
		all[i] = class
		all[i].Name, all[i].Weight = tc.Name, tc.Weight
	}
	slices.SortFunc(all, func(a, b v1alpha1.BindingClass) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// uniform returns the value that all have, nil if there is none or they differ.
func uniform(all []*int32) *int32 {
	if len(all) == 0 || slices.ContainsFunc(all, func(v *int32) bool { return !equality.Semantic.DeepEqual(v, all[0]) }) {
		return nil
	}
	return all[0]
}
