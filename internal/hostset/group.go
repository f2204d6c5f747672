package hostset

import (
	"maps"
	"slices"
	"strings"

	"fairlane/internal/phrase"
)

// Limits of a file's groups and expanded sets.
const (
	MaxGroups = 4096
	// MaxExpanded is the maximum number of names that all groups and sets of a file expand to, counted at each use.
	MaxExpanded = 2 << 20
	maxName     = 63 // bytes of a group's name
)

// Names expands the sets of one file, which may use named groups. The zero value has no groups.
type Names struct {
	groups map[string][]string
	total  int
}

// Define defines a group. Its members are sets, and groups that were defined before.
func (n *Names) Define(group string, members []string) error {
	switch _, twice := n.groups[group]; {
	case !validGroup(group):
		return said(phrase.Of("hostset.group-name", "group", quote(group)))
	case twice:
		return said(phrase.Of("hostset.group-twice", "group", quote(group)))
	case len(n.groups) == MaxGroups:
		return said(phrase.Of("hostset.groups-max", "group", quote(group), "max", MaxGroups))
	}
	var all []string
	for _, m := range members {
		names, err := n.Expand(m)
		if err != nil {
			return err
		}
		if all = append(all, names...); len(all) > MaxNames {
			return said(phrase.Of("hostset.group-large", "group", quote(group), "max", MaxNames))
		}
	}
	if len(all) == 0 {
		return said(phrase.Of("hostset.group-empty", "group", quote(group)))
	}
	if name, ok := repeated(all); ok {
		return said(phrase.Of("hostset.member-twice", "group", quote(group), "name", quote(name)))
	}
	if n.groups == nil {
		n.groups = map[string][]string{}
	}
	n.groups[group] = all
	return nil
}

// Has reports whether a group of that name exists.
func (n *Names) Has(group string) bool { return n.groups[group] != nil }

// Groups returns the names of the groups, in ascending order.
func (n *Names) Groups() []string { return slices.Sorted(maps.Keys(n.groups)) }

// Expand returns the names denoted by a text: the members of a group, or those of a set. Inside a set, the name of a
// group denotes its members.
func (n *Names) Expand(text string) ([]string, error) {
	names, err := n.expand(text)
	if err != nil {
		return nil, err
	}
	if n.total += len(names); n.total > MaxExpanded {
		return nil, &Error{text, 0, phrase.Of("hostset.file-too-many", "max", MaxExpanded)}
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
			return nil, &Error{text, 0, phrase.Of("hostset.too-many", "max", MaxNames)}
		}
	}
	if name, ok := repeated(out); ok {
		return nil, &Error{text, 0, phrase.Of("hostset.twice", "name", quote(name))}
	}
	return out, nil
}

func said(text phrase.Text) error { return &phrase.Error{Text: text} }

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
