package control

import "fairlane/internal/quantity"

// Utilisation is the use of links together, nil when one was not measured or none has a capacity.
func Utilisation(links []LinkUse) *float64 {
	var used, capacity quantity.BitRate
	for _, l := range links {
		if l.Delivered == nil {
			return nil
		}
		used += *l.Delivered
		capacity += l.Capacity
	}
	if capacity == 0 {
		return nil
	}
	return new(float64(used) / float64(capacity))
}
