package profile

import (
	"testing"

	"fairlane/internal/testkit/fusetest"
)

// Plans are bit-exact on all machines, so what the compiler asks a profile must be too.
func TestNoProductCanBeFusedIntoASum(t *testing.T) {
	t.Parallel()
	fusetest.Check(t, "ccconfig/profile", 5)
}
