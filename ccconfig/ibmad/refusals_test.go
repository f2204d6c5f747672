package ibmad_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibmad"
	"fairlane/sim/simdev"
	"fairlane/subnet/mad"
)

// checkSentence checks that an error has a kind and contains the sentence for the operator: what was found and what to do.
func checkSentence(t *testing.T, what string, err, kind error, sentence string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), sentence) {
		t.Errorf("%s: %v\nwant %q, and it to be: %v", what, err, sentence, kind)
	}
}

// The cases cover every sentence with which the driver rejects settings. Rejected settings are not written.
func TestTheSentencesOfRefusedSettings(t *testing.T) {
	t.Parallel()
	long := caSample(0)
	long.CA.Table = make([]ibcc.Entry, 200)
	long.CA.Limit = 199
	marked := switchSample(40, 0)
	marked.Switch.Ports = make([]ibcc.PortMarking, 41)
	marked.Switch.Ports[3] = ibcc.PortMarking{Valid: true, Threshold: 1}
	starved := switchSample(40, 0)
	starved.Switch.Ports[7] = ibcc.PortMarking{Valid: true, CreditStarvation: true, Threshold: 3}
	broken := caSample(0).Clone()
	broken.CA.Table[1].Shift = 4
	for what, c := range map[string]struct {
		device       driver.Device
		deviceFaults func(*agent)
		want         driver.Settings
		kind         error
		sentence     string
	}{
		"a table beyond the device":        {host(), func(*agent) {}, long, driver.ErrUnsupported, "nothing was sent: host-1/P2 (0x0000000000000011:2) holds 128 table entries, the wanted CCTI_Limit 199 needs 256"},
		"marking by port":                  {leaf(40), func(a *agent) { a.noPortCC = true }, marked, driver.ErrUnsupported, "nothing was sent: leaf-1 (0x0000000000000021:0) has no SwitchPortCongestionSetting, wanted for port 3"},
		"credit starvation":                {leaf(40), func(a *agent) { a.info = 0 }, starved, driver.ErrUnsupported, "has no credit starvation"},
		"a shift of four":                  {host(), func(*agent) {}, broken, driver.ErrInvalid, "nothing was sent: "},
		"a limit beyond any table":         {host(), func(a *agent) { a.limit = 0xffff }, caSample(0), driver.ErrUnsupported, "CCTI_Limit 65535, want at most 16319"},
		"a limit above that of the device": {host(), func(a *agent) { a.limit = 200 }, caSample(0), driver.ErrInvalid, "Get CongestionControlTable of host-1/P2 (0x0000000000000011:2): refused as invalid by the device: status "},
		"another CC_Key":                   {host(), func(a *agent) { a.key = 42 }, caSample(0), driver.ErrUnreachable, "Get CACongestionSetting of host-1/P2 (0x0000000000000011:2): device unreachable: "},
		"another CC_Key, and why":          {leaf(40), func(a *agent) { a.key = 42 }, marked, driver.ErrUnreachable, "(a wrong CC_Key also shows as silence)"},
		"no class":                         {host(), func(a *agent) { a.disabled = true }, caSample(0), driver.ErrUnsupported, "Get CACongestionSetting of host-1/P2 (0x0000000000000011:2): "},
		"always busy":                      {leaf(40), func(a *agent) { a.busy = 9 }, marked, driver.ErrBusy, "Get SwitchCongestionSetting of leaf-1 (0x0000000000000021:0): "},
		"the first block of ports only":    {leaf(40), func(a *agent) { a.answer = refuse(mad.AttrSwitchPortCongestionSetting, 1) }, marked, driver.ErrUnsupported, "Get SwitchPortCongestionSetting of leaf-1 (0x0000000000000021:0): "},
		"an unanswered block of ports":     {leaf(40), func(a *agent) { a.answer = unanswered(mad.AttrSwitchPortCongestionSetting, 1) }, marked, driver.ErrUnreachable, "Get SwitchPortCongestionSetting of leaf-1 (0x0000000000000021:0): "},
	} {
		r := newRig(t, c.device)
		c.deviceFaults(r.a)
		receipt, err := r.d.Apply(t.Context(), r.v, c.want)
		checkSentence(t, what, err, c.kind, c.sentence)
		if len(r.a.writes) > 0 || len(receipt.Fields) > 0 {
			t.Errorf("%s: %d writes, receipt %v", what, len(r.a.writes), receipt)
		}
	}
}

// refuse answers one block of an attribute with status 0x0c.
func refuse(id mad.AttrID, block uint32) func(*mad.Packet) (mad.Status, bool) {
	return func(req *mad.Packet) (mad.Status, bool) {
		if req.Attr() == id && req.Modifier() == block {
			return mad.StatusBadMethodAttr, true
		}
		return 0, true
	}
}

// unanswered leaves one block of an attribute without an answer.
func unanswered(id mad.AttrID, block uint32) func(*mad.Packet) (mad.Status, bool) {
	return func(req *mad.Packet) (mad.Status, bool) { return 0, req.Attr() != id || req.Modifier() != block }
}

// The cases cover every sentence with which a change of keys is rejected before any request is sent.
func TestChangesThatLockOutAreRefused(t *testing.T) {
	t.Parallel()
	f := newFleet(t, simdev.Options{})
	stored := func(context.Context) error { return nil }
	for sentence, c := range map[string]ibmad.KeyChange{
		"protection without a CC_Key: want a key, or no protection":                                {Protect: true, LeaseSeconds: 9, Stored: stored},
		"found both kept and new protection: want one of them":                                     {To: newKey, Keep: true, LeaseSeconds: 9, Stored: stored},
		"kept protection without a CC_Key: want a key, or no protection":                           {Keep: true, From: []mad.Key{oldKey}},
		"a lease of 0 seconds never ends: when the key is lost, no manager can change the devices": {To: newKey, Protect: true, Stored: stored},
		"a CC_Key that is not stored: want it kept before any device gets it":                      {To: newKey},
		"failures allowed -1: want 0 or more":                                                      {To: newKey, Failures: -1, Stored: stored},
		"devices at the same time 4097: want 1 to 4096":                                            {To: newKey, Parallel: 4097, Stored: stored},
		"devices at the same time -1: want 1 to 4096":                                              {To: newKey, Parallel: -1, Stored: stored},
	} {
		_, err := f.driver().ChangeKeys(t.Context(), f.devices, c)
		checkSentence(t, "a change that is refused", err, driver.ErrInvalid, sentence)
		checkSentence(t, "the same", err, driver.ErrInvalid, "nothing was sent: ")
	}
	if f.asks > 0 {
		t.Errorf("%d requests for changes that were refused", f.asks)
	}
	lost := errors.New("disk full")
	r, err := f.driver().ChangeKeys(t.Context(), f.devices, ibmad.KeyChange{To: newKey, Stored: func(context.Context) error { return lost }})
	checkSentence(t, "a file that cannot be written", err, lost, "the new CC_Key is not stored; nothing was written: disk full")
	if f.sets > 0 || r.Count(ibmad.KeySkipped) != len(f.devices) {
		t.Errorf("a key that could not be stored: %d writes, %d skipped", f.sets, r.Count(ibmad.KeySkipped))
	}
}

// The cases cover every sentence of a device that fails a change of keys, and every reason to stop the change.
func TestTheSentencesOfDevicesThatFailAKeyChange(t *testing.T) {
	t.Parallel()
	c := ibmad.KeyChange{From: []mad.Key{oldKey}, To: newKey, Protect: true, LeaseSeconds: 60, Stored: func(context.Context) error { return nil }}
	for what, tt := range map[string]struct {
		prepare        func(*fleet)
		deviceFaults   func(*mad.CongestionKeyInfo)
		kind           error
		sentence, stop string // of the device, and of the change
	}{
		"another manager's key, readable": {prepare: func(f *fleet) { f.guard(0, unknownKey, false, 0) }, kind: driver.ErrConflict,
			sentence: "it has a CC_Key that is neither the old nor the new one", stop: "too many devices failed: 1 when they were read, 0 may: nothing was written"},
		"another manager's key, protected": {prepare: func(f *fleet) { f.guard(0, unknownKey, true, 0) }, kind: ibmad.ErrKey,
			sentence: "no answer, though its subnet management agent answers: the CC_Key is likely wrong, or the device has no congestion control", stop: "nothing was written"},
		"a key that is never shown": {prepare: func(f *fleet) { f.guard(0, oldKey, true, 0) }, deviceFaults: func(k *mad.CongestionKeyInfo) { k.CCKey = 0 }, kind: driver.ErrUnsupported,
			sentence: "it does not show which CC_Key it has, so that a change could not be verified", stop: "nothing was written"},
		"firmware that leaves keys without an answer": {prepare: func(f *fleet) {
			f.dev.SetFaults(simdev.Faults{Nodes: f.nodes[:1], Unanswered: []simdev.Attribute{{Class: mad.ClassCongestion, Attr: mad.AttrCongestionKeyInfo}}})
		}, kind: ibmad.ErrKey, sentence: "the CC_Key is likely wrong, or the device has no congestion control", stop: "nothing was written"},
		"an M_Key besides": {prepare: func(f *fleet) {
			f.guard(0, unknownKey, true, 0)
			must(f.t, f.dev.GuardSM(f.nodes[0], 0x77, 2, 0))
		}, kind: driver.ErrUnreachable, sentence: "(a wrong CC_Key also shows as silence)", stop: "nothing was written"},
		"a Set that never arrives": {prepare: func(f *fleet) {
			f.lose = func(_ int, req *mad.Packet) (bool, bool) { return req.Method() == mad.MethodSet, false }
		}, kind: driver.ErrConflict, sentence: "it shows another CC_Key than was written", stop: "the device that was tried first did not take the key: "},
		"a device that fails after the Set": {prepare: func(f *fleet) {
			f.lose = func(_ int, _ *mad.Packet) (bool, bool) { return f.sets > 0, false }
		}, kind: driver.ErrUnreachable, sentence: "after its CC_Key was written it answers to neither the old nor the new one: ", stop: "did not take the key"},
		"another lease": {prepare: func(*fleet) {}, deviceFaults: func(k *mad.CongestionKeyInfo) { k.LeasePeriod = min(k.LeasePeriod, 15) }, kind: driver.ErrConflict,
			sentence: "it has the key, but reads back protection true with a lease of 15 s, want true with 60 s", stop: "did not take the key"},
		"no protection": {prepare: func(*fleet) {}, deviceFaults: func(k *mad.CongestionKeyInfo) { k.Protect = false }, kind: driver.ErrConflict,
			sentence: "it has the key, but reads back protection false with a lease of 60 s, want true with 60 s", stop: "did not take the key"},
		"a key that is hidden after the write": {prepare: func(*fleet) {}, deviceFaults: func(k *mad.CongestionKeyInfo) { k.CCKey = 0 }, kind: driver.ErrConflict,
			sentence: "since its CC_Key was written it does not show its key, so the change could not be verified", stop: "did not take the key"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, simdev.Options{})
			tt.prepare(f)
			var wire mad.Transport = f
			if tt.deviceFaults != nil {
				wire = &keyInfoEdit{f, tt.deviceFaults}
			}
			d, err := ibmad.New(wire, ibmad.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := d.ChangeKeys(t.Context(), f.devices, c)
			if err != nil {
				t.Fatal(err)
			}
			first := &r.Results[0]
			checkSentence(t, "the device", first.Err, tt.kind, tt.sentence)
			checkSentence(t, "the device's name", first.Err, tt.kind, f.devices[0].String())
			canary := errors.Is(r.Stopped, ibmad.ErrCanary)
			if canary == errors.Is(r.Stopped, ibmad.ErrBudget) || canary != (f.sets > 0) {
				t.Errorf("stopped by %v after %d writes", r.Stopped, f.sets)
			}
			if first.Outcome != ibmad.KeyFailed || r.Stopped == nil || !strings.Contains(r.Stopped.Error(), tt.stop) || r.Count(ibmad.KeyChanged) > 0 {
				t.Errorf("%s, %d changed, stopped by %v, want %q", first.Outcome, r.Count(ibmad.KeyChanged), r.Stopped, tt.stop)
			}
		})
	}
}

// An M_Key protects only subnet management: with the CC_Key a manager can set and read congestion control, and change
// the key.
func TestAnMKeyDoesNotGuardCongestionControl(t *testing.T) {
	t.Parallel()
	f := newFleet(t, simdev.Options{CCKey: oldKey})
	for _, n := range f.nodes {
		must(t, f.dev.GuardSM(n, 0x77, 3, 0))
	}
	r := f.change(ibmad.KeyChange{From: []mad.Key{oldKey}, To: testKey, Protect: true, LeaseSeconds: 60})
	if r.Count(ibmad.KeyChanged) != len(f.devices) {
		t.Errorf("%d of %d keys changed: %v", r.Count(ibmad.KeyChanged), len(f.devices), r.Stopped)
	}
	d := newDriver(t, f)
	for _, v := range f.devices[:2] {
		want := drivertest.Samples(v, driver.Capabilities{TableEntries: 128, PortMarking: true, PerSL: true})[0]
		if _, err := d.Apply(t.Context(), v, want); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Read(t.Context(), v); err != nil || !want.Equal(got) {
			t.Errorf("%s: read back otherwise: %v", v, err)
		}
	}
}

// Two devices with the same GUID stay separate: each is read and written at its own LID.
func TestDevicesWithOneGUIDAreDistinguishedByLID(t *testing.T) {
	t.Parallel()
	f := newFleet(t, simdev.Options{})
	twins := []driver.Device{f.devices[1], f.devices[2]}
	twins[1].ID = twins[0].ID
	f.guard(2, unknownKey, false, 0)
	states, err := f.driver().ReadKeys(t.Context(), twins, ibmad.KeyRead{})
	if err != nil || states[0].Holder != ibmad.KeyNone || states[1].Holder != ibmad.KeyOther {
		t.Errorf("%v and %v: %v", states[0], states[1], err)
	}
	f.guard(2, 0, false, 0)
	d := f.driver()
	variants := drivertest.Samples(twins[0], driver.Capabilities{TableEntries: 128, PerSL: true})
	for i, v := range twins {
		if _, err := d.Apply(t.Context(), v, variants[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range twins {
		if got, err := d.Read(t.Context(), v); err != nil || !variants[i].Equal(got) {
			t.Errorf("twin %d reads back otherwise: %v", i, err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
