// Package disjoint keeps the numbers 0 to n-1 in disjoint sets that can be joined: a union-find forest (Galler and
// Fischer, 1964) with path halving.
package disjoint

// Sets is the forest: each number's parent.
type Sets []int32

// New puts each of n numbers into its own set.
func New(n int) Sets {
	s := make(Sets, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

// Find returns the smallest number of the set that contains i.
func (s Sets) Find(i int32) int32 {
	for s[i] != i {
		s[i] = s[s[i]]
		i = s[i]
	}
	return i
}

// Join joins the sets that contain a and b.
func (s Sets) Join(a, b int32) {
	a, b = s.Find(a), s.Find(b)
	s[max(a, b)] = min(a, b)
}
