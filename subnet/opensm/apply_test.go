package opensm

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm/osmfile"
)

func desired(sl ident.SL) osmfile.Desired {
	return osmfile.Desired{Partitions: []osmfile.Partition{
		{Tenant: "gold", PKey: 1, SL: sl, Members: []osmfile.Member{{PortGUID: 0x11, Full: true}, {PortGUID: 0x12, Full: true}}},
		{Tenant: "silver", PKey: 2, SL: 4, Members: []osmfile.Member{{PortGUID: 0x12, Full: true}, {PortGUID: 0x13}}},
	}}
}

func manager(t *testing.T, s *fakeSM, cfg Config) *Manager {
	t.Helper()
	m, err := New(cfg, s, s, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func steps(r Report) string {
	var out []string
	for _, s := range r.Steps {
		out = append(out, s.Name)
	}
	return strings.Join(out, " ")
}

func TestApplyWritesReloadsAndProves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("-", "-", "qos-ulps\n default : 9\nend-qos-ulps\n")
		m := manager(t, s, Config{Settings: osmfile.Settings{OneLane: true}})
		pre, err := m.Diff(t.Context(), desired(3), PhaseFinish)
		if err != nil || len(pre.Differences) != 3 || len(pre.Problems) != 0 {
			t.Fatalf("preview %+v, %v", pre, err)
		}
		if _, ok := s.disk[partPath]; ok {
			t.Fatal("a preview writes")
		}
		r, err := m.Apply(t.Context(), desired(3), ApplyOptions{})
		if err != nil || steps(r) != "write write write reload prove" || !r.Changed || len(r.Differences) != 3 {
			t.Fatalf("%v, steps %s", err, steps(r))
		}
		if got, _ := s.path(0x11, 0x12, 0x8001); got != 3 {
			t.Errorf("SL %d", got)
		}
		r, err = m.Apply(t.Context(), desired(3), ApplyOptions{})
		if err != nil || steps(r) != "prove" || r.Changed {
			t.Errorf("again: %v, steps %s", err, steps(r))
		}
		if p, err := m.Prove(t.Context(), desired(5)); err != nil || p.Holds() || !strings.Contains(p.Problems(), "returns SL 3 in partition 0x0001") {
			t.Errorf("verification of another desired state: %+v, %v", p, err)
		}
		st, err := m.Read(t.Context())
		if err != nil || len(st.Partitions) != 2 || len(st.Problems) != 0 || st.Observation.GUID != 0x99 || st.Observation.Process != "1" {
			t.Errorf("state %+v, %v", st, err)
		}
	})
}

func TestApplyRollsBackWhenOpenSMDoesNotReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("qos TRUE\n", "-", "-")
		m := manager(t, s, Config{ProofTimeout: time.Minute})
		if _, err := m.Apply(t.Context(), desired(3), ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		was := maps.Clone(s.disk)
		s.deaf = true
		start := time.Now()
		r, err := m.Apply(t.Context(), desired(6), ApplyOptions{})
		var failed *FailedError
		if !errors.As(err, &failed) || failed.Step != StepProve || !failed.RolledBack || !r.RolledBack || r.Changed {
			t.Fatalf("%v, %+v", err, r)
		}
		if !strings.Contains(err.Error(), "returns SL 3 in partition 0x0001 between ports 0x0000000000000011 and 0x0000000000000012, not SL 6; rolled back") {
			t.Error(err)
		}
		if steps(r) != "write reload restore prove-old" || !maps.Equal(was, s.disk) {
			t.Errorf("steps %s, files %v", steps(r), s.disk)
		}
		if took := time.Since(start); took < time.Minute || took > 2*time.Minute {
			t.Errorf("took %s", took)
		}
		// The desired files are in place but OpenSM has not read them: it is reloaded.
		s.deaf = false
		delete(s.force, partPath)
		if r, err = m.Apply(t.Context(), desired(3), ApplyOptions{}); err != nil || steps(r) != "reload prove" {
			t.Errorf("%v, steps %s", err, steps(r))
		}
	})
}

func TestRefusalWritesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("qos TRUE\ncongestion_control TRUE\nguid 0x5\nqos_vlarb_high 0:0\nqos_vlarb_low 3:1,4:1\n", "-", "-")
		m := manager(t, s, Config{})
		was := maps.Clone(s.disk)
		r, err := m.Apply(t.Context(), desired(3), ApplyOptions{})
		var refused *RefusedError
		if !errors.As(err, &refused) || len(refused.Problems) != 2 || len(refused.Differences) != 1 || len(r.Steps) != 0 {
			t.Fatalf("%v, %+v", err, r)
		}
		for _, want := range []string{"nothing was written: ", "0x0000000000000005, and the master is the one on 0x0000000000000099", "set congestion_control FALSE"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not contain %q", err, want)
			}
		}
		if !maps.Equal(was, s.disk) {
			t.Error("a file was touched")
		}
		r, err = m.Apply(t.Context(), desired(3), ApplyOptions{Force: []osmfile.Code{osmfile.CodeCCOn, osmfile.CodeNotMaster}})
		if err != nil || len(r.Problems) != 3 || r.Problems[2].Code != osmfile.CodeLanesApart {
			t.Errorf("by force: %v, %+v", err, r)
		}
		if _, err = m.Apply(t.Context(), desired(3), ApplyOptions{Phase: "later"}); err == nil || !strings.Contains(err.Error(), `phase "later": want prepare or finish`) {
			t.Error(err)
		}
	})
}

func TestStandbyFilesAreWrittenWithoutProof(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("qos TRUE\n", "-", "-")
		s.deaf = true // as if OpenSM had not received the reload
		m := manager(t, s, Config{PortGUID: 5})
		r, err := m.Apply(t.Context(), desired(3), ApplyOptions{Standby: true})
		if err != nil || steps(r) != "write reload standby" || !s.disk[partPath].Present {
			t.Errorf("%v, steps %s", err, steps(r))
		}
		// The next Apply completes one that was killed between write and reload.
		s.deaf = false
		r, err = m.Apply(t.Context(), desired(3), ApplyOptions{Standby: true})
		if err != nil || r.Changed || steps(r) != "reload standby" || !maps.Equal(s.disk, s.force) {
			t.Errorf("again: %v, steps %s, read %d files", err, steps(r), len(s.force))
		}
	})
}

// Each operation fails in turn, alone or with all later ones. The files are the previous or the desired ones, unless
// the error reports a failed restore; without the fault the next Apply succeeds.
func TestFilesAreInPreviousOrDesiredStateAfterAnyFault(t *testing.T) {
	t.Parallel()
	for _, forever := range []bool{false, true} {
		for k := 1; k < 40; k++ {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeSM("# mine\n", "Default=0x7fff:ALL=full;\n", "qos-ulps\n default : 9\nend-qos-ulps\n")
				m := manager(t, s, Config{ProofTimeout: 5 * time.Second})
				if _, err := m.Apply(t.Context(), desired(3), ApplyOptions{}); err != nil {
					t.Fatal(err)
				}
				was := maps.Clone(s.disk)
				next := desired(6)
				next.Partitions = next.Partitions[:1]
				next.Lanes = lanes(3)
				s.ops, s.deaf = 0, k%2 == 0 && !forever
				s.fails = func(op int, name string) error {
					if op == k || forever && op > k {
						return errInjected
					}
					return nil
				}
				r, err := m.Apply(t.Context(), next, ApplyOptions{})
				var failed *FailedError
				switch {
				case err == nil:
					if p := s.force[partPath]; p != s.disk[partPath] {
						t.Errorf("op %d: success, and not in force", k)
					}
				case errors.As(err, &failed) && failed.Undo != nil:
				case !maps.Equal(was, s.disk):
					t.Errorf("op %d: %v, steps %s, files\n%v", k, err, steps(r), s.disk)
				}
				s.fails, s.deaf = nil, false
				if _, err := m.Apply(t.Context(), next, ApplyOptions{}); err != nil {
					t.Errorf("op %d: afterwards %v", k, err)
				}
				if sl, _ := s.path(0x11, 0x12, 0x8001); sl != 6 {
					t.Errorf("op %d: SL %d", k, sl)
				}
			})
		}
	}
}

func TestCanceledApplyRestoresTheFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("qos TRUE\n", "-", "-")
		m := manager(t, s, Config{})
		was := maps.Clone(s.disk)
		s.deaf = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := m.Apply(ctx, desired(3), ApplyOptions{})
		var failed *FailedError
		if !errors.As(err, &failed) || !failed.RolledBack || !maps.Equal(was, s.disk) {
			t.Errorf("%v, files %v", err, s.disk)
		}
	})
}

func TestDownPortsNeitherProveNorBlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("qos TRUE\n", "-", "-")
		s.down[0x12], s.down[0x13] = true, true
		r, err := manager(t, s, Config{}).Apply(t.Context(), desired(3), ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if un := r.Proof.Unproven(); len(un) != 1 || un[0].Tenant != "silver" || !strings.Contains(un[0].Problem, "none of its sampled ports is up") {
			t.Errorf("unproven %+v", un)
		}
	})
}

// One of a hundred members is new: only a query about that member shows whether OpenSM has read the file.
func TestNewMembersAreQueried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("qos TRUE\n", "-", "-")
		m := manager(t, s, Config{})
		d := desired(6)
		for i := range 100 {
			d.Partitions[0].Members = append(d.Partitions[0].Members, osmfile.Member{PortGUID: ident.GUID(0x100 + i), Full: true})
		}
		if _, err := m.Apply(t.Context(), d, ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		s.deaf = true
		d.Partitions[0].Members = append(d.Partitions[0].Members, osmfile.Member{PortGUID: 0x133, Full: true}, osmfile.Member{PortGUID: 0x999})
		r, err := m.Apply(t.Context(), d, ApplyOptions{})
		if err == nil || !strings.Contains(err.Error(), "found no path in partition 0x0001 between ports 0x0000000000000011 and 0x0000000000000999") || !r.RolledBack {
			t.Errorf("%v", err)
		}
		// A removed member must be queried, too.
		d.Partitions[0].Members = d.Partitions[0].Members[:60]
		r, err = m.Apply(t.Context(), d, ApplyOptions{})
		if err == nil || !strings.Contains(err.Error(), "was removed, but subnet administration still returns a path") || !r.RolledBack {
			t.Errorf("%v", err)
		}
		s.deaf = false
		if _, err = m.Apply(t.Context(), d, ApplyOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// lanes puts SL 6 on a lane.
func lanes(vl ident.VL) []osmfile.Lanes {
	m := [ident.NumSLs]ident.VL{6: vl, 9: 12}
	return []osmfile.Lanes{{Kind: osmfile.AdapterPort, SL2VL: &m}}
}

func TestTablesOfLanesAreProvenAtThePorts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("-", "-", "-")
		m := manager(t, s, Config{})
		d := desired(6)
		d.Lanes = lanes(3)
		r, err := m.Apply(t.Context(), d, ApplyOptions{})
		if err != nil || len(r.Proof.Lanes) != 2 || r.Proof.Lanes[0].Silent {
			t.Fatalf("%v, lanes %+v", err, r.Proof.Lanes)
		}
		s.deaf = true
		d.Lanes = lanes(4)
		r, err = m.Apply(t.Context(), d, ApplyOptions{})
		if err == nil || !strings.Contains(err.Error(), "LID 17: SL 6 is on VL 3, not 4") || !r.RolledBack {
			t.Errorf("%v", err)
		}
	})
}

func TestPairsAreSpreadAndHaveAFullMember(t *testing.T) {
	t.Parallel()
	var ms []osmfile.Member
	for i := range 10 {
		ms = append(ms, osmfile.Member{PortGUID: ident.GUID(i + 1), Full: i < 5})
	}
	got := samplePairs(ms, 3)
	if !slices.Equal(got[:4], [][2]ident.GUID{{1, 10}, {2, 7}, {4, 4}, {3, 6}}) || len(got) > 12 {
		t.Errorf("pairs %v", got)
	}
	for _, p := range samplePairs(ms, 100) {
		if p[0] > 5 {
			t.Errorf("pair %v has no full member first", p)
		}
	}
	if got := samplePairs(ms[:1], 3); !slices.Equal(got, [][2]ident.GUID{{1, 1}}) {
		t.Errorf("one member: %v", got)
	}
	if got := samplePairs(ms[6:], 3); got != nil {
		t.Errorf("limited members cannot talk: %v", got)
	}
}

func TestInvalidConfigsAreRejected(t *testing.T) {
	t.Parallel()
	s := newFakeSM("-", "-", "-")
	for want, cfg := range map[string]Config{
		`OpenSM file "x": want an absolute path`:            {Partitions: "x"},
		"proof timeout 1ms: want 100ms to 10m":              {ProofTimeout: time.Millisecond},
		"101 pairs of ports for each tenant: want 1 to 100": {Pairs: 101},
	} {
		if _, err := New(cfg, s, s, s); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := New(Config{}, s, s, nil); err == nil {
		t.Error("no transport is needed")
	}
	s = newFakeSM("partition_config_file parts\n", "-", "-")
	if _, err := manager(t, s, Config{}).Read(t.Context()); err == nil || !strings.Contains(err.Error(), `partition_config_file "parts": want an absolute path`) {
		t.Error(err)
	}
}

func TestApplyWritesNothingIfVerificationIsImpossible(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("qos TRUE\n", "-", "-")
		was := maps.Clone(s.disk)
		s.fails = func(_ int, name string) error {
			if name == "ask" {
				return mad.ErrTimeout
			}
			return nil
		}
		if _, err := manager(t, s, Config{}).Apply(t.Context(), desired(3), ApplyOptions{}); !errors.Is(err, mad.ErrTimeout) || !maps.Equal(was, s.disk) {
			t.Errorf("%v, %v", err, s.disk)
		}
	})
}

// Two sessions have a Manager each. The first is cancelled while it waits for its proof and rolls back. The second,
// which took over its work, must not succeed with files that are about to be replaced.
func TestCanceledApplyDoesNotUndoTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("qos TRUE\n", "-", "-")
		if _, err := manager(t, s, Config{}).Apply(t.Context(), desired(3), ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		s.deaf = true
		first, giveUp := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := manager(t, s, Config{}).Apply(first, desired(5), ApplyOptions{})
			ended <- err
		}()
		time.Sleep(10 * time.Second) // it has written, and its queries fail
		go func() {
			_, err := manager(t, s, Config{}).Apply(t.Context(), desired(5), ApplyOptions{})
			ended <- err
		}()
		time.Sleep(time.Second)
		s.mu.Lock()
		s.deaf = false
		s.sweep()
		s.mu.Unlock()
		giveUp()
		var failed *FailedError
		if err := <-ended; !errors.As(err, &failed) || !failed.RolledBack {
			t.Errorf("the cancelled Apply: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the next: %v", err)
		}
		if sl, ok := s.path(0x11, 0x12, 1); !ok || sl != 5 {
			t.Errorf("SL %d is returned, though 5 was proven", sl)
		}
	})
}

func TestHeldLockIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSM("qos TRUE\n", "-", "-")
		s.lock <- struct{}{}
		if _, err := manager(t, s, Config{}).Apply(t.Context(), desired(3), ApplyOptions{}); !errors.Is(err, context.DeadlineExceeded) || s.ops > 0 {
			t.Errorf("%v after %d acts", err, s.ops)
		}
	})
}
