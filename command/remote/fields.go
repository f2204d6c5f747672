package remote

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Limits of lists in a table of fields; --json has all entries.
const (
	mostValues   = 8  // numbers and words, on one line
	mostObjects  = 16 // objects, with one line for each field
	mostSettings = 64 // named values, one on each line
)

// fieldTable lists the fields of an object that are set, by name.
func (c *cli) fieldTable(v any) *table {
	t := c.newTable("field", "value")
	t.whole = true // users copy values such as keys, so none is shortened
	b, err := json.Marshal(v)
	var fields map[string]any
	if err == nil {
		err = json.Unmarshal(b, &fields)
	}
	if err != nil {
		t.add("", fmt.Sprint(v))
		return t
	}
	t.addFields("", fields)
	return t
}

// addFields adds the fields of an object, with the prefix before their names.
func (t *table) addFields(prefix string, fields map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		t.addValue(prefix+k, fields[k])
	}
}

func (t *table) addValue(name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		t.addFields(name+".", v)
	case []any:
		if len(v) > 0 && !slices.ContainsFunc(v, func(x any) bool { _, _, ok := setting(x); return !ok }) {
			for _, inner := range v[:min(len(v), mostSettings)] {
				key, value, _ := setting(inner)
				t.add(name+"."+key, inline(value))
			}
			if n := len(v) - mostSettings; n > 0 {
				t.add(name, fmt.Sprintf("… +%d", n))
			}
			return
		}
		if len(v) > 0 && !slices.ContainsFunc(v, scalar) {
			for i, inner := range v[:min(len(v), mostObjects)] {
				t.addValue(fmt.Sprintf("%s[%d]", name, i), inner)
			}
			if n := len(v) - mostObjects; n > 0 {
				t.add(name, fmt.Sprintf("… +%d", n))
			}
			return
		}
		if len(v) == 0 { // to distinguish it from an unset field
			t.add(name, "[]")
			return
		}
		words := make([]string, 0, mostValues+1)
		for _, inner := range v[:min(len(v), mostValues)] {
			words = append(words, inline(inner))
		}
		if n := len(v) - mostValues; n > 0 {
			words = append(words, fmt.Sprintf("… +%d", n))
		}
		t.add(name, strings.Join(words, " "))
	default:
		t.add(name, inline(v))
	}
}

// setting splits an object that is only a named value, such as a NIC parameter: "rpg_gd", or "vf_tx_share[1]" with an
// index.
func setting(v any) (key string, value any, ok bool) {
	m, _ := v.(map[string]any)
	key, named := m["name"].(string)
	value, valued := m["value"]
	index, indexed := m["index"]
	if !named || !valued || !scalar(value) || indexed && len(m) != 3 || !indexed && len(m) != 2 {
		return "", nil, false
	}
	if indexed {
		key += "[" + inline(index) + "]"
	}
	return key, value, true
}

// scalar reports whether a value of a list is neither an object nor a list.
func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
