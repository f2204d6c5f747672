package hostset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Bounds of the groups of a file and of what its sets stand for.
const (
	MaxGroups = 4096
	// MaxExpanded bounds the names that all groups and sets of a file stand for, each time that one is used.
	MaxExpanded = 2 << 20
	maxName     = 63 // bytes of the name of a group
)

// NameRule says what the name of a group may be.
const NameRule = "1 to 63 of a-z, A-Z, 0-9, -, _ and ., beginning with a letter"

// Names expands the sets of one file, in which groups may have names. Its zero value has no groups.
type Names struct {
	groups map[string][]string
	total  int
}

// Define names a group. Its members are sets, and groups that were defined before.
func (n *Names) Define(group string, members []string) error {
	switch _, twice := n.groups[group]; {
	case !validGroup(group):
		return fmt.Errorf("group %s: want a name of %s", quote(group), NameRule)
	case twice:
		return fmt.Errorf("group %s is defined twice: want each name once", quote(group))
	case len(n.groups) == MaxGroups:
		return fmt.Errorf("group %s: more than %d groups: want at most %d", quote(group), MaxGroups, MaxGroups)
	}
	var all []string
	for _, m := range members {
		names, err := n.Expand(m)
		if err != nil {
			return err
		}
		if all = append(all, names...); len(all) > MaxNames {
			return fmt.Errorf("group %s stands for more than %d names: want at most %d", quote(group), MaxNames, MaxNames)
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("group %s has no members: want at least one host", quote(group))
	}
	if name, ok := repeated(all); ok {
		return fmt.Errorf("group %s has %s twice: want each name once", quote(group), quote(name))
	}
	if n.groups == nil {
		n.groups = map[string][]string{}
	}
	n.groups[group] = all
	return nil
}

// Has reports whether a group has the name.
func (n *Names) Has(group string) bool { return n.groups[group] != nil }

// Groups returns the names of the groups, in ascending order.
func (n *Names) Groups() []string { return slices.Sorted(maps.Keys(n.groups)) }

// Expand returns the names that a text stands for: the members of a group, or those of a set, in which the name of a
// group stands for its members.
func (n *Names) Expand(text string) ([]string, error) {
	names, err := n.expand(text)
	if err != nil {
		return nil, err
	}
	if n.total += len(names); n.total > MaxExpanded {
		return nil, &Error{text, 0, "the host sets of this file stand for more than " + strconv.Itoa(MaxExpanded) + " names in all, want at most that"}
	}
	return names, nil
}

func (n *Names) expand(text string) ([]string, error) {
	if names := n.groups[strings.TrimSpace(text)]; names != nil {
		return names, nil
	}
	names, err := Expand(text)
	if err != nil || !slices.ContainsFunc(names, n.Has) {
		return names, err
	}
	var out []string
	for _, name := range names {
		if members := n.groups[name]; members != nil {
			out = append(out, members...)
		} else {
			out = append(out, name)
		}
		if len(out) > MaxNames {
			return nil, &Error{text, 0, fmt.Sprintf("it stands for more than %d names, want at most %d", MaxNames, MaxNames)}
		}
	}
	if name, ok := repeated(out); ok {
		return nil, &Error{text, 0, "it has " + quote(name) + " twice, want each name once"}
	}
	return out, nil
}

func validGroup(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-_.", r)) {
			return false
		}
	}
	return true
}
