package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/subnet"
	"fairlane/wrcc"
)

// maxWrites bounds the writes of one Apply call.
const maxWrites = 64

func samples(ctx context.Context, h Harness, d driver.Device) ([]driver.Settings, error) {
	c, err := h.Driver.Capabilities(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("capabilities: %w", err)
	}
	if h.Samples != nil {
		return h.Samples(d, c), nil
	}
	return Samples(d, c), nil
}

func checkCapabilities(ctx context.Context, h Harness, d driver.Device) error {
	c, err := h.Driver.Capabilities(ctx, d)
	if err != nil {
		return err
	}
	switch kindOf(d) {
	case nicPort:
		if err := checkNICCapabilities(d, c); err != nil {
			return err
		}
	case etherSwitch:
		if err := checkQueueCapabilities(d, c); err != nil {
			return err
		}
	case wrccSwitch:
		if err := checkWRCCCapabilities(d, c); err != nil {
			return err
		}
	case adapter:
		if c.TableEntries < ibcc.BlockEntries || c.TableEntries%ibcc.BlockEntries != 0 {
			return fmt.Errorf("%d table entries, want a positive multiple of %d", c.TableEntries, ibcc.BlockEntries)
		}
		if !c.PerQP && !c.PerSL {
			return errors.New("neither QP mode nor SL mode")
		}
	}
	if h.Faults.Writes(d) != 0 {
		return errors.New("asking for capabilities wrote to the device")
	}
	return nil
}

func checkDefaults(ctx context.Context, h Harness, d driver.Device) error {
	if err := checkRead(ctx, h, d); err != nil {
		return err
	}
	if h.Faults.Writes(d) != 0 {
		return errors.New("reading wrote to the device")
	}
	return nil
}

func checkApplyRead(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	for i, want := range all {
		h.Faults.Reboot(d)
		r, err := apply(ctx, h, d, want)
		if err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		if count(r, driver.OutcomeAcknowledged) == 0 {
			return fmt.Errorf("sample %d: no field was acknowledged", i)
		}
	}
	return nil
}

func checkIdempotent(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	for i, want := range append(all, Defaults(d)) {
		if _, err := apply(ctx, h, d, want); err != nil {
			return err
		}
		before := h.Faults.Writes(d)
		r, err := apply(ctx, h, d, want)
		if err != nil {
			return err
		}
		if n := h.Faults.Writes(d) - before; n != 0 || count(r, driver.OutcomeUnchanged) != len(r.Fields) {
			return fmt.Errorf("sample %d applied again: %d writes, receipt %v", i, n, r)
		}
	}
	return nil
}

func checkTransitions(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	all = append(all, Defaults(d))
	for i, from := range all {
		for j, to := range all {
			if _, err := apply(ctx, h, d, from); err != nil {
				return fmt.Errorf("sample %d: %w", i, err)
			}
			if _, err := apply(ctx, h, d, to); err != nil {
				return fmt.Errorf("from sample %d to %d: %w", i, j, err)
			}
		}
	}
	return nil
}

// eachWrite calls f for every number of writes before a fault, for every transition between two samples, until f reports that
// the fault came too late.
func eachWrite(ctx context.Context, h Harness, d driver.Device, f func(k int, to driver.Settings) (late bool, err error)) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	all = append(all, Defaults(d))
	for i := range all {
		from, to := all[i], all[(i+1)%len(all)]
		for k := range maxWrites + 1 {
			if k == maxWrites {
				return fmt.Errorf("more than %d writes for one apply", maxWrites)
			}
			h.Faults.Put(d, from)
			late, err := f(k, to)
			if err != nil {
				return fmt.Errorf("from sample %d to the next, fault after %d writes: %w", i, k, err)
			}
			if late {
				break
			}
		}
	}
	return nil
}

func checkInterruption(ctx context.Context, h Harness, d driver.Device) error {
	return eachWrite(ctx, h, d, func(k int, to driver.Settings) (bool, error) {
		h.Faults.LoseRequests(d, k, -1)
		r, err := h.Driver.Apply(ctx, d, to)
		h.Faults.Heal(d)
		if err == nil {
			return true, checkState(h, d, to)
		}
		if kerr := wantKind("interrupted apply", err, driver.ErrUnreachable); kerr != nil {
			return false, kerr
		}
		if err := worded(r); err != nil {
			return false, err
		}
		if n := count(r, driver.OutcomeAcknowledged); n > k && (k == 0 || !h.Parts) {
			return false, fmt.Errorf("receipt says %d writes were acknowledged", n)
		}
		if count(r, driver.OutcomeRefused) != 0 {
			return false, fmt.Errorf("receipt says refused, but the device did not answer: %v", r)
		}
		if err := checkRead(ctx, h, d); err != nil {
			return false, err
		}
		_, err = apply(ctx, h, d, to)
		return false, err
	})
}

func checkLostReply(ctx context.Context, h Harness, d driver.Device) error {
	return eachWrite(ctx, h, d, func(k int, to driver.Settings) (bool, error) {
		h.Faults.LoseReply(d, k)
		r, err := h.Driver.Apply(ctx, d, to)
		h.Faults.Heal(d)
		if err == nil {
			return true, checkState(h, d, to)
		}
		if kerr := wantKind("apply without reply", err, driver.ErrUnreachable); kerr != nil {
			return false, kerr
		}
		if n := count(r, driver.OutcomeSent); n != 1 && !h.Atomic && !h.Parts || n == 0 {
			return false, fmt.Errorf("receipt %v, want exactly one write sent without an answer", r)
		}
		if h.Atomic && count(r, driver.OutcomeSent)+count(r, driver.OutcomeUnchanged) != len(r.Fields) {
			return false, fmt.Errorf("receipt %v, want all fields of the one write sent without an answer", r)
		}
		_, err = apply(ctx, h, d, to)
		return false, err
	})
}

func checkOneLost(ctx context.Context, h Harness, d driver.Device) error {
	return eachWrite(ctx, h, d, func(k int, to driver.Settings) (bool, error) {
		h.Faults.LoseRequests(d, k, 1)
		before := h.Faults.Writes(d)
		_, err := h.Driver.Apply(ctx, d, to)
		h.Faults.Heal(d)
		if n := h.Faults.Writes(d) - before; n > 0 && errors.Is(err, driver.ErrUnsent) {
			return false, fmt.Errorf("after %d writes: %w", n, err)
		}
		if err == nil {
			// Either nothing was lost, or a transport that repeats requests recovered.
			return true, checkState(h, d, to)
		}
		if kerr := wantKind("apply with one loss", err, driver.ErrUnreachable); kerr != nil {
			return false, kerr
		}
		_, err = apply(ctx, h, d, to)
		return false, err
	})
}

func checkReboot(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	for _, want := range all {
		if _, err := apply(ctx, h, d, want); err != nil {
			return err
		}
		h.Faults.Reboot(d)
		got, err := h.Driver.Read(ctx, d)
		if err != nil {
			return err
		}
		if want.Equal(got) {
			return errors.New("read still shows what was applied before the reboot")
		}
		if _, err := apply(ctx, h, d, want); err != nil {
			return fmt.Errorf("after the reboot: %w", err)
		}
	}
	return nil
}

func checkPartial(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	for _, want := range all {
		h.Faults.Reboot(d)
		before := h.Faults.TrueState(d)
		h.Faults.Partial(d)
		if done, err := undone(ctx, h, d, want, before); err != nil {
			return err
		} else if done {
			h.Faults.Heal(d)
			continue
		}
		if err := checkRead(ctx, h, d); err != nil {
			return err
		}
		if want.Equal(h.Faults.TrueState(d)) {
			return errors.New("harness: the write was not partial")
		}
		h.Faults.Heal(d)
		if _, err := apply(ctx, h, d, want); err != nil {
			return fmt.Errorf("second apply: %w", err)
		}
	}
	return nil
}

// undone applies want to a device that does not store the values it receives. An atomic device may detect that itself: then it
// rejects the write, and keeps its previous state.
func undone(ctx context.Context, h Harness, d driver.Device, want, before driver.Settings) (bool, error) {
	r, err := h.Driver.Apply(ctx, d, want)
	if err == nil {
		return false, nil
	}
	if !h.Atomic && !h.Parts || errors.Is(err, driver.ErrUnreachable) {
		return false, fmt.Errorf("apply: %w", err)
	}
	if err := worded(r); err != nil {
		return false, err
	}
	if h.Parts && count(r, driver.OutcomeRefused) > 0 { // earlier parts keep what they acknowledged
		return true, checkRead(ctx, h, d)
	}
	if count(r, driver.OutcomeRefused) == 0 || count(r, driver.OutcomeAcknowledged) != 0 {
		return false, fmt.Errorf("apply failed with %w, and the receipt is %v", err, r)
	}
	if err := checkState(h, d, before); err != nil {
		return false, err
	}
	return true, checkRead(ctx, h, d)
}

func checkClamp(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	for _, want := range all {
		before := h.Faults.TrueState(d)
		h.Faults.Clamp(d)
		if done, err := undone(ctx, h, d, want, before); err != nil {
			return err
		} else if done {
			h.Faults.Heal(d)
			continue
		}
		if want.Equal(h.Faults.TrueState(d)) {
			return errors.New("harness: nothing was clamped")
		}
		if err := checkRead(ctx, h, d); err != nil {
			return err
		}
		h.Faults.Heal(d)
		if _, err := apply(ctx, h, d, want); err != nil {
			return fmt.Errorf("without the clamp: %w", err)
		}
	}
	return nil
}

func checkSecondWriter(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	for i, want := range all {
		if _, err := apply(ctx, h, d, want); err != nil {
			return err
		}
		other := all[(i+1)%len(all)]
		h.Faults.Put(d, other)
		got, err := h.Driver.Read(ctx, d)
		if err != nil {
			return err
		}
		if ds := other.Diff(got); len(ds) > 0 {
			return fmt.Errorf("read does not show the other writer's settings: %s", ds[0])
		}
		if _, err := apply(ctx, h, d, want); err != nil {
			return err
		}
	}
	return nil
}

// refusal applies want and requires an error of the kind without any write.
func refusal(ctx context.Context, h Harness, d driver.Device, name string, want driver.Settings, kind error) error {
	before, truth := h.Faults.Writes(d), h.Faults.TrueState(d)
	r, err := h.Driver.Apply(ctx, d, want)
	if kerr := wantKind(name, err, kind); kerr != nil {
		return kerr
	}
	if n := h.Faults.Writes(d) - before; n != 0 {
		return fmt.Errorf("%s: %d writes were sent", name, n)
	}
	if !errors.Is(err, driver.ErrUnsent) {
		return fmt.Errorf("%s: the error does not say that nothing was sent: %w", name, err)
	}
	if n := count(r, driver.OutcomeSent) + count(r, driver.OutcomeAcknowledged) + count(r, driver.OutcomeRefused); n != 0 {
		return fmt.Errorf("%s: the receipt lists %d writes", name, n)
	}
	return checkState(h, d, truth)
}

func checkOutOfRange(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	for name, invalidate := range invalidations(d) {
		want := all[0].Clone()
		invalidate(&want)
		if err := refusal(ctx, h, d, name, want, driver.ErrInvalid); err != nil {
			return err
		}
	}
	return nil
}

// invalidations are functions that make settings illegal, by name.
func invalidations(d driver.Device) map[string]func(*driver.Settings) {
	switch kindOf(d) {
	case nicPort:
		return nicInvalidations(d)
	case etherSwitch:
		return queueInvalidations(d)
	case wrccSwitch:
		return wrccInvalidations(d)
	}
	common := map[string]func(*driver.Settings){
		"nothing": func(s *driver.Settings) { *s = driver.Settings{} },
		"both halves": func(s *driver.Settings) {
			s.CA, s.Switch = &ibcc.CASettings{Table: make([]ibcc.Entry, 1)}, &driver.SwitchState{Ports: make([]ibcc.PortMarking, d.Ports+1)}
		},
	}
	specific := map[string]func(*driver.Settings){
		"settings of a switch": func(s *driver.Settings) { *s = driver.Settings{Switch: &driver.SwitchState{}} },
		"shift 4":              func(s *driver.Settings) { s.CA.Table[3].Shift = ibcc.MaxShift + 1 },
		"multiplier 16384":     func(s *driver.Settings) { s.CA.Table[len(s.CA.Table)-1].Multiplier = ibcc.MaxMultiplier + 1 },
		"limit beyond table":   func(s *driver.Settings) { s.CA.Limit = uint16(len(s.CA.Table)) },
		"no table":             func(s *driver.Settings) { s.CA.Table = nil },
	}
	if d.Kind == subnet.KindSwitch {
		specific = map[string]func(*driver.Settings){
			"settings of a channel adapter": func(s *driver.Settings) { *s = driver.Settings{CA: &ibcc.CASettings{Table: make([]ibcc.Entry, 1)}} },
			"threshold 16":                  func(s *driver.Settings) { s.Switch.Defaults.Threshold = ibcc.MaxThreshold + 1 },
			"cs_threshold 16":               func(s *driver.Settings) { s.Switch.Defaults.CSThreshold = ibcc.MaxThreshold + 1 },
			"return delay shift 4":          func(s *driver.Settings) { s.Switch.Defaults.CSReturnDelay.Shift = 4 },
			"port threshold 16":             func(s *driver.Settings) { s.Switch.Ports[1].Threshold = ibcc.MaxThreshold + 1 },
			"too few ports":                 func(s *driver.Settings) { s.Switch.Ports = s.Switch.Ports[1:] },
			"too many ports":                func(s *driver.Settings) { s.Switch.Ports = append(s.Switch.Ports, ibcc.PortMarking{}) },
		}
	}
	for name, f := range specific {
		common[name] = f
	}
	return common
}

func checkBeyond(ctx context.Context, h Harness, d driver.Device) error {
	c, err := h.Driver.Capabilities(ctx, d)
	if err != nil {
		return err
	}
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	want := all[0].Clone()
	switch kind := kindOf(d); {
	case kind == nicPort:
		if !beyondNIC(&want, c) {
			return nil // a port with access to every parameter
		}
	case kind == etherSwitch:
		got, err := h.Driver.Read(ctx, d)
		if err != nil {
			return err
		}
		if !beyondQueues(&want, got, c) {
			return nil // every queue has a scheduler of its own
		}
	case kind == wrccSwitch && c.WRCC.Weights > 0:
		return nil // such a switch has enough entries for all of its ports
	case kind == wrccSwitch:
		want.WRCC.Weights = []wrcc.ClassWeight{{Port: want.WRCC.Ports[0].Port, Multiplier: 1}}
	case kind == adapter:
		want = caSample(c.TableEntries+1, 1)
	case c.PortMarking:
		return nil // a switch with every attribute lacks nothing
	default:
		want.Switch.Ports[1] = ibcc.PortMarking{Valid: true, Threshold: 3}
	}
	return refusal(ctx, h, d, "beyond the device", want, driver.ErrUnsupported)
}

func checkBadDevice(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	for name, bad := range badDevices(d) {
		if _, err := h.Driver.Read(ctx, bad); !errors.Is(err, driver.ErrInvalid) {
			return fmt.Errorf("%s: read: got error %s, want kind %q", name, fmt.Sprint(err), driver.ErrInvalid.Error())
		}
		if _, err := h.Driver.Apply(ctx, bad, all[0]); !errors.Is(err, driver.ErrInvalid) {
			return fmt.Errorf("%s: apply: got error %s, want kind %q", name, fmt.Sprint(err), driver.ErrInvalid.Error())
		}
		if _, err := h.Driver.Capabilities(ctx, bad); !errors.Is(err, driver.ErrInvalid) {
			return fmt.Errorf("%s: capabilities: got error %s, want kind %q", name, fmt.Sprint(err), driver.ErrInvalid.Error())
		}
	}
	return checkRead(ctx, h, d)
}

// wantAll returns an error unless every method fails with the kind.
func wantAll(ctx context.Context, h Harness, d driver.Device, want driver.Settings, kind error) error {
	_, rerr := h.Driver.Read(ctx, d)
	before := h.Faults.Writes(d)
	_, aerr := h.Driver.Apply(ctx, d, want)
	if n := h.Faults.Writes(d) - before; n != 0 || !errors.Is(aerr, driver.ErrUnsent) {
		return fmt.Errorf("apply to a device that cannot be read: %d writes, error %w, want one that says that nothing was sent", n, aerr)
	}
	_, cerr := h.Driver.Capabilities(ctx, d)
	return errors.Join(wantKind("read", rerr, kind), wantKind("apply", aerr, kind), wantKind("capabilities", cerr, kind))
}

func checkUnreachable(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	h.Faults.LoseRequests(d, 0, -1)
	if err := wantAll(ctx, h, d, all[0], driver.ErrUnreachable); err != nil {
		return err
	}
	h.Faults.Heal(d)
	_, err = apply(ctx, h, d, all[0])
	return err
}

func checkBusy(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	h.Faults.Busy(d, 1<<20)
	if err := wantAll(ctx, h, d, all[0], driver.ErrBusy); err != nil {
		return err
	}
	h.Faults.Heal(d)
	_, err = apply(ctx, h, d, all[0])
	return err
}

func checkUnsupported(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	before := h.Faults.Writes(d)
	h.Faults.Disable(d)
	if err := wantAll(ctx, h, d, all[0], driver.ErrUnsupported); err != nil {
		return err
	}
	if h.Faults.Writes(d) != before {
		return errors.New("a device without congestion control was written to")
	}
	return nil
}

func checkCancelled(ctx context.Context, h Harness, d driver.Device) error {
	all, err := samples(ctx, h, d)
	if err != nil {
		return err
	}
	dead, cancel := context.WithCancel(ctx)
	cancel()
	before := h.Faults.Writes(d)
	if err := wantAll(dead, h, d, all[0], context.Canceled); err != nil {
		return err
	}
	if h.Faults.Writes(d) != before {
		return errors.New("a write was sent after the context had ended")
	}
	return nil
}

// checkParallel applies settings to all devices at the same time, while d does not answer.
func checkParallel(ctx context.Context, h Harness, d driver.Device) error {
	if len(h.Devices) < 2 {
		return nil
	}
	wants := make([]driver.Settings, len(h.Devices))
	for i, other := range h.Devices {
		all, err := samples(ctx, h, other)
		if err != nil {
			return err
		}
		wants[i] = all[0]
	}
	h.Faults.LoseRequests(d, 0, -1)
	errs := make([]error, len(h.Devices))
	var wg sync.WaitGroup
	for i, other := range h.Devices {
		wg.Go(func() {
			_, errs[i] = h.Driver.Apply(ctx, other, wants[i])
		})
	}
	wg.Wait()
	for i, other := range h.Devices {
		if other.ID == d.ID {
			errs[i] = wantKind("apply to the silent device", errs[i], driver.ErrUnreachable)
		} else if errs[i] == nil {
			errs[i] = checkState(h, other, wants[i])
		}
	}
	return errors.Join(errs...)
}
