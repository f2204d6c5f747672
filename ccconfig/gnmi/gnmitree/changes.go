package gnmitree

import "math"

// maxChanges is the largest number of changed paths that a stream stores. Above it, the stream reads everything.
const maxChanges = 256

// changes holds the changed paths since the last take, with their counts.
type changes struct {
	paths map[string]*changed
	all   uint64 // changes of any path, or of more paths than are stored
}

type changed struct {
	path  Path
	times uint32 // at least 1
}

func (c *changes) add(n Change) {
	if len(n.Paths) == 0 || c.all > 0 {
		c.collapse(1)
		return
	}
	for _, p := range n.Paths {
		key := p.String()
		if at := c.paths[key]; at != nil {
			at.times += min(1, math.MaxUint32-at.times)
			continue
		}
		if len(c.paths) >= maxChanges {
			c.collapse(1)
			return
		}
		if c.paths == nil {
			c.paths = map[string]*changed{}
		}
		c.paths[key] = &changed{p, 1}
	}
}

// collapse stops storing separate paths.
func (c *changes) collapse(times uint64) {
	for _, at := range c.paths {
		times += uint64(at.times)
	}
	c.all += times
	c.paths = nil
}

// take returns and clears the changes. A path includes the changes below it, so the count of a leaf's changes may be too high
// but never too low.
func (c *changes) take() []changed {
	defer func() { *c = changes{} }()
	if c.all > 0 {
		return []changed{{Path{}, uint32(min(c.all, math.MaxUint32))}}
	}
	out := make([]changed, 0, len(c.paths))
	for _, at := range c.paths {
		if above := c.above(at.path); above != nil {
			above.times += min(at.times, math.MaxUint32-above.times)
		}
	}
	for _, at := range c.paths {
		if c.above(at.path) == nil {
			out = append(out, *at)
		}
	}
	return out
}

// above returns the highest changed path above p, if there is one.
func (c *changes) above(p Path) *changed {
	for n := range len(p.Elems) {
		if at := c.paths[p.First(n).String()]; at != nil {
			return at
		}
	}
	return nil
}
