package opensm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
)

// Deviation is one difference from a plan.
type Deviation struct {
	Field, Want, Got string // displayed; Want or Got may be NoLine
	// Problem is the reason that blocks an Apply; nil for a difference of lines, of lanes or of paths.
	Problem *osmfile.Problem
	// Left means that Fairlane wrote the line for an earlier plan, that the line does not affect this plan, and that
	// PhaseFinish removes it.
	Left bool
}

// NoLine represents a line that a file does not have.
const NoLine = "no such line"

// Drift checks whether a plan is still in force, and writes nothing. Files are compared completely with what PhaseFinish
// would write. Subnet administration is queried once about the partitions with the base P_Keys in ask, Config.Pairs paths
// for each; nil means all. The error is a failed read or query, or a *RefusedError for a plan that OpenSM cannot hold.
func (p *Placer) Drift(ctx context.Context, plan *Plan, ask []ident.PKey) ([]Deviation, error) {
	d, err := p.desired(plan)
	if err != nil {
		return nil, err
	}
	w, err := p.Manager.compose(ctx, d, PhaseFinish)
	if err != nil {
		return nil, err
	}
	var out []Deviation
	if w.before.Foreign {
		out = append(out, Deviation{Field: "subnet manager", Want: fmt.Sprintf("the one on %s", w.before.Own), Got: fmt.Sprintf("the one on %s", w.before.GUID)})
	}
	lines, err := p.staleLines(ctx, w, d)
	if err != nil {
		return nil, err
	}
	out = append(out, lines...)
	// Problems that block writing are no differences of lines. A foreign master and edits are listed already.
	listed := append(slices.Clone(p.Force), osmfile.CodeNotMaster, osmfile.CodeEdited)
	for _, x := range osmfile.Blocking(w.change.Problems, listed) {
		out = append(out, Deviation{Field: cmp.Or(x.File, "plan"), Want: "as planned", Got: x.String(), Problem: &x})
	}
	expected := expect(d, nil)
	if ask != nil {
		expected = slices.DeleteFunc(expected, func(e expectation) bool { return !slices.Contains(ask, e.PKey) })
	}
	proof, err := p.Manager.prover(w.texts, d).round(ctx, expected)
	if err != nil {
		return nil, err
	}
	return append(out, proof.deviations()...), nil
}

// staleLines returns the lines that differ from w, the result of PhaseFinish. The lines belong to an earlier plan
// when the files are as Fairlane wrote them and PhasePrepare would change nothing.
func (p *Placer) staleLines(ctx context.Context, w *work, d osmfile.Desired) (out []Deviation, err error) {
	for _, text := range w.differences() {
		out = append(out, changedLines(text)...)
	}
	if len(out) == 0 || slices.ContainsFunc(w.change.Problems, func(x osmfile.Problem) bool { return x.Code == osmfile.CodeEdited }) {
		return out, nil
	}
	before, err := p.Manager.compose(ctx, d, PhasePrepare)
	if err != nil || len(before.differences()) > 0 {
		return out, err
	}
	for i := range out {
		out[i].Left = true
	}
	return out, nil
}

// deviations lists the failed parts of the proof.
func (p *Proof) deviations() (out []Deviation) {
	for _, x := range p.Partitions {
		if !x.Holds {
			out = append(out, Deviation{Field: fmt.Sprintf("path of %s in partition 0x%04x", x.Tenant, uint16(x.PKey)), Want: fmt.Sprintf("SL %d", x.Want), Got: x.answer})
		}
	}
	for _, x := range p.Lanes {
		if !x.Holds {
			out = append(out, Deviation{Field: "lanes of a port", Want: "as planned", Got: x.Problem})
		}
	}
	return out
}

// changedLines pairs the differing lines by the text before their values.
func changedLines(difference string) (out []Deviation) {
	path, lines := osmfile.ChangedLines(difference)
	var removed, added []string
	for _, line := range lines {
		switch text := line[1:]; {
		case strings.TrimSpace(text) == "":
		case line[0] == '-':
			removed = append(removed, text)
		default:
			added = append(added, text)
		}
	}
	for _, got := range removed {
		want := NoLine
		if i := slices.IndexFunc(added, func(l string) bool { return lineKey(l) == lineKey(got) }); i >= 0 {
			want = added[i]
			added = slices.Delete(added, i, i+1)
		}
		out = append(out, deviation(path, want, got))
	}
	for _, want := range added {
		out = append(out, deviation(path, want, NoLine))
	}
	return out
}

// lineKey returns the word before a line's value.
func lineKey(line string) string {
	key, _, _ := strings.Cut(strings.TrimSpace(line), "=")
	key, _, _ = strings.Cut(key, " ")
	return key
}

// shownWidth bounds the displayed part of a line, in bytes.
const shownWidth = 120

// deviation shows two lines around their first difference.
func deviation(path, want, got string) Deviation {
	same := 0
	for same < min(len(want), len(got)) && want[same] == got[same] {
		same++
	}
	return Deviation{Field: path, Want: window(want, same), Got: window(got, same)}
}

func window(line string, at int) string {
	if len(line) <= shownWidth || line == NoLine {
		return line
	}
	from := max(0, min(at-shownWidth/3, len(line)-shownWidth))
	part := line[from : from+shownWidth]
	if from > 0 {
		part = "…" + part
	}
	if from+shownWidth < len(line) {
		part += "…"
	}
	return strings.ToValidUTF8(part, "")
}
