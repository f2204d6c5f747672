package driver

import (
	"fmt"
	"strings"
)

// IdentityError reports that the device at an address has a different name than expected, for example because the addresses of
// two devices were exchanged. It is an ErrConflict: a read would return another device's state, and a write would change
// another device.
type IdentityError struct {
	Device  Device
	Address string // address that answered
	Want    string // its name on the fabric, or the inventory's name for it
	Found   string // name that the device reports
}

// Error contains both names and the remedy.
func (e *IdentityError) Error() string { return fmt.Sprintf("%s: %s", e.Device, e.Reason()) }

// Reason returns the error text without the device.
func (e *IdentityError) Reason() string {
	return fmt.Sprintf("another device: who answers at %s calls itself %q, want %q; nothing is written to it: correct the address in the inventory or the name on the device, "+
		"or, where it is the right one, give it hostname: %q in the inventory", e.Address, e.Found, e.Want, e.Found)
}

// Is matches ErrConflict.
func (e *IdentityError) Is(target error) bool { return target == ErrConflict }

// maxFoundName is the largest length, in bytes, of a device's name in the text.
const maxFoundName = 255

// CheckName returns an *IdentityError if the device at an address reports a different name than expected. An empty name matches
// any name.
func CheckName(d Device, address, want, found string) error {
	if want == "" || found == "" || sameName(want, found) {
		return nil
	}
	return &IdentityError{Device: d, Address: address, Want: want, Found: found[:min(len(found), maxFoundName)]}
}

// sameName reports whether two host names can belong to the same host. Case is ignored (RFC 4343), and so is a domain that only
// one of the two has.
func sameName(a, b string) bool {
	a, b = strings.TrimSuffix(a, "."), strings.TrimSuffix(b, ".")
	shortA, domainA, longA := strings.Cut(a, ".")
	shortB, domainB, longB := strings.Cut(b, ".")
	return strings.EqualFold(shortA, shortB) && (longA != longB || strings.EqualFold(domainA, domainB))
}
