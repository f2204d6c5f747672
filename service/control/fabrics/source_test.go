package fabrics

import (
	"strings"
	"testing"

	"fairlane/subnet"
)

func TestCheckSource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, plane, want string }{
		{"umad:mlx5_0:1", "ib", ""},
		{"umad:mlx5_0:254", "ib", ""},
		{"ibsim:unix:lab", "ib", ""},
		{"file:fabric.topo", "ib", ""},
		{"file:fabric.yaml", "roce", ""},
		{"ethernet:inventory.yaml", "wrcc", ""},
		{"", "ib", "source is empty: want umad:CA:PORT"},
		{"ethernet:inventory.yaml", "ib", "want the plane roce or wrcc"},
		{"ibsim:unix:lab", "roce", "want the plane ib, or ethernet:PATH"},
		{"umad:mlx5_0:1", "wrcc", "want the plane ib, or ethernet:PATH"},
		{"umad:mlx5_0", "ib", `source "umad:mlx5_0": want umad:CA:PORT, such as umad:mlx5_0:1, with a port of 1 to 254`},
		{"umad::1", "ib", "want umad:CA:PORT"},
		{"umad:mlx5_0:0", "ib", "a port of 1 to 254"},
		{"umad:mlx5_0:255", "ib", "a port of 1 to 254"},
		{"umad:mlx5_0:one", "ib", "a port of 1 to 254"},
		{"umad:mlx5_0:1:2", "ib", "a port of 1 to 254"},
	} {
		err := checkSource(c.source, subnet.Plane(c.plane))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q on %s: %v, want %q", c.source, c.plane, err, c.want)
		}
	}
}
