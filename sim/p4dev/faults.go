package p4dev

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/sim/faults"
)

// Faults are the faults of a device. Each occurrence decrements its count. A lost request or reply looks to the client like a
// broken connection. The zero value injects no faults.
type Faults struct {
	faults.Messages
	// Partial executes only the first half, rounded down, of the next permitted Write, and acknowledges all of it.
	Partial bool
	// ClampTargetMbps silently limits b_tar_mbps; 0 means no limit.
	ClampTargetMbps uint32
	// NoPipeline makes the device answer like a device without a program.
	NoPipeline bool
	// NoRegisterAccess makes register reads return UNIMPLEMENTED, as on servers without register access.
	NoRegisterAccess bool
}

// Inject changes the faults of the device.
func (d *Device) Inject(change func(*Faults)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.faults)
}

// Heal removes all faults. The configuration stays.
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
	case faults.Busy:
		return errBusy
	default:
		return nil
	}
}

// reply decides whether the answer to an executed request reaches the client. It does not simulate delays, because they would
// hold the device's lock.
func (f *Faults) reply(write bool) error {
	if lost, _ := f.Reply(write); lost {
		return errLost
	}
	return nil
}
