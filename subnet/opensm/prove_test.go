package opensm

import (
	"slices"
	"testing"

	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
)

// A query about a changed member shows that OpenSM has read its new level, and a query about a new member shows that
// OpenSM has read the member: a few queries cover both.
func TestChangedAndNewMembersAreBothQueried(t *testing.T) {
	t.Parallel()
	e := expectation{}
	for g := range ident.GUID(20) {
		e.Members = append(e.Members, osmfile.Member{PortGUID: g + 1, Full: true})
	}
	e.moved = []ident.GUID{2, 3, 4, 5, 6}
	e.fresh = e.Members[10:15]
	first := e.questions(2)[:2]
	if want := [][2]ident.GUID{{2, 1}, {1, 11}}; !slices.Equal(first, want) {
		t.Errorf("the first questions are about %v, want %v", first, want)
	}
	e.moved = nil
	if first := e.questions(2)[:2]; first[0] != [2]ident.GUID{1, 11} || first[1] != [2]ident.GUID{1, 12} {
		t.Errorf("without any that moved they are about %v", first)
	}
}
