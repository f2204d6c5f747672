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
	order   []int32 // links by rank
	rank    []int32 // by link
	waiting ranks   // links that wait
	n       int     // so many
	now     moment  // of the visit under way, or the last
}

// newSchedule ranks links by nominal capacity for their flows: those that have least to offer are likely to limit their flows, and
// the others then know. Two problems of one layout have the same ranks.
func newSchedule(links []link, nominal, users []float64) schedule {
	s := schedule{order: make([]int32, len(links)), rank: make([]int32, len(links)), waiting: newRanks(len(links)), now: between(0, len(links))}
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
	s.waiting.add(s.rank[l])
	s.n++
}

// take takes the next link. There has to be one.
func (s *schedule) take() int32 {
	wave, r := s.now.wave(), s.waiting.from(int32(s.now.rank())+1, s.waiting)
	if r < 0 { // the link visited last and those before it wait for the next wave
		wave, r = wave+1, s.waiting.from(0, s.waiting)
	}
	s.now = at(s.now.phase(), wave, int(r))
	s.drop(r)
	return s.order[r]
}

func (s *schedule) drop(rank int32) {
	s.waiting.drop(rank)
	s.n--
}

// phase ends a phase.
func (s *schedule) phase() { s.now = between(s.now.phase()+1, len(s.order)) }

// ranks is a set of ranks.
type ranks []uint64

func newRanks(n int) ranks { return make(ranks, (n+63)/64) }

func (s ranks) add(r int32)      { s[r>>6] |= 1 << (r & 63) }
func (s ranks) drop(r int32)     { s[r>>6] &^= 1 << (r & 63) }
func (s ranks) has(r int32) bool { return s[r>>6]>>(r&63)&1 != 0 }

// from is the least rank from one on that s or t has; negative when there is none.
func (s ranks) from(r int32, t ranks) int32 {
	if int(r>>6) >= len(s) {
		return -1
	}
	if x := (s[r>>6] | t[r>>6]) >> (r & 63); x != 0 {
		return r + int32(bits.TrailingZeros64(x))
	}
	for i := int(r>>6) + 1; i < len(s); i++ {
		if x := s[i] | t[i]; x != 0 {
			return int32(i<<6 + bits.TrailingZeros64(x))
		}
	}
	return -1
}
