package p4dev

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Faults is what goes wrong with a device. Counts are used up. A request that is lost, and a reply, looks to
// the client like a connection that broke at that moment. The zero value injects nothing.
type Faults struct {
	// PassWrites lets so many Writes pass before LoseRequests begins.
	PassWrites   int
	LoseRequests int // requests of any kind that do not arrive; negative: all
	// LoseReply carries out the Write after PassReplies others, and loses its reply and every one after it.
	LoseReply   bool
	PassReplies int
	// Partial carries out only the first half, rounded down, of the next Write that is permitted, and acknowledges all.
	Partial bool
	// ClampTargetMbps stores no b_tar_mbps above it, silently; 0: not.
	ClampTargetMbps uint32
	Busy            int // requests that are answered RESOURCE_EXHAUSTED
	// NoPipeline makes the device answer as one without a program.
	NoPipeline bool
	// NoRegisterAccess makes register reads UNIMPLEMENTED, as of servers that leave them out.
	NoRegisterAccess bool

	mute bool
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
	switch {
	case f.LoseRequests != 0 && f.PassWrites == 0:
		if f.LoseRequests > 0 {
			f.LoseRequests--
		}
		return errLost
	case f.Busy > 0:
		f.Busy--
		return errBusy
	}
	if write && f.PassWrites > 0 {
		f.PassWrites--
	}
	return nil
}

// reply decides whether the answer to a request that was carried out reaches the client.
func (f *Faults) reply(write bool) error {
	if f.mute {
		return errLost
	}
	if !write || !f.LoseReply {
		return nil
	}
	if f.PassReplies > 0 {
		f.PassReplies--
		return nil
	}
	f.mute = true
	return errLost
}
