package nicparam

import (
	"encoding/json"
	"fmt"
	"slices"

	"fairlane/ccconfig/dcqcn"
)

// OfDCQCN lists DCQCN settings of a port as settings of the table, in the order of dcqcn's registers.
func OfDCQCN(port int, s *dcqcn.Settings) []Setting {
	var out []Setting
	for _, r := range (dcqcn.Limits{}).Registers() {
		out = append(out, Setting{Key: Key{Port: port, Name: r.Name}, Value: r.Value(s)})
	}
	return out
}

// DCQCN gathers a port's DCQCN settings. It fails, naming them, when registers are missing, and for a value that no
// device's register holds. Settings of other parameters and ports do not matter.
func DCQCN(port int, set []Setting) (dcqcn.Settings, error) {
	var out dcqcn.Settings
	var missing []string
	values := map[string]any{}
	for _, r := range (dcqcn.Limits{Rate32: true, UndocumentedGD: true}).Registers() {
		i := slices.IndexFunc(set, func(s Setting) bool { return s.Key == Key{Port: port, Name: r.Name} })
		switch {
		case i < 0:
			missing = append(missing, r.Name)
		case r.Min == 0 && r.Max == 1:
			values[r.Name] = set[i].Value != 0
		default:
			values[r.Name] = set[i].Value
		}
	}
	if len(missing) > 0 {
		return out, fmt.Errorf("DCQCN of port %d: found nothing of %q, want all of its parameters", port, missing)
	}
	b, err := json.Marshal(values) // the names of the registers are those of the fields
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		return dcqcn.Settings{}, fmt.Errorf("DCQCN of port %d: %w", port, err)
	}
	return out, nil
}
