package gnmitree

import (
	"fmt"
	"testing"
)

func TestMergedChangesAreNeverUndercounted(t *testing.T) {
	t.Parallel()
	var c changes
	for range 3 {
		c.add(Change{Paths: []Path{PathOf("a", "b", "c"), PathOf("x")}})
	}
	c.add(Change{Paths: []Path{PathOf("a")}})
	got := map[string]uint32{}
	for _, p := range c.take() {
		got[p.path.String()] = p.times
	}
	if want := map[string]uint32{"/a": 4, "/x": 3}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("changes are %v, want %v: a path above another stands for it", got, want)
	}
	if left := c.take(); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	for i := range maxChanges + 10 {
		c.add(Change{Paths: []Path{PathOf(fmt.Sprint(i))}})
	}
	if all := c.take(); len(all) != 1 || len(all[0].path.Elems) != 0 || all[0].times != maxChanges+10 {
		t.Errorf("many are %v, want the root %d times", all, maxChanges+10)
	}
}
