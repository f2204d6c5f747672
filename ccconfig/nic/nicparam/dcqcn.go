package nicparam

import (
	"encoding/json"
	"fmt"
	"slices"

	"fairlane/ccconfig/dcqcn"
)

// OfDCQCN converts DCQCN settings of a port to settings of the table, in the order of dcqcn's registers.
func OfDCQCN(port int, s *dcqcn.Settings) []Setting {
	var out []Setting
	for _, r := range (dcqcn.Limits{}).Registers() {
		out = append(out, Setting{Key: Key{Port: port, Name: r.Name}, Value: r.Value(s)})
	}
	return out
}

// DCQCN extracts a port's DCQCN settings. It returns an error with their names for missing registers, and for a value that no
// device's register can hold. It ignores settings of other parameters and ports.
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
		return out, fmt.Errorf("DCQCN of port %d: missing %q: want all parameters", port, missing)
	}
	b, err := json.Marshal(values) // the registers have the names of the fields
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		return dcqcn.Settings{}, fmt.Errorf("DCQCN of port %d: %w", port, err)
	}
	return out, nil
}
