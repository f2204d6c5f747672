package predict

import (
	"testing"

	"fairlane/internal/testkit/fusetest"
)

func TestNoProductCanBeFusedIntoASum(t *testing.T) {
	t.Parallel()
	fusetest.Check(t, "predict", 40)
}
