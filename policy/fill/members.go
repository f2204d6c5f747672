package fill

import "math"

// member is a flow on a link.
type member struct {
	flow   int32
	hop    int32 // of the flow
	weight float64
}

// divideMembers shares what its class has on a link among the members ms: u is what each can use, given
// its limits elsewhere, and out what it is offered, as divide does for nodes. It returns the level, 0
// when nothing is used up, and spare as divide does.
func divideMembers(ms []member, u, out []float64, total, need, guess float64) (level, spare float64) {
	if len(ms) == 1 {
		out[0] = total
		return 0, max(0, total-u[0])
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
		return level, spare
	}
	level = memberLevel(ms, u, total, guess)
	for i := range ms {
		out[i] = float64(ms[i].weight * level)
	}
	return level, 0
}

// memberLevel is levelOf for members, from any guess: one step of Newton's method on a concave function leads
// from anywhere to a level that is not too high.
func memberLevel(ms []member, u []float64, total, guess float64) float64 {
	level := guess
	closed, again := -1, false
	for {
		used, open, n := 0.0, 0.0, 0
		for i := range ms {
			if w := ms[i].weight; u[i] < float64(w*level)*(1-tie) {
				used += u[i]
				n++
			} else {
				open += w
			}
		}
		switch {
		case n == closed:
			return level
		case open == 0: // the guess was too high for all
			for i := range ms {
				open += ms[i].weight
			}
			level = total / open
			if again {
				return level
			}
			closed, again = -1, true
			continue
		}
		next := max(0, total-used) / open
		if closed >= 0 {
			next = max(level, next) // rounding must not lead back
		}
		closed, level = n, next
	}
}

// divideFloors is divideMembers where links do not push members below a floor; floors have to fit in total. bounds, when not nil,
// gets what limits each.
func divideFloors(ms []member, floors, u, out []float64, total float64, bounds []Limit) (spare float64) {
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
	level := floorLevel(ms, floors, u, total)
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

// floorLevel is levelAbove for members.
func floorLevel(ms []member, floors, u []float64, total float64) float64 {
	low, high := 0.0, 0.0
	for i := range ms {
		high = max(high, u[i]/ms[i].weight)
	}
	level := high / 2
	for range 200 {
		used, open := 0.0, 0.0
		for i := range ms {
			w := ms[i].weight
			share, floor := float64(w*level), min(floors[i], u[i])
			switch {
			case u[i] < share*(1-tie):
				used += u[i]
			case floor > share:
				used += floor
			default:
				used += share
				open += w
			}
		}
		if math.Abs(used-total) <= total*exact {
			break
		}
		level = middle(&low, &high, level, used, total, open)
	}
	return level
}
