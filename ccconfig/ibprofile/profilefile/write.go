package profilefile

import (
	"fmt"
	"strings"

	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/quantity"
)

// Field is one key of a profile with its value.
type Field struct {
	Key   string
	Value any // a text, a number, a boolean or a list of these
}

// Fields returns the keys of a profile in a readable order.
func Fields(p *ibprofile.Profile) []Field {
	out := []Field{
		{"name", p.Name},
		{"title", p.Title},
		{"kind", string(p.Kind)},
		{"basis", string(p.Basis)},
		{"origin", p.Origin},
		{"assumptions", p.Assumptions},
		{"layouts", p.Layout.Names()},
	}
	if s := &p.Switch; p.Kind == ibprofile.Switch {
		return append(out,
			Field{"queue_bytes", s.QueueBytes},
			Field{"threshold_bytes", s.Thresholds[1:]},
			Field{"min_marking_rate", int(s.MinMarkingRate)},
			Field{"max_marking_rate", int(s.MaxMarkingRate)},
			Field{"max_packet_size", int(s.MaxPacketSize)},
			Field{"port_marking", s.PortMarking})
	}
	a := &p.Adapter
	modes := []string{}
	if a.PerQP {
		modes = append(modes, "qp")
	}
	if a.PerSL {
		modes = append(modes, "sl")
	}
	return append(out,
		Field{"table_entries", a.TableEntries},
		Field{"max_shift", int(a.MaxShift)},
		Field{"max_multiplier", int(a.MaxMultiplier)},
		Field{"timer_unit_ns", int64(a.TimerUnit / quantity.Nanosecond)},
		Field{"max_timer", int(a.MaxTimer)},
		Field{"timer_restart", a.TimerRestart},
		Field{"max_increase", int(a.MaxIncrease)},
		Field{"modes", modes})
}

// Text formats a profile as an entry of a file's profiles.
func Text(p *ibprofile.Profile) string {
	var b strings.Builder
	for i, f := range Fields(p) {
		lead := "    "
		if i == 0 {
			lead = "  - "
		}
		fmt.Fprintf(&b, "%s%s: %s\n", lead, f.Key, value(f.Value))
	}
	return b.String()
}

func value(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = fmt.Sprintf("%q", s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []int:
		return strings.ReplaceAll(fmt.Sprint(v), " ", ", ")
	}
	return fmt.Sprint(v)
}
