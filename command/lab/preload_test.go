package lab

import "testing"

func TestClientAddressOfAListener(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"unix:lab": "unix:lab", "udp:[::]:7000": "udp:127.0.0.1:7000", "udp:0.0.0.0:7000": "udp:127.0.0.1:7000",
		"udp:127.0.0.1:7000": "udp:127.0.0.1:7000", "udp:[::1]:7000": "udp:[::1]:7000", "udp:10.0.0.7:7000": "udp:10.0.0.7:7000", "": "",
	} {
		if got := reachable(addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}
