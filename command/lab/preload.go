package lab

import (
	"net"
	"net/netip"
	"path/filepath"
	"strings"
)

// preloadGlobs are the paths where distributions install the library that redirects libibumad to the ibsim protocol.
var preloadGlobs = []string{"/usr/lib/*/umad2sim/libumad2sim.so", "/usr/lib64/umad2sim/libumad2sim.so", "/usr/lib/umad2sim/libumad2sim.so"}

// preloadPath finds the library; if it is not installed, it returns Debian's path.
func preloadPath() string {
	for _, g := range preloadGlobs {
		if found, err := filepath.Glob(g); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	return "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
}

// toolEnvironment returns the environment in which unmodified tools reach the fabric at addr. It omits LD_PRELOAD:
// exported, that would redirect every command of the shell.
func toolEnvironment(addr, host string) []string {
	env := []string{}
	if name, ok := strings.CutPrefix(addr, "unix:"); ok {
		env = append(env, "IBSIM_SOCKNAME="+shellQuote(name))
	} else if h, port, err := net.SplitHostPort(strings.TrimPrefix(addr, "udp:")); err == nil {
		env = append(env, "IBSIM_SERVER_NAME="+h, "IBSIM_SERVER_PORT="+port)
	}
	if host != "" {
		env = append(env, "SIM_HOST="+shellQuote(host))
	}
	return env
}

// reachable returns the address of a served fabric for clients on this machine: if it listens on all addresses, the
// loopback address.
func reachable(addr string) string {
	scheme, rest, ok := strings.Cut(addr, ":")
	if !ok || scheme != "udp" {
		return addr
	}
	h, port, err := net.SplitHostPort(rest)
	if err != nil {
		return addr
	}
	if ip, err := netip.ParseAddr(h); err != nil || !ip.IsUnspecified() {
		return addr
	}
	return "udp:" + net.JoinHostPort("127.0.0.1", port)
}

// shellQuote quotes a word for a POSIX shell if necessary.
func shellQuote(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:", r))
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
