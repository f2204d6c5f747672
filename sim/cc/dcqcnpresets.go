package cc

import (
	"fmt"
	"strings"

	"fairlane/internal/quantity"
)

// Preset is a named parameter set of one algorithm, from a publication or a program.
type Preset struct {
	Name      string
	Algorithm string // name of its Spec
	Title     string // one line
	Source    string
	Values    Values // values that differ from the Spec's defaults
}

// DCQCNPresets returns the parameter sets in use for DCQCN. The caller may change them.
func DCQCNPresets() []Preset {
	us := float64(quantity.Microsecond)
	return []Preset{
		{
			Name: "dcqcn-paper", Algorithm: "dcqcn", Title: "the paper's constants", Source: paperSource, Values: Values{},
		}, {
			Name: "dcqcn-s2", Algorithm: "dcqcn", Title: "DCQCN as S2 compares it with DCQCN-p", Source: dcqcnPSource + ", table 3",
			Values: Values{"byte_counter": 10 << 20},
		}, {
			Name: "peer-vendor-timers", Algorithm: "dcqcn-peer", Title: "the simulators' vendor timers, 1/4/300 us", Source: peerSource,
			Values: Values{"alpha_timer": 1 * us, "cut_timer": 4 * us, "increase_timer": 300 * us},
		}, {
			Name: "peer-vendor-window", Algorithm: "dcqcn-peer", Title: "vendor timers with a window in proportion to the rate", Source: peerSource,
			Values: Values{"alpha_timer": 1 * us, "cut_timer": 4 * us, "increase_timer": 300 * us, "window": windowVariable},
		}, {
			Name: "peer-paper-timers", Algorithm: "dcqcn-peer", Title: "the simulators' paper timers, 50/50/55 us", Source: peerSource,
			Values: Values{"alpha_timer": 50 * us, "cut_timer": 50 * us, "increase_timer": 55 * us},
		}, {
			Name: "mlx-default", Algorithm: "dcqcn-mlx", Title: "a NIC as it comes", Source: mlxSource, Values: Values{},
		}, {
			Name: "mlx-no-byte-counter", Algorithm: "dcqcn-mlx", Title: "a NIC with the byte counter off, so that flows do not run away from each other",
			Source: mlxSource, Values: Values{"rpg_byte_reset": 0},
		}, {
			Name: "dcqcn-p", Algorithm: "dcqcn-p", Title: "DCQCN-p's constants; a notification after a long gap only cuts (late_cnp: cut)",
			Source: dcqcnPSource + ", table 3; late_cnp is ours: the pseudo-code has cut-raise, and its timer has raised in the meantime", Values: Values{},
		},
	}
}

// DCQCNPreset returns the parameter set of a name; the error lists the known names.
func DCQCNPreset(name string) (Preset, error) {
	var names []string
	for _, p := range DCQCNPresets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, fmt.Errorf("parameter set %q: want one of %s", name, strings.Join(names, ", "))
}

// Build creates the preset's algorithm.
func (p *Preset) Build() (Algorithm, error) {
	s, err := ByName(p.Algorithm)
	if err != nil {
		return nil, fmt.Errorf("parameter set %s: %w", p.Name, err)
	}
	return s.Build(p.Values)
}

// S2RecoveryDCQCN returns the constants for DCQCN by send opportunities in S2's figure 4, with rates as fractions of line rate:
// see RPState.Step. S2 does not print R_AI in this unit, so the caller provides ai. With 0.11, a flow recovers after 11 sends
// from two cuts and after 13 from three, as S2 reports. As in the figure, R_T may exceed 1.
func S2RecoveryDCQCN(ai float64) RPParams {
	return RPParams{Reading: RecoverDCQCN, G: 1.0 / 256, InitialAlpha: 1, Threshold: 5, AI: ai, HAI: ai, Uncapped: true}
}

// S2RecoveryDCQCNP returns the constants for DCQCN-p by send opportunities in S2's figure 4.
func S2RecoveryDCQCNP() RPParams {
	return RPParams{Reading: RecoverP, G: 1.0 / 16, InitialAlpha: 1, Threshold: 5, AI: 0.2, HAI: 0.8}
}
