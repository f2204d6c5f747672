package driver

import (
	"fmt"
	"strings"
)

// IdentityError is a device that calls itself otherwise than it is called on the fabric, as two do whose addresses were
// mistaken for each other. It is ErrConflict: what would be read is of another device, and what would be written is not for it.
type IdentityError struct {
	Device  Device
	Address string // where it answered
	Want    string // its name on the fabric, or what the inventory says that it calls itself
	Found   string // what it calls itself
}

// Error says both names, and what to do.
func (e *IdentityError) Error() string { return fmt.Sprintf("%s: %s", e.Device, e.Reason()) }

// Reason is the error without the device.
func (e *IdentityError) Reason() string {
	return fmt.Sprintf("another device: who answers at %s calls itself %q, want %q; nothing is written to it: correct the address in the inventory or the name on the device, "+
		"or, where it is the right one, give it hostname: %q in the inventory", e.Address, e.Found, e.Want, e.Found)
}

// Is matches ErrConflict.
func (e *IdentityError) Is(target error) bool { return target == ErrConflict }

// maxFoundName bounds what is repeated of a device's name, bytes.
const maxFoundName = 255

// CheckName is an *IdentityError when who answers for a device calls itself otherwise than it is to. An empty name says nothing,
// and is compared with none.
func CheckName(d Device, address, want, found string) error {
	if want == "" || found == "" || sameName(want, found) {
		return nil
	}
	return &IdentityError{Device: d, Address: address, Want: want, Found: found[:min(len(found), maxFoundName)]}
}

// sameName reports whether two names of hosts can be of the same one. Case does not matter (RFC 4343), nor does the domain where
// only one of the two has it.
func sameName(a, b string) bool {
	a, b = strings.TrimSuffix(a, "."), strings.TrimSuffix(b, ".")
	shortA, domainA, longA := strings.Cut(a, ".")
	shortB, domainB, longB := strings.Cut(b, ".")
	return strings.EqualFold(shortA, shortB) && (longA != longB || strings.EqualFold(domainA, domainB))
}
