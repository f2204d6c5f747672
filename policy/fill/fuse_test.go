package fill

import (
	"testing"

	"fairlane/internal/testkit/fusetest"
)

func TestNoProductCanBeFusedIntoASum(t *testing.T) { fusetest.Check(t, "fairlane/policy/fill", 10) }
