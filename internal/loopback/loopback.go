// Package loopback recognizes addresses that other machines cannot reach.
package loopback

import "net/netip"

// Is reports whether a host, a name or an IP address without brackets and port, is a loopback address of this machine.
// The only such name is "localhost": other names are not resolved.
func Is(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
