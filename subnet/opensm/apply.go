package opensm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
)

// ApplyOptions control an Apply.
type ApplyOptions struct {
	Phase Phase
	// Force accepts problems of these codes, except final ones.
	Force []osmfile.Code
	// Standby means that the files belong to an OpenSM that is not master. Apply writes them and reloads that OpenSM
	// even without a change, because nothing can be proven until it is master.
	Standby bool
}

// Step is one step of an Apply.
type Step struct {
	Name string `json:"name"` // StepWrite …
	Text string `json:"text"` // description, in a sentence
}

// Names of steps, in their order.
const (
	StepWrite    = "write"
	StepReload   = "reload"
	StepProve    = "prove"
	StepRestore  = "restore"
	StepProveOld = "prove-old"
	StepStandby  = "standby" // in place of a proof
)

// Report is the result of an Apply.
type Report struct {
	Changed     bool              `json:"changed"` // a file was written and not rolled back
	RolledBack  bool              `json:"rolled_back,omitempty"`
	Steps       []Step            `json:"steps,omitempty"`
	Differences []string          `json:"differences,omitempty"` // one for each changed file
	Problems    []osmfile.Problem `json:"problems,omitempty"`    // warnings and forced problems
	Proof       Proof             `json:"proof"`
	// Cause describes what happened to the subnet manager during the Apply.
	Cause osmfile.Cause `json:"cause"`
}

func (r *Report) step(name, format string, args ...any) {
	r.Steps = append(r.Steps, Step{name, fmt.Sprintf(format, args...)})
}

// RefusedError holds the reasons why nothing was written.
type RefusedError struct {
	Problems    []osmfile.Problem // the problems that block
	Differences []string          // changes that Force would write
}

// Error joins the problems.
func (e *RefusedError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return "nothing was written: " + strings.Join(texts, "; ")
}

// FailedError reports the step at which an Apply failed.
type FailedError struct {
	Step       string // StepWrite, StepReload or StepProve
	Err        error
	RolledBack bool // the files are restored, and it is proven that OpenSM has read them
	Undo       error
}

// Error reports the failure and the state of the files.
func (e *FailedError) Error() string {
	switch {
	case e.RolledBack:
		return fmt.Sprintf("%s: %v; rolled back", e.Step, e.Err)
	case e.Undo != nil:
		return fmt.Sprintf("%s: %v; rolling back failed: %v", e.Step, e.Err, e.Undo)
	}
	return fmt.Sprintf("%s: %v", e.Step, e.Err)
}

// Unwrap returns the failure and the error of undoing it.
func (e *FailedError) Unwrap() []error { return []error{e.Err, e.Undo} }

// Apply puts the desired state into force and verifies it. It is idempotent: with unchanged files it only verifies, and
// reloads OpenSM once when the proof fails. A *RefusedError means that nothing was written; a *FailedError reports the
// state of the files. A crash in the middle leaves each file whole, and the next Apply continues.
func (m *Manager) Apply(ctx context.Context, d osmfile.Desired, o ApplyOptions) (Report, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	unlock, err := m.lock(ctx)
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	if o.Standby {
		o.Force = append(slices.Clone(o.Force), osmfile.CodeNotMaster)
	}
	w, err := m.compose(ctx, d, o.Phase)
	if err != nil {
		return Report{}, err
	}
	r := Report{Problems: w.change.Problems, Differences: w.differences()}
	if stop := osmfile.Blocking(w.change.Problems, o.Force); len(stop) > 0 {
		return r, &RefusedError{Problems: stop, Differences: r.Differences}
	}
	a := &applying{m: m, w: w, r: &r, standby: o.Standby, ask: m.prover(w.texts, w.want), askOld: m.prover(w.texts, osmfile.Desired{})}
	err = a.run(ctx)
	if after, oerr := m.Observe(context.WithoutCancel(ctx)); oerr == nil {
		// Changes of our own files are not reported.
		after.Options, after.Partitions, after.Policy = w.before.Options, w.before.Partitions, w.before.Policy
		if c := osmfile.CauseOf(w.before, after); c.Code == osmfile.CauseHandover || c.Code == osmfile.CauseRestarted {
			r.Cause = c
		}
	}
	return r, err
}

// lock excludes other Apply calls on the same files. An Apply whose caller has cancelled may still be rolling back:
// without the lock it could overwrite files that this Apply has proven. lock waits at most as long as one Apply may
// take.
func (m *Manager) lock(ctx context.Context) (unlock func(), err error) {
	texts, err := m.texts()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*m.cfg.ProofTimeout) // two proofs, and the queries before
	defer cancel()
	return m.files.Lock(ctx, texts.Partitions.Path)
}

// Prove queries once whether the desired state is in force now, and writes nothing.
func (m *Manager) Prove(ctx context.Context, d osmfile.Desired) (Proof, error) {
	texts, err := m.texts()
	if err != nil {
		return Proof{}, err
	}
	p, err := m.prover(texts, d).round(ctx, expect(d, nil))
	p.Rounds = 1
	return p, err
}

func (m *Manager) prover(t osmfile.Texts, d osmfile.Desired) *prover {
	return &prover{transport: m.transport, prefix: osmfile.ReadOptions(t.Options.Data).SubnetPrefix(), pairs: m.cfg.Pairs, lanes: adapterLanes(d)}
}

// expect returns the answers of subnet administration that prove the desired state when old was in force before: new
// entries exist, and removed ones do not.
func expect(d osmfile.Desired, old []osmfile.Partition) []expectation {
	var out []expectation
	was := make(map[ident.PKey]*osmfile.Partition, len(old))
	for i := range old {
		was[old[i].PKey] = &old[i]
	}
	for _, p := range d.Partitions {
		p.PKey = p.PKey.Base()
		before := was[p.PKey]
		delete(was, p.PKey)
		for _, part := range p.Parts() {
			e := expectation{Partition: part}
			if before != nil {
				e.fresh, e.moved = newMembers(before, &p, part.Members)
			}
			out = append(out, e)
		}
		if before != nil {
			if left, ok := stalePath(*before, p); ok {
				out = append(out, left)
			}
		}
	}
	for i := range old {
		if was[old[i].PKey] != nil {
			out = append(out, expectation{Partition: old[i], absent: true})
		}
	}
	slices.SortStableFunc(out, func(a, b expectation) int { return cmp.Compare(a.PKey, b.PKey) })
	return out
}

// newMembers returns the members that are new in the partition and, where service levels differ by port, the ports whose
// level changed.
func newMembers(old, now *osmfile.Partition, members []osmfile.Member) (fresh []osmfile.Member, moved []ident.GUID) {
	before, after := old.Grouped(), now.Grouped()
	was := make(map[ident.GUID]bool, len(old.Members))
	for _, m := range old.Members {
		was[m.PortGUID] = true
	}
	for _, m := range members {
		a, inA := before[m.PortGUID]
		b, inB := after[m.PortGUID]
		switch {
		case inA != inB || a != b, len(after) > 0 && !was[m.PortGUID] && !old.All:
			moved = append(moved, m.PortGUID)
		case !was[m.PortGUID] && !old.All:
			fresh = append(fresh, m)
		}
	}
	return fresh, moved
}

// stalePath expects that a port removed from a partition has no path in it.
func stalePath(old, now osmfile.Partition) (expectation, bool) {
	stays := slices.IndexFunc(now.Members, func(m osmfile.Member) bool { return m.Full })
	still := make(map[ident.GUID]bool, len(now.Members))
	for _, m := range now.Members {
		still[m.PortGUID] = true
	}
	if stays < 0 || now.All {
		return expectation{}, false
	}
	var pairs [][2]ident.GUID
	for _, m := range old.Members {
		if !still[m.PortGUID] && len(pairs) < maxPairs {
			pairs = append(pairs, [2]ident.GUID{now.Members[stays].PortGUID, m.PortGUID})
		}
	}
	return expectation{Partition: old, absent: true, pairs: pairs}, len(pairs) > 0
}

// applying is the state of one Apply.
type applying struct {
	m       *Manager
	w       *work
	r       *Report
	ask     *prover
	askOld  *prover // queries the previous state
	standby bool
}

func (a *applying) run(ctx context.Context) error {
	old := osmfile.Ours(a.w.texts)
	want := expect(a.w.want, old)
	if len(a.r.Differences) == 0 {
		return a.prove(ctx, want)
	}
	undo, err := a.undoable(ctx, old)
	if err != nil {
		return err
	}
	written, err := a.write()
	if err == nil {
		a.r.Changed = true
		if err = a.m.reload.Reload(ctx); err != nil {
			err = &FailedError{Step: StepReload, Err: err}
		}
	}
	if err == nil {
		a.r.step(StepReload, "OpenSM was signalled to read its files")
		err = a.proven(ctx, want)
	}
	if err == nil {
		return nil
	}
	return a.rollBack(ctx, err, written, undo)
}

// prove proves files that need no change.
func (a *applying) prove(ctx context.Context, want []expectation) error {
	why := "the files are already up to date, but whether OpenSM has read them is unknown"
	if !a.standby {
		proof, err := a.ask.round(ctx, want)
		proof.Rounds = 1
		if err == nil && proof.Holds() {
			a.r.Proof = proof
			a.r.step(StepProve, "%s", held(proof))
			return nil
		}
		why = "the files are up to date, but their contents are not in force"
	}
	if err := a.m.reload.Reload(ctx); err != nil {
		return &FailedError{Step: StepReload, Err: err}
	}
	a.r.step(StepReload, "%s, so OpenSM was signalled to read them again", why)
	return a.proven(ctx, want)
}

// undoable returns the state that a roll-back has to prove. A state that cannot be queried now could not be proven
// after a roll-back either, so nothing is written in that case.
func (a *applying) undoable(ctx context.Context, old []osmfile.Partition) ([]expectation, error) {
	if a.standby {
		return nil, nil
	}
	was := make(map[ident.PKey]bool, len(old))
	for _, p := range old {
		was[p.PKey] = true
	}
	all := expect(osmfile.Desired{Partitions: old}, nil)
	for _, p := range a.w.want.Partitions {
		if p.PKey = p.PKey.Base(); !p.Kept && !was[p.PKey] {
			all = append(all, expectation{Partition: p, absent: true})
		}
	}
	proof, err := a.askOld.round(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("nothing was written, because nothing could be proven: %w", err)
	}
	var out []expectation
	for i, p := range proof.Partitions {
		if p.Holds {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// write writes the files, and returns the ones written.
func (a *applying) write() (done []int, err error) {
	cur, next := a.w.texts.Each(), a.w.change.Next.Each()
	for i := range cur {
		if *cur[i] == *next[i] {
			continue
		}
		if err := a.m.files.Replace(*cur[i], *next[i]); err != nil {
			return done, &FailedError{Step: StepWrite, Err: err}
		}
		done = append(done, i)
		a.r.step(StepWrite, "%s was written", cur[i].Path)
	}
	return done, nil
}

// proven queries until the desired state holds. A standby's cannot be proven.
func (a *applying) proven(ctx context.Context, want []expectation) error {
	if a.standby {
		a.r.step(StepStandby, "nothing can be verified until this OpenSM is master; apply without standby after a handover")
		return nil
	}
	proof, err := a.within(ctx, a.ask, want)
	a.r.Proof = proof
	switch {
	case err != nil:
		return &FailedError{Step: StepProve, Err: err}
	case !proof.Holds():
		return &FailedError{Step: StepProve, Err: errors.New(proof.Problems())}
	}
	a.r.step(StepProve, "%s", held(proof))
	return nil
}

func (a *applying) within(ctx context.Context, p *prover, want []expectation) (Proof, error) {
	ctx, cancel := context.WithTimeout(ctx, a.m.cfg.ProofTimeout)
	defer cancel()
	return p.prove(ctx, want)
}

func held(p Proof) string {
	asked := 0
	for _, x := range p.Partitions {
		asked += x.Asked - x.Silent
	}
	s := fmt.Sprintf("subnet administration confirmed %d partition(s) by %d path(s)", len(p.Partitions), asked)
	if n := len(p.Unproven()); n > 0 {
		s += fmt.Sprintf("; of %d no sampled port is up", n)
	}
	return s
}

// rollBack restores the written files in reverse order, and proves the previous state. It continues after the caller's
// context has ended, for as long as a proof may take.
func (a *applying) rollBack(ctx context.Context, cause error, written []int, undo []expectation) error {
	var failed *FailedError
	if !errors.As(cause, &failed) {
		failed = &FailedError{Step: StepProve, Err: cause}
	}
	ctx = context.WithoutCancel(ctx)
	cur, next := a.w.texts.Each(), a.w.change.Next.Each()
	for _, i := range slices.Backward(written) {
		if err := a.m.files.Replace(*next[i], *cur[i]); err != nil {
			failed.Undo = errors.Join(failed.Undo, err)
			continue
		}
		a.r.step(StepRestore, "%s was restored", cur[i].Path)
	}
	if failed.Undo != nil {
		return failed
	}
	a.r.Changed, a.r.RolledBack = false, true
	if len(written) == 0 || a.standby {
		failed.RolledBack = true
		return failed
	}
	if err := a.m.reload.Reload(ctx); err != nil {
		failed.Undo = fmt.Errorf("the files are restored, but OpenSM was not signalled: %w", err)
		return failed
	}
	proof, err := a.within(ctx, a.askOld, undo)
	if err == nil && !proof.Holds() {
		err = errors.New(proof.Problems())
	}
	if err != nil {
		failed.Undo = fmt.Errorf("the files are restored, but the previous state is not in force: %w", err)
		return failed
	}
	failed.RolledBack = true
	a.r.step(StepProveOld, "%s, as before the change", held(proof))
	return failed
}
