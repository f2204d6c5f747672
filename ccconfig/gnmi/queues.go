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

// settingsOf converts a switch's marking to settings.
func settingsOf[M interface{ observed() []ecn.QueueMarking }](m M, err error) (driver.Settings, error) {
	if err != nil {
		return driver.Settings{}, err
	}
	return driver.Settings{Queues: &driver.QueueState{Marking: m.observed()}}, nil
}

// markedQueues returns the queues that mark on any port, ascending.
func markedQueues(all []ecn.QueueMarking) []uint8 {
	seen := map[uint8]bool{}
	for _, q := range all {
		seen[q.Queue] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// execute executes a plan with one Set. cause is the error of the Set, and err its classification before judge refines it.
func (s *session) execute(ctx context.Context, dev driver.Device, want *driver.QueueState, plan markingPlan, ops []gnmitree.Operation, judge func(cause, err error) error) (driver.Receipt, error) {
	if plan.empty() {
		return receiptOf(plan, want, driver.OutcomeUnchanged, nil), nil
	}
	cause := s.set(ctx, ops, 0)
	if cause == nil {
		return receiptOf(plan, want, driver.OutcomeAcknowledged, nil), nil
	}
	err := judge(cause, s.classify(ctx, "set", dev, cause))
	return receiptOf(plan, want, driver.OutcomeOf(err), err), err
}

// receiptOf returns the receipt with the outcome of the profiles and of each desired queue.
func receiptOf(plan markingPlan, want *driver.QueueState, o driver.Outcome, why error) driver.Receipt {
	var r driver.Receipt
	for _, set := range []map[string]ecn.Marking{plan.create, plan.change} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			r.NoteError(fmt.Sprintf("queues.profiles[%s]", name), o, why)
		}
	}
	for _, w := range want.Marking {
		k := queueKey{w.Port, w.Queue}
		if _, changes := plan.refer[k]; changes {
			r.NoteError(fmt.Sprintf("queues[%s]", k), o, why)
			continue
		}
		r.NoteError(fmt.Sprintf("queues[%s]", k), driver.OutcomeUnchanged, nil)
	}
	return r
}
