package fill

import "math"

// member is a flow on a link.
type member struct {
	flow   int32
	hop    int32 // of the flow
	weight float64
}

// divideMembers shares the part of a class on a link among the members ms. u is what each can use, given its limits elsewhere; out is its
// offer, as in divide for nodes. guess is a level near the solution. It returns spare as divide does.
func divideMembers(ms []member, u, out []float64, total, need, guess float64) (spare float64) {
	if len(ms) == 1 {
		out[0] = total
		if need < total*(1-tie) {
			return total - need
		}
		return 0
	}
	if need < total*(1-tie) {
		spare = total - need
		level := 0.0
		for i := range ms {
			level = max(level, u[i]/ms[i].weight)
		}
		for i := range ms {
			out[i] = max(u[i], float64(ms[i].weight*level)) + spare
		}
		return spare
	}
	level := memberLevel(ms, u, total, guess)
	for i := range ms {
		out[i] = float64(ms[i].weight * level)
	}
	return 0
}

// below returns 1 where x is below y, else 0; choose returns x for 1 and y for 0. Both avoid branches: while links are divided, branches would
// be unpredictable.
func below(x, y float64) uint64 {
	if x < y {
		return 1
	}
	return 0
}

func choose(first uint64, x, y float64) float64 {
	return math.Float64frombits(math.Float64bits(x)&-first | math.Float64bits(y)&(first-1))
}

// memberLevel is levelOf for members, from any guess: one step of Newton's method on a concave function leads from any point to a level that
// is not too high.
func memberLevel(ms []member, u []float64, total, guess float64) float64 {
	level := guess
	closed, again := -1, false
	for {
		used, open, n := 0.0, 0.0, 0
		for i := range ms {
			w := ms[i].weight
			sated := below(u[i], float64(float64(w*level)*(1-tie)))
			used += choose(sated, u[i], 0)
			open += choose(sated, 0, w)
			n += int(sated)
		}
		switch {
		case n == closed:
			return level
		case open == 0 && (again || closed >= 0): // every member gets what it can use, but for rounding
			return level
		case open == 0: // the guess was too high for all
			for i := range ms {
				open += ms[i].weight
			}
			level, again = total/open, true
			continue
		}
		next := max(0, total-used) / open
		if closed >= 0 {
			next = max(level, next) // rounding must not move the level back
		}
		closed, level = n, next
	}
}

// divideFloors is divideMembers on links with floors, which must fit in total. If bounds is not nil, it receives the limit of each member.
func divideFloors(ms []member, floors, u, out []float64, total, guess float64, bounds []Limit) (spare float64) {
	wanted := 0.0
	for i := range ms {
		wanted += u[i]
	}
	if wanted < total*(1-tie) {
		level := 0.0
		for i := range ms {
			if u[i] > floors[i] {
				level = max(level, u[i]/ms[i].weight)
			}
		}
		for i := range ms {
			out[i] = max(u[i], floors[i], float64(ms[i].weight*level)) + (total - wanted)
		}
		return total - wanted
	}
	level := floorLevel(ms, floors, u, total, guess)
	for i := range ms {
		out[i] = float64(ms[i].weight * level)
		if out[i] < floors[i] {
			out[i] = floors[i]
			if bounds != nil {
				bounds[i] = LimitFloor
			}
		}
	}
	return 0
}

// floorLevel is levelAbove for members, from a guess. The numbers of members below their share and at their floor identify a linear piece of
// the function; on one piece, one step of Newton's method is the last.
func floorLevel(ms []member, floors, u []float64, total, guess float64) float64 {
	low, high := 0.0, 0.0
	for i := range ms {
		if x := u[i] / ms[i].weight; x > high {
			high = x
		}
	}
	level := guess
	if level <= 0 || level >= high {
		level = high / 2
	}
	for closed, floored := -1, -1; ; {
		used, open, a, b := 0.0, 0.0, 0, 0
		for i := range ms {
			w := ms[i].weight
			share := float64(w * level)
			if floors[i] > share && u[i] > share {
				used += min(floors[i], u[i])
				b++
				continue
			}
			sated := below(u[i], float64(share*(1-tie)))
			used += choose(sated, u[i], share)
			open += choose(sated, 0, w)
			a += int(sated)
		}
		if math.Abs(used-total) <= total*exact || a == closed && b == floored {
			return level
		}
		next := narrowBounds(&low, &high, level, used, total, open)
		if closed, floored = a, b; next != level+(total-used)/open {
			closed = -1 // the step was not Newton's
		}
		if next == level {
			return level
		}
		level = next
	}
}
