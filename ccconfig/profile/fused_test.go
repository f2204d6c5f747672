package profile

import (
	"testing"

	"fairlane/internal/testkit/fusetest"
)

// Plans are bit-exact on all machines, so the functions of a profile that the compiler calls must be too.
func TestNoProductCanBeFusedIntoASum(t *testing.T) {
	t.Parallel()
	fusetest.Check(t, "ccconfig/profile", 5)
}
