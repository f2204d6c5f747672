package cc

// slotPage is the number of slots that are allocated at once.
const slotPage = 256

// slots is the state of flows by slot, in pages: none moves when there are more, so that many flows
// at once take what they need and leave no garbage.
type slots[T any] struct{ pages []*[slotPage]T }

func (s *slots[T]) at(i int32) *T { return &s.pages[uint32(i)/slotPage][uint32(i)%slotPage] }

// reserve makes room for the slots 0 to n-1.
func (s *slots[T]) reserve(n int) {
	for len(s.pages)*slotPage < n {
		s.pages = append(s.pages, new([slotPage]T))
	}
}
