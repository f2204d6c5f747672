// Package loopback tells addresses that no other machine reaches.
package loopback

import "net/netip"

// Is reports whether a host, by name or by IP address without brackets and port, is this machine and reached by no other one. Of names,
// "localhost" alone is: others are not resolved.
func Is(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
