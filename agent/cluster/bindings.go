package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
	"fairlane/internal/durable"
	"fairlane/kube/v1alpha1"
)

// Bindings answers which class the pods of a namespace have, from memory. It implements pods.Bindings and pods.Notifier.
type Bindings struct {
	file    string // empty: none
	now     func() time.Time
	changed chan struct{}

	written time.Time // value of confirmed in the file; only update uses it

	mu        sync.RWMutex
	known     bool // read once, in this run or an earlier one
	connected bool
	confirmed time.Time // when it was last known to be complete
	bound     map[string]Bound
}

var (
	_ pods.Bindings = (*Bindings)(nil)
	_ pods.Notifier = (*Bindings)(nil)
)

// Bound is the binding of a namespace.
type Bound struct {
	Name       string                    `json:"name"` // of the TenantBinding
	Tenant     string                    `json:"tenant"`
	Class      string                    `json:"class"` // of pods that have no other
	FailPolicy podsock.FailPolicy        `json:"fail_policy"`
	CachedFor  time.Duration             `json:"cached_for"`
	Classes    map[string]podsock.Levers `json:"classes"`
	Weights    map[string]float64        `json:"weights,omitempty"` // of classes
	// Shares are those of the plan in force on the node's ports, in thousandths: they win over those of the classes. 0: none.
	Shares map[string]uint16 `json:"shares,omitempty"`
	// Problem says why new pods can have no class; empty: they can.
	Problem string `json:"problem,omitempty"`
}

// stored is the file of bindings.
type stored struct {
	Version   int              `json:"version"`
	Confirmed time.Time        `json:"confirmed"`
	Bound     map[string]Bound `json:"bound"` // by namespace
}

const storedVersion = 1

// maxFile bounds the file: 10,000 bound namespaces take less than 4 MB.
const maxFile = 64 << 20

// refresh is the time between two writes of a file whose bindings did not change.
const refresh = time.Minute

// openBindings reads the bindings of an earlier run. A damaged file is an error: without it the agent would not know that
// a namespace is bound, and would let its pods start without a class.
func openBindings(file string, now func() time.Time) (*Bindings, error) {
	b := &Bindings{file: file, now: now, changed: make(chan struct{}, 1), bound: map[string]Bound{}}
	if file == "" {
		return b, nil
	}
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return b, nil
	case err != nil:
		return nil, err
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s: found %d bytes, want at most %d", file, info.Size(), maxFile)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s: damaged, delete it to start without bindings: %w", file, err)
	}
	if s.Version != storedVersion {
		return nil, fmt.Errorf("%s: version: found %d, want %d", file, s.Version, storedVersion)
	}
	b.known, b.confirmed, b.written = true, s.Confirmed, s.Confirmed
	if s.Bound != nil {
		b.bound = s.Bound
	}
	return b, nil
}

// Changed implements pods.Notifier.
func (b *Bindings) Changed() <-chan struct{} { return b.changed }

// Binding implements pods.Bindings. The age is 0 while the API server answers.
func (b *Bindings) Binding(namespace string) (pods.Binding, time.Duration, pods.State) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if !b.known {
		return pods.Binding{}, 0, pods.Unknown
	}
	var age time.Duration
	if !b.connected {
		age = max(0, b.now().Sub(b.confirmed)) // a clock that was set back must not make it negative
	}
	n, ok := b.bound[namespace]
	if !ok {
		return pods.Binding{}, age, pods.Unbound
	}
	return pods.Binding{
		Name: n.Name, Tenant: n.Tenant, Class: n.Class, Levers: n.Classes[n.Class], Classes: n.Classes, Shares: n.Shares, Weights: n.Weights,
		FailPolicy: n.FailPolicy, CachedFor: n.CachedFor, Problem: n.Problem,
	}, age, pods.Bound
}

// lost records that the bindings are no longer kept up to date.
func (b *Bindings) lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.connected {
		b.connected, b.confirmed = false, b.now()
	}
}

// update replaces all bindings, which are complete at this time. It is for one caller at a time.
func (b *Bindings) update(bound map[string]Bound) error {
	now := b.now()
	if !b.replace(bound, now) && now.Sub(b.written) < refresh || b.file == "" {
		return nil
	}
	text, err := json.Marshal(stored{storedVersion, now, bound})
	if err == nil {
		err = durable.WriteFile(b.file, text, 0o600) // without mu: pods that start must not wait for the disk
	}
	if err != nil {
		b.written = time.Time{} // the next update tries again
		return err
	}
	b.written = now
	return nil
}

// replace replaces all bindings in memory, and reports whether they changed.
func (b *Bindings) replace(bound map[string]Bound, now time.Time) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed = !b.known || !reflect.DeepEqual(b.bound, bound)
	b.known, b.connected, b.confirmed, b.bound = true, true, now, bound
	if changed {
		select {
		case b.changed <- struct{}{}:
		default:
		}
	}
	return changed
}

// bindingsOf returns the binding of each bound namespace. A namespace that two bindings select has none that can be used.
func bindingsOf(bindings []*v1alpha1.TenantBinding, namespaces []*corev1.Namespace, attachments []*v1alpha1.FabricAttachment) map[string]Bound {
	slices.SortFunc(bindings, func(a, b *v1alpha1.TenantBinding) int { return strings.Compare(a.Name, b.Name) })
	shares := sharesOf(attachments)
	out, disputed := map[string]Bound{}, map[string]bool{}
	for _, b := range bindings {
		selector := b.Selector()
		for _, n := range namespaces {
			if !selector.Matches(labels.Set(n.Labels)) {
				continue
			}
			first, taken := out[n.Name]
			switch {
			case !taken:
				bound := boundBy(b)
				bound.Shares = shares[b.Name]
				out[n.Name] = bound
			case !disputed[n.Name]:
				disputed[n.Name] = true
				first.Problem = fmt.Sprintf("namespace %s is selected by the tenant bindings %s and %s, want one", n.Name, first.Name, b.Name)
				out[n.Name] = first
			}
		}
	}
	return out
}

// maxWeight bounds the weight of a class, as the service does.
const maxWeight = 1e6

// sharesOf returns the shares that the controller wrote into the attachments of the node, by binding and port. While it writes a new
// share into one after the other, the smaller one counts: together they must not exceed the port.
func sharesOf(attachments []*v1alpha1.FabricAttachment) map[string]map[string]uint16 {
	out := map[string]map[string]uint16{}
	for _, a := range attachments {
		planned := a.Status.Planned
		if planned == nil || planned.ShareOf1000 == nil || *planned.ShareOf1000 < 0 || *planned.ShareOf1000 > 1000 || a.Spec.Binding == "" || a.Spec.Device.Port == "" {
			continue
		}
		of := out[a.Spec.Binding]
		if of == nil {
			of = map[string]uint16{}
			out[a.Spec.Binding] = of
		}
		share := uint16(*planned.ShareOf1000)
		if known, ok := of[a.Spec.Device.Port]; !ok || share < known {
			of[a.Spec.Device.Port] = share
		}
	}
	return out
}

// boundBy returns what a binding gives to its namespaces.
func boundBy(b *v1alpha1.TenantBinding) Bound {
	out := Bound{Name: b.Name, Tenant: b.Spec.Tenant, Class: b.Spec.Class, FailPolicy: podsock.Closed, CachedFor: b.Spec.CachedFor.Duration, Classes: map[string]podsock.Levers{}, Weights: map[string]float64{}}
	if b.Spec.FailPolicy == v1alpha1.FailOpen {
		out.FailPolicy = podsock.Open
	}
	for i := range b.Status.Classes {
		c := &b.Status.Classes[i]
		out.Classes[c.Name] = leversOf(c)
		if w, err := strconv.ParseFloat(c.Weight, 64); err == nil && w > 0 && w <= maxWeight {
			out.Weights[c.Name] = w
		}
	}
	switch _, ok := out.Classes[out.Class]; {
	case len(out.Classes) == 0:
		out.Problem = fmt.Sprintf("tenant binding %s has no classes yet: the controller has not read tenant %s from the manager", b.Name, b.Spec.Tenant)
	case !ok:
		out.Problem = fmt.Sprintf("tenant binding %s: found no class %q of tenant %s, want %s", b.Name, out.Class, out.Tenant, strings.Join(slices.Sorted(maps.Keys(out.Classes)), ", "))
	}
	return out
}

// ecnCapable is the ECN field of packets that switches may mark (RFC 3168, section 5).
const ecnCapable = 2

// leversOf returns what a class sets on the devices of its pods. A class that is in force nowhere yet sets nothing.
func leversOf(c *v1alpha1.BindingClass) podsock.Levers {
	var out podsock.Levers
	if c.MaxMbps != nil && *c.MaxMbps > 0 && *c.MaxMbps <= 1<<31 {
		out.MaxMbps = new(uint32(*c.MaxMbps))
	}
	if c.ShareOf1000 != nil && *c.ShareOf1000 > 0 && *c.ShareOf1000 <= 1000 {
		out.ShareOf1000 = new(uint16(*c.ShareOf1000))
	}
	if c.DSCP != nil && *c.DSCP >= 0 && *c.DSCP <= 63 {
		out.TOS = new(uint8(*c.DSCP<<2 | ecnCapable))
	}
	return out
}
