package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
	"fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
)

// byOpenSM places tenants through the files of an OpenSM. The files record earlier placements, so it does not need the
// plan before.
type byOpenSM struct {
	*opensm.Placer
	fabric, source string // for the commands in an error
}

var _ Port = byOpenSM{}

// ForOpenSM returns the requirements of a plan for OpenSM.
func ForOpenSM(p *policy.Plan) *opensm.Plan {
	out := &opensm.Plan{}
	for _, x := range p.Placements {
		out.Placements = append(out.Placements, opensm.Placement{Tenant: x.Tenant, PKey: x.PKey, Port: x.Port, SL: x.SL})
	}
	for i := range p.Lanes {
		l := &p.Lanes[i]
		out.Lanes = append(out.Lanes, opensm.PortLanes{Port: l.Port, Name: l.Name, SL2VL: l.SL2VL, High: entries(l.High), Low: entries(l.Low)})
	}
	return out
}

func entries(ws []policy.VLWeight) []osmfile.VLWeight {
	out := make([]osmfile.VLWeight, len(ws))
	for i, w := range ws {
		out[i] = osmfile.VLWeight(w)
	}
	return out
}

func (p byOpenSM) Check(ctx context.Context, plan, _ *policy.Plan) error {
	return p.explained(p.Placer.Check(ctx, ForOpenSM(plan)))
}

func (p byOpenSM) Place(ctx context.Context, plan, _ *policy.Plan, clear bool) error {
	return p.explained(p.Placer.Place(ctx, ForOpenSM(plan), clear))
}

func (p byOpenSM) Verify(ctx context.Context, plan *policy.Plan) error {
	return p.Placer.Verify(ctx, ForOpenSM(plan))
}

// explained adds to an error the changes that would have been written, and the command that helps. The command names no
// file of this machine, because clients of the API read it.
func (p byOpenSM) explained(err error) error {
	var refused *opensm.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	err = withDifference(err)
	if !slices.ContainsFunc(refused.Problems, func(p osmfile.Problem) bool { return p.Code != osmfile.CodeEdited }) {
		return fmt.Errorf("%w; to write the plan in force over the edit: fairlane device repair %s --fabric %s --wait", err, device.ManagerName, p.fabric)
	}
	return fmt.Errorf("%w; to compare, on OpenSM's host: fairlane tenant export --fabric %s > tenants.yaml && fairlane opensm diff --sm FILE --from %s --tenants tenants.yaml --prepare",
		err, p.fabric, p.source)
}

func (p byOpenSM) Refusal(ctx context.Context, plan *policy.Plan) error {
	return p.Check(ctx, plan, plan)
}

func (p byOpenSM) Drift(ctx context.Context, plan *policy.Plan, ask []ident.PKey) (out []control.Difference, leftover bool, err error) {
	found, err := p.Placer.Drift(ctx, ForOpenSM(plan), ask)
	leftover = len(found) > 0
	for _, d := range found {
		out = append(out, managerDifference(d))
		leftover = leftover && d.Left
	}
	return out, leftover, err
}

// shownLines is the maximum number of changed lines in an error, shownWidth the maximum characters of each.
const (
	shownLines = 6
	shownWidth = 120
)

// withDifference adds to an error the changes that would have been written.
func withDifference(err error) error {
	var refused *opensm.RefusedError
	if !errors.As(err, &refused) || len(refused.Differences) == 0 {
		return err
	}
	var shown []string
	more := 0
	for _, d := range refused.Differences {
		path, lines := osmfile.ChangedLines(d)
		for i, line := range lines {
			line = fmt.Sprintf("%.*s", shownWidth, line)
			switch {
			case len(shown) == shownLines:
				more++
			case i == 0:
				shown = append(shown, path+": "+line)
			default:
				shown = append(shown, line)
			}
		}
	}
	if len(shown) == 0 {
		return err
	}
	text := strings.Join(shown, " | ")
	if more > 0 {
		text += fmt.Sprintf(" | and %d more lines", more)
	}
	return fmt.Errorf("%w; it would have written %s", err, text)
}
