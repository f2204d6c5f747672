package lab

import (
	"net"
	"net/netip"
	"path/filepath"
	"strings"
)

// preloadGlobs are where distributions put the library that redirects libibumad to the ibsim
// protocol.
var preloadGlobs = []string{"/usr/lib/*/umad2sim/libumad2sim.so", "/usr/lib64/umad2sim/libumad2sim.so", "/usr/lib/umad2sim/libumad2sim.so"}

// preloadPath finds the library, or names where Debian has it when it is not installed.
func preloadPath() string {
	for _, g := range preloadGlobs {
		if found, err := filepath.Glob(g); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	return "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
}

// toolEnvironment is the environment with which unmodified tools reach the fabric at addr.
// LD_PRELOAD is not among it: exported, it would redirect every command of the shell.
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

// reachable is an address of a served fabric as clients on this machine take it: one that listens at every address of the
// machine is reached by the loopback one.
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

// shellQuote quotes a word for a POSIX shell when it needs it.
func shellQuote(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:", r))
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
