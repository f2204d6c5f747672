package live

import (
	"time"

	"fairlane/internal/quantity"
)

// WallDuration is a time of a fabric as one of the wall clock.
func WallDuration(p quantity.Picoseconds) time.Duration {
	return time.Duration(p / quantity.Nanosecond)
}
