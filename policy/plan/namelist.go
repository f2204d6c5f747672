package plan

import "fairlane/internal/phrase"

// NameList is a count of names with the first few of them.
type NameList struct {
	Count int      `json:"count"`
	Names []string `json:"names"`
}

// maxNamesKept bounds the names kept in a list.
const maxNamesKept = 8

// Add counts a name, and keeps it while there are few.
func (l *NameList) Add(name string) {
	l.Count++
	if len(l.Names) < maxNamesKept {
		l.Names = append(l.Names, name)
	}
}

// AddName adds a name to a list, which it creates if nil.
func AddName(l **NameList, name string) {
	if *l == nil {
		*l = &NameList{}
	}
	(*l).Add(name)
}

// maxNamesShown bounds the names shown in texts; the structure holds up to maxNamesKept.
const maxNamesShown = 3

// Of returns a text such as "3 ports (a, b, c)".
func (l *NameList) Of(kind string) phrase.Text {
	return phrase.Of("diff.counted", "count", Counted(l.Count, kind), "list", l.List())
}

// List returns the first names and the number of the others as a text.
func (l *NameList) List() phrase.Text { return phrase.Names(l.Names, l.Count, maxNamesShown) }
