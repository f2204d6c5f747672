// Package profile describes kinds of RoCE NICs to the compiler: what they can be told, within which limits, and
// how bandwidth responds to it. A response is calibrated, by simulation or on hardware, and carries the error
// that runs left out of the fit showed.
package profile

import "fairlane/ccconfig/dcqcn"

// Default is the profile of ports for which none is named.
const Default = "connectx-6"

// Profile is one kind of device.
type Profile struct {
	Name    string         `json:"name"`    // such as "connectx-6"
	Version int            `json:"version"` // of the calibration
	Base    dcqcn.Settings `json:"base"`    // of managed ports; levers move some of them
}
