package fieldwise_test

import (
	"errors"
	"testing"

	"fairlane/internal/fieldwise"
)

func TestUnderPutsThePathBeforeTheField(t *testing.T) {
	t.Parallel()
	err := fieldwise.Under("ports[7].", fieldwise.Bad("threshold", 16, "0 to 15"))
	var bad *fieldwise.Error
	if !errors.As(err, &bad) || bad.Field != "ports[7].threshold" || err.Error() != "ports[7].threshold: found 16, want 0 to 15" {
		t.Errorf("got %v", err)
	}
	errOther := errors.New("other")
	if err := fieldwise.Under("x.", errOther); !errors.Is(err, errOther) || err.Error() != "x. other" {
		t.Errorf("got %v", err)
	}
	if fieldwise.Under("x.", nil) != nil {
		t.Error("no error became one")
	}
}

func TestDifferencesAreOfFieldsThatDiffer(t *testing.T) {
	t.Parallel()
	var ds fieldwise.Differences
	ds.Add("mode", "qp", "qp")
	ds.Number("limit", 3, 3)
	ds.Number("sl[3].timer", 150, 0)
	ds.Add("cct[17]", "3:0", fieldwise.Absent)
	if len(ds) != 2 || ds[0].String() != "sl[3].timer: want 150, got 0" || ds[1].String() != "cct[17]: want 3:0, got absent" {
		t.Errorf("differences %v", ds)
	}
}
