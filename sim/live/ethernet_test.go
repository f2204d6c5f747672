package live

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
)

func TestServedFilesKeepPreviousContent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), InventoryName)
	write := func(text string) error {
		return writeKeeping(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	for _, step := range []struct{ write, previous string }{{"one", ""}, {"one", ""}, {"two", "one"}, {"two", "one"}, {"three", "two"}} {
		if err := write(step.write); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != step.write {
			t.Errorf("%s: %q, %v", step.write, got, err)
		}
		previous, err := os.ReadFile(path + ".previous")
		if string(previous) != step.previous || (err == nil) != (step.previous != "") {
			t.Errorf("%s: before it %q, %v; want %q", step.write, previous, err, step.previous)
		}
	}
	full := errors.New("disk full")
	if err := writeKeeping(path, func(io.Writer) error { return full }); !errors.Is(err, full) {
		t.Errorf("a write function with an error: %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "three" {
		t.Errorf("after it %q, %v", got, err)
	}
}

func TestUnsupportedLiveScenariosAreRejected(t *testing.T) {
	t.Parallel()
	for name, wantText := range map[string]string{"dualdc": "no workload", "twoflow": "begins late or ends", "incast20": "begins late or ends", "ib16": "plane infiniband: want ethernet"} {
		s, err := scenario.LoadBuiltin(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := CaseOf(s); err == nil || !errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), wantText) {
			t.Errorf("%s: %v, want %q", name, err, wantText)
		}
	}
	for name, plane := range map[string]policy.Plane{"roce8": policy.PlaneRoCE, "wrcc2dc": policy.PlaneWRCC, "roce-tenants": policy.PlaneRoCE} {
		s, err := scenario.LoadBuiltin(name)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := CaseOf(s); err != nil || c.Plane != plane || len(c.Flows) == 0 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func TestAnEthernetScenarioIsNotServedAsInfiniBand(t *testing.T) {
	t.Parallel()
	s, err := scenario.LoadBuiltin("roce8")
	if err != nil {
		t.Fatal(err)
	}
	l, err := StartInfiniBand(t.Context(), s, "unix:fairlane-refused", simdev.Options{})
	if err == nil {
		_ = l.Close()
	}
	if !errors.As(err, new(*usage.Error)) || err.Error() != "scenario roce8: plane ethernet: want infiniband" {
		t.Errorf("error is %v", err)
	}
}
