package ib

import (
	"testing"

	"fairlane/internal/testkit/fusetest"
)

func TestNoProductCanBeFusedIntoASum(t *testing.T) {
	t.Parallel()
	fusetest.Check(t, "policy", 20)
}
