package plan

import "fairlane/internal/phrase"

// NameList is how many there are and the first few names of them.
type NameList struct {
	Count int      `json:"count"`
	Names []string `json:"names"`
}

// maxNamesKept bounds the names listed of anything.
const maxNamesKept = 8

// Add counts a name, and keeps it while there are few.
func (l *NameList) Add(name string) {
	l.Count++
	if len(l.Names) < maxNamesKept {
		l.Names = append(l.Names, name)
	}
}

// AddName adds a name to a list that need not exist yet.
func AddName(l **NameList, name string) {
	if *l == nil {
		*l = &NameList{}
	}
	(*l).Add(name)
}

// maxNamesShown bounds the names told to people; the structure has all that are kept.
const maxNamesShown = 3

// Of tells "3 ports (a, b, c)".
func (l *NameList) Of(kind string) phrase.Text {
	return phrase.Of("diff.counted", "count", Counted(l.Count, kind), "list", l.List())
}

// List tells the first names and how many more there are.
func (l *NameList) List() phrase.Text { return phrase.Names(l.Names, l.Count, maxNamesShown) }
