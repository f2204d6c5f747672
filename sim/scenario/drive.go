package scenario

import (
	"context"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
)

// Work is the amount of work of a simulation run.
type Work struct {
	PacketHops uint64  // links traversed, summed over all data packets
	Events     uint64  // events of the engine
	SimulatedS float64 // simulated time to the last completion, or to the duration
	Flows      uint64  // flows started; queue pairs on InfiniBand
	PeakFlows  int     // largest number of concurrent flows
	Digest     uint64
}

// driveStep is the simulated time between two checks by Drive for the completion of all flows.
const driveStep = 10 * quantity.Microsecond

// Drive runs a scenario of either plane as fast as possible and measures only the amount of work: up to the last completion on
// Ethernet, otherwise up to the duration. It applies changes of InfiniBand settings.
func Drive(ctx context.Context, s *Scenario) (Work, error) {
	if s.Ethernet == nil {
		return driveInfiniBand(ctx, s)
	}
	sim, err := s.BuildEthernet(Hooks{})
	if err != nil {
		return Work{}, err
	}
	defer func() { _ = sim.Close() }() // the file is only read
	for !sim.Finished() && sim.Now() < s.Duration {
		sim.RunUntil(min(sim.Now()+driveStep, s.Duration))
		if err := sim.Err(); err != nil {
			return Work{}, fmt.Errorf("scenario %s: %w", s.Name, err)
		}
		if err := ctx.Err(); err != nil {
			return Work{}, fmt.Errorf("scenario %s: %w", s.Name, err)
		}
	}
	st := sim.Stats()
	w := Work{
		PacketHops: st.PacketHops, Events: st.Events, SimulatedS: sim.Now().Seconds(), Flows: st.Completed + uint64(st.Active),
		PeakFlows: st.PeakActive, Digest: st.Digest,
	}
	if sim.Finished() {
		w.SimulatedS = st.LastDone.Seconds()
	} else if d := sim.Deadlock(); d != nil {
		return w, fmt.Errorf("scenario %s: %w", s.Name, d)
	}
	return w, nil
}

func driveInfiniBand(ctx context.Context, s *Scenario) (Work, error) {
	n, ids, err := s.Build()
	if err != nil {
		return Work{}, err
	}
	changes := s.Changes
	for n.Now() < s.Duration {
		next := min(n.Now()+quantity.Millisecond, s.Duration)
		if len(changes) > 0 && changes[0].At <= next {
			next = changes[0].At
			n.RunUntil(next)
			changes[0].apply(n, s)
			changes = changes[1:]
			continue
		}
		n.RunUntil(next)
		if err := ctx.Err(); err != nil {
			return Work{}, fmt.Errorf("scenario %s: %w", s.Name, err)
		}
	}
	st := n.Stats()
	w := Work{PacketHops: st.PacketHops, Events: st.Events, SimulatedS: n.Now().Seconds(), Digest: st.Digest}
	w.PeakFlows = queuePairs(s, ids)
	w.Flows = uint64(w.PeakFlows)
	return w, nil
}

func queuePairs(s *Scenario, ids []fabric.FlowID) (n int) {
	for i := range ids {
		n += s.Flows[i].QPs
	}
	return n
}
