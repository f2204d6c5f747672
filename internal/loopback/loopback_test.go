package loopback

import "testing"

func TestLoopbackHosts(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.1.2.3": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "localhost.example": false, "127.0.0.1.example": false, "[::1]": false, "127.0.0.1:80": false, "2130706433": false,
	} {
		if Is(host) != want {
			t.Errorf("%q: %t, want %t", host, Is(host), want)
		}
	}
}
