package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairlane/agent"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/rdmanl"
)

// Reasons why a port has no counter sets.
var (
	// ErrNotOffered means that the kernel has no counter sets, or that the agent may not read them.
	ErrNotOffered = errors.New("counter sets are not offered")
	// ErrNotBound means that no queue pair of a port is bound to a counter set.
	ErrNotBound = errors.New("no queue pair is bound to a counter set")
)

const (
	dumpBuffer   = 1 << 16 // bytes of a datagram; the kernel's dumps have at most 32 KiB
	maxDumps     = 4096    // datagrams of one answer
	dumpSequence = 1       // each request has its own socket
)

// counterSets reads counter sets by RDMA netlink.
type counterSets struct {
	timeout time.Duration
	open    func() (datagrams, error)
}

func openRDMA() (datagrams, error) { return openSocket(unix.NETLINK_RDMA, 0) }

// read lists the counter sets of a port of an RDMA device, by id. Without an error it is never empty.
func (s *counterSets) read(ctx context.Context, device string, port int) ([]rdmanl.CounterSet, error) {
	c := rdmanl.Native()
	devices, err := s.ask(ctx, c.Devices(dumpSequence))
	if err != nil {
		return nil, fmt.Errorf("devices: %w", err)
	}
	i := slices.IndexFunc(devices.Devices, func(d rdmanl.Device) bool { return d.Name == device })
	if i < 0 {
		return nil, fmt.Errorf("%w: RDMA netlink has no device %s in this network namespace", ErrNotOffered, device)
	}
	reply, err := s.ask(ctx, c.CounterSets(dumpSequence, devices.Devices[i].Index, uint32(port))) // 1 to 255
	if err != nil {
		return nil, fmt.Errorf("counter sets of %s port %d: %w", device, port, err)
	}
	// A kernel that does not support the port attribute returns the sets of all ports.
	sets := slices.DeleteFunc(reply.Sets, func(k rdmanl.CounterSet) bool { return k.Port != 0 && int64(k.Port) != int64(port) })
	if len(sets) == 0 {
		return nil, fmt.Errorf("%w: `rdma statistic qp set link %s/%d auto type on` binds all that are made from then on", ErrNotBound, device, port)
	}
	slices.SortFunc(sets, func(a, b rdmanl.CounterSet) int { return cmp.Compare(a.ID, b.ID) })
	return sets, nil
}

// ask sends one request, and repeats it when the dump was inconsistent or lost for lack of memory.
func (s *counterSets) ask(ctx context.Context, question []byte) (*rdmanl.Reply, error) {
	for try := 1; ; try++ {
		reply, err := s.once(ctx, question)
		if err == nil && !reply.Interrupted {
			return reply, nil
		}
		if try < maxTries && (err == nil || errors.Is(err, unix.ENOBUFS)) {
			continue
		}
		if err == nil {
			err = fmt.Errorf("RDMA netlink: found another list at each of %d tries, want one that does not change", maxTries)
		}
		return nil, unoffered(err)
	}
}

// unoffered converts errors that mean that the kernel lacks the feature or denies it to the agent.
func unoffered(err error) error {
	var refused *rdmanl.KernelError
	if errors.As(err, &refused) {
		no := unix.Errno(refused.Errno) // above 0
		switch no {
		case unix.EINVAL, unix.EOPNOTSUPP, unix.EPERM, unix.EACCES:
			return fmt.Errorf("%w: RDMA netlink: %w", ErrNotOffered, no)
		}
		return fmt.Errorf("RDMA netlink: %w", no)
	}
	for _, no := range []unix.Errno{unix.EPROTONOSUPPORT, unix.EAFNOSUPPORT, unix.ECONNREFUSED, unix.EPERM, unix.EACCES} {
		if errors.Is(err, no) {
			return fmt.Errorf("%w: %w: %w", ErrNotOffered, ErrNoRDMANetlink, err)
		}
	}
	return err
}

func (s *counterSets) once(ctx context.Context, question []byte) (*rdmanl.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reply, codec := &rdmanl.Reply{}, rdmanl.Native()
	last, err := line{"RDMA netlink", s.timeout, s.open}.talk(ctx, question, make([]byte, dumpBuffer), maxDumps, func(b []byte) (bool, error) {
		err := codec.Add(reply, b, dumpSequence)
		return reply.Done, err
	})
	switch {
	case err != nil:
		return nil, err
	case !last:
		return nil, fmt.Errorf("RDMA netlink: found %d datagrams without an end, the maximum", maxDumps)
	}
	return reply, nil
}

var _ agent.Meter = (*meter)(nil)

func (m *meter) CounterSets(ctx context.Context) ([]agent.CounterSet, error) {
	if m.host.sets == nil {
		return nil, fmt.Errorf("%w: RDMA netlink is not asked", ErrNotOffered)
	}
	sets, err := m.host.sets.read(ctx, m.port.RDMA, m.port.RDMAPort)
	if err != nil {
		return nil, err
	}
	out := make([]agent.CounterSet, len(sets))
	for i := range sets {
		out[i] = m.counterSet(&sets[i])
	}
	return out, nil
}

// counterSet converts a set to the agent's form.
func (m *meter) counterSet(k *rdmanl.CounterSet) agent.CounterSet {
	out := agent.CounterSet{ID: k.ID, PID: k.PID, Process: k.Kernel, QPs: slices.Sorted(slices.Values(k.QPs)), QPCount: k.QPCount, Counters: niccount.Counters{}}
	if k.Mode == rdmanl.ModeAuto || k.Mode == rdmanl.ModeManual {
		out.Mode = k.Mode.String()
	}
	if k.PID != 0 {
		// The process may have ended since; then its name is unknown.
		if b, err := m.host.files.Read("proc/" + strconv.FormatUint(uint64(k.PID), 10) + "/comm"); err == nil {
			name := strings.TrimSpace(string(b))
			out.Process = strings.ToValidUTF8(name[:min(len(name), rdmanl.MaxName)], "?")
		}
	}
	for _, c := range k.Counters {
		one := niccount.Counter{Name: c.Name, Err: fmt.Errorf("%s: the kernel reports no value", c.Name)}
		if c.Value != nil {
			one = niccount.Counter{Name: c.Name, Value: *c.Value}
		}
		out.Counters[c.Name] = one
	}
	return out
}
