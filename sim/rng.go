package sim

import "math/bits"

// RNG is a small seeded generator of random numbers (SplitMix64: Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", OOPSLA 2014). It is a value, its whole
// state is eight bytes, and the same seed gives the same numbers on every machine.
type RNG struct{ state uint64 }

// NewRNG returns a generator; different seeds give independent streams.
func NewRNG(seed uint64) RNG { return RNG{seed} }

// Uint64 returns 64 random bits.
func (r *RNG) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix(r.state)
}

// Uint64n returns a number from 0 to n-1, and 0 when n is 0. It maps by multiplication
// (Lemire), with a bias below n/2^64.
func (r *RNG) Uint64n(n uint64) uint64 {
	hi, _ := bits.Mul64(r.Uint64(), n)
	return hi
}

// Float64 returns a number in [0, 1).
func (r *RNG) Float64() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// Hash mixes words into 64 evenly spread bits: a random number that depends on a name, not
// on how many numbers were drawn before.
func Hash(words ...uint64) uint64 {
	h := uint64(0x243f6a8885a308d3)
	for _, w := range words {
		h = mix(h ^ w + 0x9e3779b97f4a7c15)
	}
	return h
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
