package dcqcn

import (
	"fmt"
	"strconv"

	"fairlane/internal/fieldwise"
)

// Range formats the register's legal values, such as "1..131071".
func (r *Register) Range() string {
	return strconv.FormatUint(r.Min, 10) + ".." + strconv.FormatUint(r.Max, 10)
}

// Validate returns a *fieldwise.Error for the first value that is illegal on a device with these limits, and for a
// minimum rate above a nonzero maximum rate.
func (s *Settings) Validate(l Limits) error {
	for _, r := range l.Registers() {
		if v := r.Value(s); v < r.Min || v > r.Max {
			return fieldwise.Bad(r.Name, v, r.Range())
		}
	}
	if s.MaxRate > 0 && s.MinRate > s.MaxRate {
		return fieldwise.Bad("rpg_min_rate", uint64(s.MinRate), fmt.Sprintf("at most rpg_max_rate, which is %d", s.MaxRate))
	}
	return nil
}
