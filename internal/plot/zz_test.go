package plot

import "testing"

func TestZZ(t *testing.T) {
	for n, c := range samples(t) {
		if err := c.Save("/tmp/helpers/plots", n); err != nil {
			t.Error(err)
		}
	}
}
