package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/policy/plantest"
)

type byteCount int64

func (c *byteCount) Write(b []byte) (int, error) {
	*c += byteCount(len(b))
	return len(b), nil
}

// TestPlansOfTheLargestFabricsFitTheReadLimit scales the JSON size of a plan for 1,024 hosts to the sizes in
// docs/compiler.md, and requires twice that, because plans also grow with tenants and findings.
func TestPlansOfTheLargestFabricsFitTheReadLimit(t *testing.T) {
	t.Parallel()
	const hosts = 1024
	for plane, most := range map[policy.Plane]int64{policy.PlaneIB: 27_648, policy.PlaneRoCE: 100_000, policy.PlaneWRCC: 100_000} {
		in, err := plantest.FatTree(plantest.TreeOptions{K: 16, Hosts: hosts, Tenants: 64, Flows: 10 * hosts, Bare: plane != policy.PlaneIB, Scattered: plane == policy.PlaneIB, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		in.Options.Plane = plane
		p, err := policy.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		var n byteCount
		if err := cmdline.PrintJSON(&n, p); err != nil {
			t.Fatal(err)
		}
		if all := int64(n) * most / hosts; 2*all > maxPlanBytes {
			t.Errorf("%s: %d bytes of plan for %d hosts, about %d MiB for %d: want at most half of %d MiB", plane, n, hosts, all>>20, most, maxPlanBytes>>20)
		}
	}
}

func TestFilesAreReadUpToTheirLimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := cmdline.ReadFile(phrase.Verbatim("plan"), path, 1<<20); err != nil || len(b) != 1<<20 {
		t.Errorf("a file of as much as is allowed: %d bytes, %v", len(b), err)
	}
	if _, err := cmdline.ReadFile(phrase.Verbatim("plan"), path, 1<<20-1); err == nil || !strings.Contains(err.Error(), "the maximum") {
		t.Errorf("a file of a byte too many: %v", err)
	}
}
