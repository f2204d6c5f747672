package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlane/kube/v1alpha1"
)

// Fabric is the key of the work queue: one pass brings one fabric up to date.
type Fabric string

// Reconciler runs the passes. Its fields are set before its first pass.
type Reconciler struct {
	Client  client.Client
	Manager Manager
	Events  events.EventRecorder
	Feed    string        // name of this cluster's feed at the manager
	Every   time.Duration // time between passes without a change in the cluster
	Repeat  time.Duration // time after which feeds and plans are requested again without a change
	Now     func() time.Time

	mu     sync.Mutex
	memory map[Fabric]*memory
}

// memory saves requests to the manager. Losing it costs one more request each and changes no outcome.
type memory struct {
	feeds map[string]sent // by tenant
	plans planned
	pods  map[types.UID]string // sentence of the last event
	again repetition
}

// sent is a feed that the manager has accepted.
type sent struct {
	ports []FeedPort
	at    time.Time
	bad   []BadPort // left out
}

// planned is the result of the last plan request since a feed was written, and what it depends on.
type planned struct {
	inForce string
	limit   int
	at      time.Time
	plan    string
	refused *RefusedError // by which its rollout was not started
}

// Reconcile runs a pass.
func (r *Reconciler) Reconcile(ctx context.Context, fabric Fabric) (reconcile.Result, error) {
	c, err := r.read(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	all := claims(c, string(fabric))
	if len(all) == 0 {
		r.forget(fabric)
		return reconcile.Result{}, nil
	}
	p := &pass{Reconciler: r, fabric: string(fabric), claims: all, memory: r.remembered(fabric), tenants: map[string]*tenantState{}}
	p.push(ctx)
	if err := p.report(ctx); err != nil {
		return reconcile.Result{}, err // the library tries again earlier than Every, and warns of a result besides the error
	}
	return reconcile.Result{RequeueAfter: p.next()}, nil
}

// follow is the time between two passes while a rollout runs: at its end the status of every attachment may change.
const follow = 2 * time.Second

// next returns the time until the next pass without a change in the cluster.
func (p *pass) next() time.Duration {
	if p.rolling {
		return min(follow, p.Every)
	}
	return p.Every
}

// read reads the cluster from the caches. Bindings are copies, which the pass changes. Namespaces and attachments are the caches' own,
// since a copy of all would cost more than the rest of the pass: they must not be changed.
func (r *Reconciler) read(ctx context.Context) (cluster, error) {
	var bindings v1alpha1.TenantBindingList
	var namespaces corev1.NamespaceList
	var attachments v1alpha1.FabricAttachmentList
	for l, shared := range map[client.ObjectList]client.UnsafeDisableDeepCopyOption{&bindings: false, &namespaces: true, &attachments: true} {
		if err := r.Client.List(ctx, l, shared); err != nil {
			return cluster{}, fmt.Errorf("list %T: %w", l, err)
		}
	}
	slices.SortFunc(bindings.Items, func(a, b v1alpha1.TenantBinding) int { return strings.Compare(a.Name, b.Name) })
	return cluster{bindings.Items, namespaces.Items, attachments.Items}, nil
}

func (r *Reconciler) remembered(fabric Fabric) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memory == nil {
		r.memory = map[Fabric]*memory{}
	}
	m := r.memory[fabric]
	if m == nil {
		m = &memory{feeds: map[string]sent{}, pods: map[types.UID]string{}}
		r.memory[fabric] = m
	}
	return m
}

func (r *Reconciler) forget(fabric Fabric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.memory, fabric)
}

// pass is one pass over a fabric.
type pass struct {
	*Reconciler
	fabric  string
	claims  []*claim
	memory  *memory
	tenants map[string]*tenantState // by name
	plan    Plan                    // in force
	shares  Shares
	force   verdict // of the whole fabric
	reached bool    // the manager answered for the fabric as a whole
	rolling bool    // a rollout runs
}

// tenantState is what the manager said about one tenant in this pass.
type tenantState struct {
	tenant Tenant
	err    error
	bad    []BadPort
}

// push brings the manager up to date, and reads what the status needs.
func (p *pass) push(ctx context.Context) {
	for _, c := range p.claims {
		name := c.binding.Spec.Tenant
		if p.tenants[name] != nil {
			continue
		}
		t := &tenantState{}
		p.tenants[name] = t
		if t.tenant, t.err = p.Manager.Tenant(ctx, p.fabric, name); t.err != nil {
			if errors.Is(t.err, ErrNotFound) { // a new tenant of this name has no feed
				delete(p.memory.feeds, name)
			}
			p.log(ctx, t.err, "read tenant", name)
			continue
		}
		t.bad, t.err = p.putFeed(ctx, name)
		if t.err != nil {
			p.log(ctx, t.err, "write feed of tenant", name)
		}
	}
	if !slices.ContainsFunc(p.claims, func(c *claim) bool { return p.tenants[c.binding.Spec.Tenant].err == nil }) {
		return // the fabric is not there or the manager is away
	}
	refused := (*RefusedError)(nil)
	err := p.bringInForce(ctx)
	if errors.As(err, &refused) { // the fabric is reachable, and its shares can be read
		p.log(ctx, err, "bring in force on fabric", p.fabric)
		p.force, err = saidRefused(refused), nil
	}
	if err == nil {
		p.shares, err = p.Manager.Shares(ctx, p.fabric)
	}
	if err != nil {
		p.log(ctx, err, "bring in force on fabric", p.fabric)
		p.force = saidUnreachable()
		return
	}
	p.reached = true
}

func (p *pass) log(ctx context.Context, err error, doing, what string) {
	if !errors.Is(err, ErrNotFound) {
		log.FromContext(ctx).Error(err, doing, "name", what, "fabric", p.fabric)
	}
}

// putFeed reports the ports of a tenant. It leaves out ports that the fabric does not accept, and returns them: one bad name
// must not hold up the others.
func (p *pass) putFeed(ctx context.Context, tenant string) ([]BadPort, error) {
	ports := feed(p.claims, tenant)
	if s, ok := p.memory.feeds[tenant]; ok && slices.Equal(s.ports, ports) && p.Now().Sub(s.at) < p.Repeat {
		return s.bad, nil
	}
	var left []BadPort
	err := p.Manager.PutFeed(ctx, p.fabric, tenant, p.Feed, ports)
	if bad := (*BadPortsError)(nil); errors.As(err, &bad) {
		left = bad.Ports
		good := slices.DeleteFunc(slices.Clone(ports), func(f FeedPort) bool {
			return slices.ContainsFunc(left, func(b BadPort) bool { return b.Port == f.Port })
		})
		err = p.Manager.PutFeed(ctx, p.fabric, tenant, p.Feed, good)
	}
	if err != nil {
		delete(p.memory.feeds, tenant)
		return nil, err
	}
	p.memory.feeds[tenant], p.memory.plans = sent{ports, p.Now(), left}, planned{}
	return left, nil
}

// bringInForce plans the current declarations and starts the rollout, if the bindings allow it.
func (p *pass) bringInForce(ctx context.Context) error {
	var err error
	if p.plan, err = p.Manager.InForce(ctx, p.fabric); err != nil {
		return err
	}
	if p.plan.Name == "" {
		p.force = saidNoPlan(p.fabric)
		return nil
	}
	last, err := p.Manager.LastRollout(ctx, p.fabric)
	if err != nil {
		return err
	}
	limit := p.limit()
	plan, err := p.compile(ctx, limit)
	if err != nil {
		return err
	}
	p.rolling = last.State == rolloutRunning
	switch {
	case last.State == rolloutRunning && last.Plan == plan:
		p.force = saidRolling(last)
	case plan == p.plan.Name:
		p.force = saidInForce(plan)
	case last.State == rolloutRunning:
		p.force = saidWaiting(last)
	case last.Plan == plan && last.State != rolloutSucceeded && !repeatable(last):
		p.force = saidRolloutEnded(last)
	case last.Plan == plan && last.State != rolloutSucceeded && !p.memory.again.due(last, p.Now()):
		p.force = saidRolloutFailed(last, p.memory.again.at)
	case limit == 0:
		p.force = saidPlanned(p.fabric, plan)
	default:
		return p.start(ctx, plan, limit)
	}
	return nil
}

// States of rollouts that the controller distinguishes, as in the API.
const (
	rolloutRunning   = "running"
	rolloutSucceeded = "succeeded"
)

// start starts the rollout of a plan. A refusal is remembered with the plan.
func (p *pass) start(ctx context.Context, plan string, limit int) error {
	refused := p.memory.plans.refused
	if refused == nil {
		started, err := p.Manager.Rollout(ctx, p.fabric, plan, limit)
		if err == nil {
			log.FromContext(ctx).Info("rollout started", "fabric", p.fabric, "rollout", started.ID, "plan", plan)
			p.force, p.rolling = saidRolling(started), true
			return nil
		}
		if !errors.As(err, &refused) {
			return err
		}
		if refused.Code == NeedsOperator || refused.Code == TooManySettings {
			p.memory.plans.refused = refused
		}
	}
	p.force = saidNotStarted(p.fabric, plan, refused)
	return nil
}

// compile returns the name of the plan of the current declarations, from memory if neither the feeds, the limit nor the plan in
// force changed.
func (p *pass) compile(ctx context.Context, limit int) (string, error) {
	m := &p.memory.plans
	if m.inForce == p.plan.Name && m.limit == limit && p.Now().Sub(m.at) < p.Repeat {
		return m.plan, nil
	}
	plan, err := p.Manager.Plan(ctx, p.fabric)
	if err != nil {
		return "", err
	}
	*m = planned{inForce: p.plan.Name, limit: limit, at: p.Now(), plan: plan}
	return plan, nil
}

// limit returns the smallest limit of the fabric's bindings: a rollout brings the changes of all of them.
func (p *pass) limit() int {
	limit := p.claims[0].binding.Budget()
	for _, c := range p.claims[1:] {
		limit = min(limit, c.binding.Budget())
	}
	return limit
}

// ensureFinalizer adds the finalizer to a binding, or removes it from a deleted one whose feed is up to date.
func (p *pass) ensureFinalizer(ctx context.Context, c *claim) error {
	b := c.binding
	before := b.DeepCopy()
	if b.DeletionTimestamp == nil {
		if !controllerutil.AddFinalizer(b, v1alpha1.FeedFinalizer) {
			return nil
		}
	} else {
		t := p.tenants[b.Spec.Tenant]
		if t.err != nil && !errors.Is(t.err, ErrNotFound) || !controllerutil.RemoveFinalizer(b, v1alpha1.FeedFinalizer) {
			return nil
		}
	}
	// The patch has the whole list: with the lock it does not undo a change by another controller since the pass read the binding.
	return client.IgnoreNotFound(p.Client.Patch(ctx, b, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}
