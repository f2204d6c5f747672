package gnmi

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi/gnmitree"
)

// settingsOf converts a switch's marking and weights to settings.
func settingsOf(marking []ecn.QueueMarking, weights *weightState) driver.Settings {
	return driver.Settings{Queues: &driver.QueueState{Marking: marking, Weights: weights.observed()}}
}

// markedQueues returns the queues that mark on any port, ascending.
func markedQueues(all []ecn.QueueMarking) []uint8 {
	seen := map[uint8]bool{}
	for _, q := range all {
		seen[q.Queue] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// queueChange holds the changes of a switch's queues.
type queueChange struct {
	markingPlan

	weights map[queueKey]bool // queues whose weight changes
}

func (c *queueChange) empty() bool { return c.markingPlan.empty() && len(c.weights) == 0 }

// execute executes a change with one Set. cause is the error of the Set, and err its classification before judge refines it.
func (s *session) execute(ctx context.Context, dev driver.Device, want *driver.QueueState, change queueChange, ops []gnmitree.Operation, judge func(cause, err error) error) (driver.Receipt, error) {
	if change.empty() {
		return receiptOf(change, want, driver.OutcomeUnchanged, nil), nil
	}
	cause := s.set(ctx, ops, 0)
	if cause == nil {
		return receiptOf(change, want, driver.OutcomeAcknowledged, nil), nil
	}
	err := judge(cause, s.classify(ctx, "set", dev, cause))
	return receiptOf(change, want, driver.OutcomeOf(err), err), err
}

// receiptOf returns the receipt with the outcome of the profiles, and of the marking and weight of each desired queue.
func receiptOf(change queueChange, want *driver.QueueState, o driver.Outcome, why error) driver.Receipt {
	var r driver.Receipt
	for _, set := range []map[string]ecn.Marking{change.create, change.change} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			r.NoteError(fmt.Sprintf("queues.profiles[%s]", name), o, why)
		}
	}
	note := func(field string, changes bool) {
		if changes {
			r.NoteError(field, o, why)
			return
		}
		r.NoteError(field, driver.OutcomeUnchanged, nil)
	}
	for _, w := range want.Marking {
		k := queueKey{w.Port, w.Queue}
		_, changes := change.refer[k]
		note(fmt.Sprintf("queues[%s]", k), changes)
	}
	for _, w := range want.Weights {
		k := queueKey{w.Port, w.Queue}
		note(fmt.Sprintf("queues[%s].weight", k), change.weights[k])
	}
	return r
}
