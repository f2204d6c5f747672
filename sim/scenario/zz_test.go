package scenario

import (
	"os"
	"testing"

	"fairlane/internal/quantity"
)

func TestZZ(t *testing.T) {
	name := os.Getenv("ZZ")
	if name == "" {
		t.Skip()
	}
	s, err := LoadBuiltin(name)
	if err != nil {
		t.Fatal(err)
	}
	if a := os.Getenv("CC"); a != "" {
		s.Ethernet.Controls = []Control{{Name: a, Algorithm: a}}
	}
	sim, err := s.BuildEthernet(Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	var peak uint64
	var at quantity.Picoseconds
	var act int
	for !sim.Finished() && sim.Now() < s.Duration {
		sim.RunUntil(sim.Now() + 20*quantity.Microsecond)
		if p, _ := sim.InFlight(); p > peak {
			peak, at, act = p, sim.Now(), sim.Stats().Active
		}
	}
	st := sim.Stats()
	t.Logf("%s peak %d data packets in flight at %s with %d active; end %s pauses %d paused %s hops %d", os.Getenv("CC"), peak, at, act, st.LastDone, st.Pauses, st.PausedTime, st.PacketHops)
}
