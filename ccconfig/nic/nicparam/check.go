package nicparam

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxSet is the largest number of settings in one set.
const MaxSet = 4096

// MaxPorts is the largest number of ports of a card, for names such as RPG_GD_P2.
const MaxPorts = 16

// Key identifies one value: a parameter of a port, at an index of its scope.
type Key struct {
	Port  int    `json:"port"` // from 1; 0 for a parameter of the device
	Name  string `json:"name"`
	Index int    `json:"index,omitempty"`
}

// String formats a key as "port 1 rpg_gd" or "port 1 tc_bw[3]".
func (k Key) String() string {
	s := k.Name
	if k.Index != 0 {
		s += "[" + strconv.Itoa(k.Index) + "]"
	}
	if k.Port != 0 {
		s = "port " + strconv.Itoa(k.Port) + " " + s
	}
	return s
}

// Setting is a desired or observed value.
type Setting struct {
	Key
	Value uint64 `json:"value"`
}

// ValueError reports a setting that is invalid for a device.
type ValueError struct {
	Key     Key
	Found   string
	Allowed string
}

// Error contains the parameter, the value found and the allowed values.
func (e *ValueError) Error() string {
	return fmt.Sprintf("%s: found %s, want %s", e.Key, e.Found, e.Allowed)
}

// Now returns the value of a parameter before a set; false if it is not known.
type Now func(Key) (uint64, bool)

// Check returns an error for every problem of a set for one device: unknown names and indices, parameters that the
// device lacks, values out of range, duplicates, and inconsistent values. Values that are not in the set come from
// now; a nil now has none. All errors are joined, each a *ValueError.
func (t *Table) Check(set []Setting, now Now) error {
	if len(set) > MaxSet {
		return &ValueError{Key: Key{Name: "set"}, Found: fmt.Sprintf("%d settings", len(set)), Allowed: fmt.Sprintf("at most %d", MaxSet)}
	}
	var errs []error
	after := make(map[Key]uint64, len(set))
	ports := map[int]bool{}
	for _, s := range set {
		if err := t.checkOne(s); err != nil {
			errs = append(errs, err)
			continue
		}
		if v, twice := after[s.Key]; twice {
			errs = append(errs, &ValueError{Key: s.Key, Found: fmt.Sprintf("%d and %d", v, s.Value), Allowed: "one value"})
		}
		after[s.Key] = s.Value
		ports[s.Port] = true
	}
	merged := func(k Key) (uint64, bool) {
		if v, ok := after[k]; ok {
			return v, true
		}
		if now == nil {
			return 0, false
		}
		return now(k)
	}
	for port := range MaxPorts + 1 {
		if ports[port] {
			errs = append(errs, together(port, after, merged)...)
		}
	}
	return errors.Join(errs...)
}

// Asks returns the keys for which Check may call now, given a set: values that are checked together with one in the set.
func (t *Table) Asks(set []Setting) []Key {
	var out []Key
	rates, shared := map[int]bool{}, map[int]bool{}
	for _, s := range set {
		switch s.Name {
		case "rpg_min_rate", "rpg_max_rate":
			if !rates[s.Port] {
				out = append(out, Key{Port: s.Port, Name: "rpg_min_rate"}, Key{Port: s.Port, Name: "rpg_max_rate"})
			}
			rates[s.Port] = true
		case "tsa", "tc_bw":
			for tc := 0; tc < classes && !shared[s.Port]; tc++ {
				out = append(out, Key{Port: s.Port, Name: "tsa", Index: tc}, Key{Port: s.Port, Name: "tc_bw", Index: tc})
			}
			shared[s.Port] = true
		}
	}
	return out
}

// checkOne checks a single setting.
func (t *Table) checkOne(s Setting) error {
	fail := func(found, allowed string) error {
		return &ValueError{Key: s.Key, Found: found, Allowed: allowed}
	}
	p, ok := t.Find(s.Name)
	if !ok {
		s.Name = Clip(s.Name)
		return fail("no such parameter", "a name of the table")
	}
	least, most, ports := 1, MaxPorts, fmt.Sprintf("port 1..%d", MaxPorts)
	if p.Scope == ScopeDevice {
		least, most, ports = 0, 0, "port 0: the parameter is the device's"
	}
	switch {
	case !t.caps.Has(p.Needs):
		return fail("a parameter that needs "+string(p.Needs), "one that the device has")
	case s.Port < least || s.Port > most:
		return fail(fmt.Sprintf("port %d", s.Port), ports)
	case s.Index < 0 || s.Index >= p.Scope.Size():
		return fail(fmt.Sprintf("index %d", s.Index), fmt.Sprintf("index 0..%d", p.Scope.Size()-1))
	case !p.Legal(s.Value):
		return fail(strconv.FormatUint(s.Value, 10), p.Allowed())
	}
	return nil
}

// together checks a port's values that depend on each other, if the set contains one of them.
func together(port int, after map[Key]uint64, merged Now) []error {
	var errs []error
	touched := func(names ...string) bool {
		for k := range after {
			for _, n := range names {
				if k.Port == port && k.Name == n {
					return true
				}
			}
		}
		return false
	}
	if touched("rpg_min_rate", "rpg_max_rate") {
		least, ok := merged(Key{Port: port, Name: "rpg_min_rate"})
		most, known := merged(Key{Port: port, Name: "rpg_max_rate"})
		if ok && known && most > 0 && least > most {
			errs = append(errs, &ValueError{Key: Key{Port: port, Name: "rpg_min_rate"}, Found: strconv.FormatUint(least, 10),
				Allowed: fmt.Sprintf("at most rpg_max_rate, which is %d", most)})
		}
	}
	if touched("tsa", "tc_bw") {
		errs = append(errs, shares(port, merged)...)
	}
	return errs
}

// shares checks the bandwidths of a port's traffic classes: those of class kind ets must sum to 100 percent, if there are any;
// all others must be 0.
func shares(port int, merged Now) []error {
	var errs []error
	sum, any := uint64(0), false
	for tc := range classes {
		kind, ok := merged(Key{Port: port, Name: "tsa", Index: tc})
		bw, known := merged(Key{Port: port, Name: "tc_bw", Index: tc})
		key := Key{Port: port, Name: "tc_bw", Index: tc}
		switch {
		case !ok || !known:
			return []error{&ValueError{Key: key, Found: "a class whose tsa or tc_bw is not known", Allowed: "tsa and tc_bw of all 8 classes, in the set or read before"}}
		case kind == TSAETS:
			sum, any = sum+bw, true
		case bw != 0:
			errs = append(errs, &ValueError{Key: key, Found: strconv.FormatUint(bw, 10) + " percent in a class that is not ets", Allowed: "0"})
		}
	}
	if any && sum != 100 {
		errs = append(errs, &ValueError{Key: Key{Port: port, Name: "tc_bw"}, Found: fmt.Sprintf("%d percent over all classes that are ets", sum), Allowed: "100"})
	}
	return errs
}

// NVName returns the name of a parameter in the non-volatile configuration: the source's name, with the port's suffix for a
// port parameter. It returns an error for a parameter without such a name.
func (p *Param) NVName(port int) (string, error) {
	s, ok := p.Source(NV)
	if !ok {
		return "", &ValueError{Key: Key{Port: port, Name: p.Name}, Found: "no non-volatile name", Allowed: "a parameter that has one"}
	}
	if p.Scope == ScopeDevice {
		return s.Name, nil
	}
	if port < 1 || port > MaxPorts {
		return "", &ValueError{Key: Key{Port: port, Name: p.Name}, Found: fmt.Sprintf("port %d", port), Allowed: fmt.Sprintf("port 1..%d", MaxPorts)}
	}
	return s.Name + "_P" + strconv.Itoa(port), nil
}

// SplitNV splits a non-volatile name: "RPG_GD_P2" is RPG_GD of port 2. A name without a suffix has port 0.
func SplitNV(name string) (base string, port int) {
	i := strings.LastIndex(name, "_P")
	if i <= 0 {
		return name, 0
	}
	n, err := strconv.Atoi(name[i+2:])
	if err != nil || n < 1 || n > MaxPorts || strconv.Itoa(n) != name[i+2:] {
		return name, 0
	}
	return name[:i], n
}
