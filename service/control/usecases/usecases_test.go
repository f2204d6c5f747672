package usecases_test

import (
	"testing"

	"fairlane/service/control"
	"fairlane/service/control/usecases"
)

func TestMissingDependenciesAreRejected(t *testing.T) {
	t.Parallel()
	if _, err := usecases.New(control.Deps{}); err == nil {
		t.Error("use cases were built without dependencies")
	}
}
