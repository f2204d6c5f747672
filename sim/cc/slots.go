package cc

// slotPage is the number of slots allocated together.
const slotPage = 256

// slots holds the states of flows by slot, in pages. Growth does not move pages, so it leaves no garbage.
type slots[T any] struct{ pages []*[slotPage]T }

func (s *slots[T]) at(i int32) *T { return &s.pages[uint32(i)/slotPage][uint32(i)%slotPage] }

// reserve allocates space for slots 0 to n-1.
func (s *slots[T]) reserve(n int) {
	for len(s.pages)*slotPage < n {
		s.pages = append(s.pages, new([slotPage]T))
	}
}
