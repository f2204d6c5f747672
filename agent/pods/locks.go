package pods

import (
	"context"
	"slices"

	"fairlane/agent/pods/podsock"
	"fairlane/internal/keylock"
)

// locks are named locks: one slow device delays only calls that need it.
type locks struct{ keylock.Locks[string] }

// acquire takes the locks of some names, sorted, so that two callers never wait for each other. Empty names are ignored.
func (l *locks) acquire(ctx context.Context, names ...string) (release func(), err error) {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	slices.Sort(names)
	names = slices.Compact(names)
	var undo []func()
	release = func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	for _, n := range names {
		unlock, err := l.Lock(ctx, n)
		if err != nil {
			release()
			return nil, podsock.Problemf(podsock.CodeTryAgain, "%s is in use by another call: %w", n, err)
		}
		undo = append(undo, unlock)
	}
	return release, nil
}
