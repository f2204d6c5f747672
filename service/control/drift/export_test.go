package drift

import "fairlane/service/device"

// KeptPlans returns how many plans, with so many devices each in the order of loading, stay cached under a limit of
// devices.
func KeptPlans(most int, devices ...int) int {
	list := make([]*known, len(devices))
	for i, n := range devices {
		list[i] = &known{list: make([]device.Target, n)}
	}
	return len(lastKnown(list, most))
}
