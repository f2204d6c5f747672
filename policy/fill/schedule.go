package fill

import (
	"cmp"
	"math/bits"
	"slices"
)

// moment is when a visit happens: in a phase, in a wave of it, and by the link's rank. Moments are compared as
// numbers. What happens between phases has wave 0.
type moment uint64

const (
	rankBits = 32
	waveBits = 24
)

func at(phase, wave, rank int) moment {
	return moment(phase)<<(waveBits+rankBits) | moment(wave)<<rankBits | moment(rank)
}

// between is the moment before the first wave of a phase.
func between(phase, links int) moment { return at(phase, 0, max(0, links-1)) }

func (m moment) phase() int { return int(m >> (waveBits + rankBits)) }
func (m moment) wave() int  { return int(m >> rankBits & (1<<waveBits - 1)) }
func (m moment) rank() int  { return int(m & (1<<rankBits - 1)) }

// schedule has links visited in waves: those that wait in the order of their ranks, and those that have to wait again
// in the next wave.
type schedule struct {
	order []int32  // links by rank
	rank  []int32  // by link
	set   []uint64 // by rank: links that wait
	n     int      // links that wait
	now   moment   // of the visit under way
}

// newSchedule ranks links by nominal capacity for their flows: those that have least to offer are likely to limit their flows, and
// the others then know. Two problems of one layout have the same ranks.
func newSchedule(links []link, nominal, users []float64) schedule {
	s := schedule{order: make([]int32, len(links)), rank: make([]int32, len(links)), set: make([]uint64, (len(links)+63)/64), now: between(0, len(links))}
	levels := make([]float64, len(links))
	for i := range links {
		levels[i] = nominal[links[i].id] / users[i]
		s.order[i] = int32(i)
	}
	slices.SortFunc(s.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(levels[a], levels[b]), cmp.Compare(a, b))
	})
	for r, l := range s.order {
		s.rank[l] = int32(r)
	}
	return s
}

func (s *schedule) add(l int32) {
	r := s.rank[l]
	s.set[r>>6] |= 1 << (r & 63)
	s.n++
}

// next is the moment at which the next link is to be visited. There has to be one.
func (s *schedule) next() moment {
	wave, from := s.now.wave(), s.now.rank()
	w := from >> 6
	// The link visited now and those before it wait for the next wave.
	if s.set[w]>>(from&63)>>1 != 0 {
		return at(s.now.phase(), wave, from+1+bits.TrailingZeros64(s.set[w]>>(from&63)>>1))
	}
	for i := w + 1; i < len(s.set); i++ {
		if s.set[i] != 0 {
			return at(s.now.phase(), wave, i<<6+bits.TrailingZeros64(s.set[i]))
		}
	}
	for i := 0; i <= w; i++ {
		if s.set[i] != 0 {
			return at(s.now.phase(), wave+1, i<<6+bits.TrailingZeros64(s.set[i]))
		}
	}
	return 0
}

// take takes the next link.
func (s *schedule) take() int32 {
	s.now = s.next()
	r := s.now.rank()
	s.set[r>>6] &^= 1 << (r & 63)
	s.n--
	return s.order[r]
}

// phase ends a phase.
func (s *schedule) phase() { s.now = between(s.now.phase()+1, len(s.order)) }
