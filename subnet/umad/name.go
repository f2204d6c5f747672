package umad

import (
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// Name is a port of this machine in the user's notation: the channel adapter's device and the port's number.
type Name struct {
	CA   string        // "mlx5_0"
	Port ident.PortNum // from 1
}

// String returns the name in the form of ParseName.
func (n Name) String() string { return n.CA + ":" + strconv.Itoa(int(n.Port)) }

// maxCAName is the kernel's IB_DEVICE_NAME_MAX without the NUL.
const maxCAName = 63

// ParseName parses "CA:PORT", such as "mlx5_0:1".
func ParseName(s string) (Name, error) {
	ca, port, ok := strings.Cut(s, ":")
	if !ok || !validCA(ca) {
		return Name{}, &phrase.Error{Text: phrase.Of("source.umad", "port", strconv.Quote(s))}
	}
	n, err := strconv.ParseUint(port, 10, 8)
	if err != nil || n < 1 || n > 254 {
		return Name{}, &phrase.Error{Text: phrase.Of("source.umad-port", "port", strconv.Quote(s), "number", strconv.Quote(port))}
	}
	return Name{CA: ca, Port: ident.PortNum(n)}, nil
}

// validCA rejects device names that could be paths.
func validCA(s string) bool {
	if s == "" || len(s) > maxCAName || s[0] == '.' {
		return false
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || c == '/' {
			return false
		}
	}
	return true
}
