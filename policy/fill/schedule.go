package fill

import "math/bits"

// moment is the time of a visit: a phase, a wave of the phase, and the visited link. Moments compare as numbers. Events between phases have
// wave 0.
type moment uint64

const (
	linkBits = 32
	waveBits = 24
)

func at(phase, wave, link int) moment {
	return moment(phase)<<(waveBits+linkBits) | moment(wave)<<linkBits | moment(link)
}

// between returns the moment before the first wave of a phase.
func between(phase, links int) moment { return at(phase, 0, max(0, links-1)) }

func (m moment) phase() int { return int(m >> (waveBits + linkBits)) }
func (m moment) wave() int  { return int(m >> linkBits & (1<<waveBits - 1)) }
func (m moment) link() int  { return int(m & (1<<linkBits - 1)) }

// schedule makes links visited in waves: those that wait, in their order; those that must wait again, in the next wave.
type schedule struct {
	waiting linkSet // links that wait
	n       int     // number of waiting links
	now     moment  // of the current visit, or the last
	links   int
}

func newSchedule(links int) schedule {
	return schedule{waiting: newLinkSet(links), links: links, now: between(0, links)}
}

// has reports whether a link waits.
func (s *schedule) has(l int32) bool { return s.waiting.has(l) }

func (s *schedule) add(l int32) {
	s.waiting.add(l)
	s.n++
}

func (s *schedule) drop(l int32) {
	s.waiting.drop(l)
	s.n--
}

// take removes and returns the next link. There must be one.
func (s *schedule) take() int32 {
	wave, l := s.now.wave(), s.waiting.from(int32(s.now.link())+1, s.waiting)
	if l < 0 { // the link visited last and those before it wait for the next wave
		wave, l = wave+1, s.waiting.from(0, s.waiting)
	}
	s.now = at(s.now.phase(), wave, int(l))
	s.drop(l)
	return l
}

// phase ends a phase.
func (s *schedule) phase() { s.now = between(s.now.phase()+1, s.links) }

type linkSet []uint64

func newLinkSet(n int) linkSet { return make(linkSet, (n+63)/64) }

func (s linkSet) add(l int32)      { s[l>>6] |= 1 << (l & 63) }
func (s linkSet) drop(l int32)     { s[l>>6] &^= 1 << (l & 63) }
func (s linkSet) has(l int32) bool { return s[l>>6]>>(l&63)&1 != 0 }

// from returns the first link, from l on, in s or t; negative when there is none.
func (s linkSet) from(l int32, t linkSet) int32 {
	if int(l>>6) >= len(s) {
		return -1
	}
	if x := (s[l>>6] | t[l>>6]) >> (l & 63); x != 0 {
		return l + int32(bits.TrailingZeros64(x))
	}
	for i := int(l>>6) + 1; i < len(s); i++ {
		if x := s[i] | t[i]; x != 0 {
			return int32(i<<6 + bits.TrailingZeros64(x))
		}
	}
	return -1
}
