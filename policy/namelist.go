package policy

import "fairlane/internal/phrase"

// NameList is how many there are and the first few names of them.
type NameList struct {
	Count int      `json:"count"`
	Names []string `json:"names"`
}

// maxNamesKept bounds the names listed of anything.
const maxNamesKept = 8

func (l *NameList) add(name string) {
	l.Count++
	if len(l.Names) < maxNamesKept {
		l.Names = append(l.Names, name)
	}
}

func addName(l **NameList, name string) {
	if *l == nil {
		*l = &NameList{}
	}
	(*l).add(name)
}

// maxNamesTold bounds the names told to people; the structure has all that are kept.
const maxNamesTold = 3

// of tells "3 ports (a, b, c)".
func (l *NameList) of(kind string) phrase.Text {
	return phrase.Of("diff.counted", "count", counted(l.Count, kind), "list", l.list())
}

func (l *NameList) list() phrase.Text { return phrase.Names(l.Names, l.Count, maxNamesTold) }
