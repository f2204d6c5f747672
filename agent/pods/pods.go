// Package pods is a node's table of pod attachments: which device a pod has, the tenant and class that its namespace is
// bound to, the values that were applied to the device, and those that it had before. A record starts with CNI's ADD, or
// with an allocated claim, and ends with a release, which restores the earlier values.
//
// A record passes through these states; all but the last are in the journal, so that a crash at any time leads to one of
// them:
//
//	(none) --Add--> applying --verified--> applied --Delete, GC, sweep--> releasing --restored--> (none)
//	                   |                      ^
//	                   +--failed, policy open-+ pending: the sweep tries again
//	                   +--failed, policy closed: restored, and (none)
//
// After a crash the agent restores a device that was being applied for the first time, because its ADD was never answered.
//
// The package opens no device and knows no cluster: Devices and Bindings are interfaces.
package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlane/agent/pods/podsock"
)

// defaultCachedFor is the age up to which a binding is used when it does not say another.
const defaultCachedFor = 24 * time.Hour

// Binding is the class of the pods of a namespace.
type Binding struct {
	Name       string // of the object that declares it
	Tenant     string
	Class      string
	Levers     podsock.Levers
	FailPolicy podsock.FailPolicy // empty: closed
	CachedFor  time.Duration      // 0: a day
	// Classes holds the levers of all classes of the tenant, for attachments with an assigned class; nil: it has only Class.
	Classes map[string]podsock.Levers
	// Weights are those of the classes, if the share of the levers is the tenant's, which its classes divide; nil: each class has its own.
	Weights map[string]float64
	// Shares are the tenant's shares of ports where they are known, in thousandths: they win over those of the levers. 0: none.
	Shares map[string]uint16
	// Problem says why new pods can have no class, such as a namespace with two bindings; empty: they can.
	Problem string
}

// of returns the binding for an attachment: with the class that it was assigned, if any.
func (b Binding) of(assigned string) Binding {
	if assigned == "" || assigned == b.Class {
		return b
	}
	levers, ok := b.Classes[assigned]
	if !ok && b.Problem == "" {
		b.Problem = fmt.Sprintf("binding %s: found no class %q, want %s", b.Name, assigned, strings.Join(slices.Sorted(maps.Keys(b.Classes)), ", "))
	}
	b.Class, b.Levers = assigned, levers
	return b
}

// at returns the levers of the binding's class on a port.
func (b Binding) at(port string) podsock.Levers {
	l := b.Levers
	if share, ok := b.Shares[port]; ok {
		l.ShareOf1000 = nil
		if share > 0 {
			l.ShareOf1000 = &share
		}
	}
	return l
}

// State says what is known of the binding of a namespace.
type State int

// States.
const (
	Unknown State = iota // never read, such as before the first answer of a cluster
	Unbound              // the namespace is bound to no tenant
	Bound
)

// Bindings says which class the pods of a namespace have. It is safe for concurrent use, and answers from memory.
type Bindings interface {
	// Binding returns the binding of a namespace, and the time since it was last confirmed; 0 while its source is
	// connected.
	Binding(namespace string) (b Binding, age time.Duration, s State)
}

// Notifier is a source of bindings that reports changes.
type Notifier interface {
	// Changed returns a channel with a value after bindings changed.
	Changed() <-chan struct{}
}

// Query names a device of an attachment.
type Query struct {
	podsock.Key
	ID    string
	Known podsock.Device // what an earlier record holds of it; zero: nothing
}

// ErrGone means that a device does not exist on the host any more, and has nothing to restore.
var ErrGone = errors.New("device is gone")

// Applied is the result of applying a class to a device.
type Applied struct {
	Settings podsock.Settings // values written
	// Missing says which levers the device does not offer, and why; empty: it offers all.
	Missing string
}

// Devices accesses the devices of pods. It is safe for concurrent use; calls for one device are serialized.
type Devices interface {
	// Refresh reads the inventory, so that a device is known after it moved to a pod, and returns the number of devices.
	Refresh(ctx context.Context) (int, error)
	// Find returns a device. It completes what the host no longer shows, since the device is in a pod's network namespace,
	// by what it showed before.
	Find(ctx context.Context, q Query) (podsock.Device, error)
	// Read returns the current values of a device.
	Read(ctx context.Context, d podsock.Device) (podsock.Settings, error)
	// Apply sets the levers of a class, all that the device offers or none. An error means that the device has its earlier
	// values, unless it says otherwise.
	Apply(ctx context.Context, d podsock.Device, l podsock.Levers) (Applied, error)
	// Restore sets values of a device; nil values are left alone. It returns ErrGone for a device that does not exist.
	Restore(ctx context.Context, d podsock.Device, s podsock.Settings) error
	// Counters returns the counters of a device that can be read on the host.
	Counters(ctx context.Context, d podsock.Device) (map[string]uint64, error)
}

// Namespaces identifies network namespaces.
type Namespaces interface {
	// Identify returns the identity of the network namespace at a path; paths are reused. A path without one is
	// fs.ErrNotExist.
	Identify(path string) (id string, err error)
	// Gone reports whether the network namespace that a path had is known to have ended.
	Gone(path, id string) bool
}

// decision is what an attachment gets.
type decision struct {
	binding Binding
	bound   bool
	// unsettled says why the binding is not known; the record is pending then, and keeps the class that it has.
	unsettled string
}

// decide returns the class of a pod's device by the fail policy. network is the policy of the network.
//
//	bound,   with a problem                 try again if closed, which is the default; otherwise pending
//	bound,   not older than its age limit   its class
//	unbound, not older than the limit       no class
//	bound,   older                          try again if closed, which is the default; otherwise pending
//	unbound, older                          no class, which is the default; try again if closed
//	unknown                                 try again, unless the network is open
func decide(b Binding, age time.Duration, s State, namespace string, network podsock.FailPolicy) (decision, error) {
	limit := b.CachedFor
	if limit <= 0 {
		limit = defaultCachedFor
	}
	switch {
	case s == Bound && b.Problem != "":
		problem := podsock.Problemf(podsock.CodeTryAgain, "%s", b.Problem)
		if cmp.Or(network, b.FailPolicy, podsock.Closed) == podsock.Open {
			return decision{unsettled: problem.Error()}, nil
		}
		return decision{}, problem
	case s == Bound && age <= limit:
		return decision{binding: b, bound: true}, nil
	case s == Unbound && (age <= limit || network != podsock.Closed):
		return decision{}, nil
	case s == Bound && cmp.Or(network, b.FailPolicy, podsock.Closed) == podsock.Open, s == Unknown && network == podsock.Open:
		return decision{unsettled: staleness(namespace, age, limit, s).Error()}, nil
	}
	return decision{}, staleness(namespace, age, limit, s)
}

// staleness returns the problem of a namespace whose binding is not known well enough.
func staleness(namespace string, age, limit time.Duration, s State) error {
	if s == Unknown {
		return podsock.Problemf(podsock.CodeTryAgain, "binding of namespace %s is unknown: the agent has not read the bindings yet", namespace)
	}
	return podsock.Problemf(podsock.CodeTryAgain, "binding of namespace %s was last confirmed %s ago, want at most %s: the agent cannot read the bindings",
		namespace, age.Round(time.Second), limit)
}

// noLevers reports whether a class sets nothing.
func noLevers(l podsock.Levers) bool { return l == podsock.Levers{} }

// same reports whether two optional values are equal.
func same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func sameLevers(a, b podsock.Levers) bool {
	return same(a.MaxMbps, b.MaxMbps) && same(a.ShareOf1000, b.ShareOf1000) && same(a.TOS, b.TOS)
}

// holds reports whether a device has the values of of; values that are nil in of do not matter.
func holds(of, now podsock.Settings) bool {
	return (of.MaxMbps == nil || same(of.MaxMbps, now.MaxMbps)) && (of.ShareMbps == nil || same(of.ShareMbps, now.ShareMbps)) && (of.TOS == nil || same(of.TOS, now.TOS))
}

// only returns the values of s for the settings that are not nil in of.
func only(s, of podsock.Settings) podsock.Settings {
	if of.MaxMbps == nil {
		s.MaxMbps = nil
	}
	if of.ShareMbps == nil {
		s.ShareMbps = nil
	}
	if of.TOS == nil {
		s.TOS = nil
	}
	return s
}

// dropped returns the values of s for the settings that a class no longer has.
func dropped(s podsock.Settings, l podsock.Levers) podsock.Settings {
	if l.MaxMbps != nil {
		s.MaxMbps = nil
	}
	if l.ShareOf1000 != nil {
		s.ShareMbps = nil
	}
	if l.TOS != nil {
		s.TOS = nil
	}
	return s
}
