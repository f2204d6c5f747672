package mad

import (
	"fmt"
	"io"

	"fairlane/subnet/ident"
)

// Key is a management key (M_Key, SM_Key, CC_Key). It is a secret: every way of formatting
// or marshalling it prints "none" for the zero key and "hidden" for any other.
type Key uint64

// Format prints "none" or "hidden", whatever the verb.
func (k Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, k.String()) }

// String returns "none" or "hidden".
func (k Key) String() string {
	if k == 0 {
		return "none"
	}
	return "hidden"
}

// MarshalText returns "none" or "hidden", so that keys stay out of JSON and logs.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// GID is a 128-bit global identifier: 64 bits of subnet prefix and a port GUID
// (IBTA vol. 1, 4.1.1).
type GID [16]byte

// DefaultGIDPrefix is the link-local subnet prefix fe80::/64.
const DefaultGIDPrefix uint64 = 0xfe80000000000000

// NewGID joins a subnet prefix and a GUID.
func NewGID(prefix uint64, g ident.GUID) GID {
	var gid GID
	putBits(gid[:], 0, 64, prefix)
	putBits(gid[:], 64, 64, uint64(g))
	return gid
}

// Prefix returns the subnet prefix.
func (g GID) Prefix() uint64 { return getBits(g[:], 0, 64) }

// GUID returns the interface identifier.
func (g GID) GUID() ident.GUID { return ident.GUID(getBits(g[:], 64, 64)) }

// String returns the GID as eight groups of four hexadecimal digits.
func (g GID) String() string {
	s := ""
	for i := 0; i < len(g); i += 2 {
		if i > 0 {
			s += ":"
		}
		s += fmt.Sprintf("%02x%02x", g[i], g[i+1])
	}
	return s
}
