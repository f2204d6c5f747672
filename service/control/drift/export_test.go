package drift

import "fairlane/service/device"

// KeptPlans is how many of plans with so many devices, in the order they were loaded, are kept in memory for most devices.
func KeptPlans(most int, devices ...int) int {
	list := make([]*known, len(devices))
	for i, n := range devices {
		list[i] = &known{list: make([]device.Target, n)}
	}
	return len(lastKnown(list, most))
}
