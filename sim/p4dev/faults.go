package p4dev

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/sim/faults"
)

// Faults is what goes wrong with a device. Counts are used up. A request that is lost, and a reply, looks to
// the client like a connection that broke at that moment. The zero value injects nothing.
type Faults struct {
	faults.Messages
	// Partial carries out only the first half, rounded down, of the next Write that is permitted, and acknowledges all.
	Partial bool
	// ClampTargetMbps stores no b_tar_mbps above it, silently; 0: not.
	ClampTargetMbps uint32
	// NoPipeline makes the device answer as one without a program.
	NoPipeline bool
	// NoRegisterAccess makes register reads UNIMPLEMENTED, as of servers that leave them out.
	NoRegisterAccess bool
}

// Inject changes the faults of the device.
func (d *Device) Inject(change func(*Faults)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.faults)
}

// Heal ends all faults. What the device holds stays.
func (d *Device) Heal() { d.Inject(func(f *Faults) { *f = Faults{} }) }

var (
	errLost = status.Error(codes.Unavailable, "connection lost")
	errBusy = status.Error(codes.ResourceExhausted, "device busy")
)

// arrive decides whether a request reaches the device.
func (f *Faults) arrive(write bool) error {
	switch f.Arrive(write) {
	case faults.Lost:
		return errLost
	case faults.TurnedOff:
		return errBusy
	default:
		return nil
	}
}

// reply decides whether the answer to a request that was carried out reaches the client. Delays of replies are not
// simulated: they would hold the device's lock.
func (f *Faults) reply(write bool) error {
	if lost, _ := f.Reply(write); lost {
		return errLost
	}
	return nil
}
