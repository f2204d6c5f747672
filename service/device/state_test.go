package device_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"fairlane/service/device"
)

// TestMovesMatchTheTable walks every pair of states. Columns are in the order of States: unknown in-sync pending
// applying verifying drifted failed rolled-back unsupported.
func TestMovesMatchTheTable(t *testing.T) {
	t.Parallel()
	table := map[device.State]string{
		device.Unknown:     ".xx..xx.x",
		device.InSync:      "..xx.xx..",
		device.Pending:     "xx.x..x.x",
		device.Applying:    "x...x.x.x",
		device.Verifying:   "xx.x..xx.",
		device.Drifted:     ".xx...x..",
		device.Failed:      ".xxx.x...",
		device.RolledBack:  "..x..x...",
		device.Unsupported: "..x......",
	}
	for from, row := range table {
		for i, to := range device.States() {
			if got, want := device.CanMove(from, to), row[i] == 'x'; got != want {
				t.Errorf("%s to %s: allowed is %t, want %t", from, to, got, want)
			}
		}
	}
	if len(table) != len(device.States()) {
		t.Errorf("%d states, table has %d", len(device.States()), len(table))
	}
	if device.CanMove("nonsense", device.Pending) {
		t.Error("an unknown state may move")
	}
}

func TestEveryStateCanBeReachedAndLeft(t *testing.T) {
	t.Parallel()
	reached := []device.State{device.Unknown}
	for i := 0; i < len(reached); i++ {
		for _, to := range device.States() {
			if device.CanMove(reached[i], to) && !slices.Contains(reached, to) {
				reached = append(reached, to)
			}
		}
	}
	for _, s := range device.States() {
		if !slices.Contains(reached, s) {
			t.Errorf("%s cannot be reached", s)
		}
		// Whatever happened to a device, the next rollout can start on it.
		if s != device.Pending && s != device.Applying && s != device.Verifying && !device.CanMove(s, device.Pending) {
			t.Errorf("no rollout can take up a device that is %s", s)
		}
	}
}

func TestOnlyVerifiedStatesFollowARead(t *testing.T) {
	t.Parallel()
	for _, to := range []device.State{device.InSync, device.RolledBack} {
		if device.CanMove(device.Applying, to) {
			t.Errorf("a device may go from applying to %s without a read", to)
		}
	}
}

func TestDiagramNamesEveryState(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	diagram, _, _ := strings.Cut(string(doc), "# Order")
	for _, s := range []string{"Unknown", "InSync", "Pending", "Applying", "Verifying", "Drifted", "Failed", "RolledBack", "Unsupported"} {
		if !strings.Contains(diagram, s) {
			t.Errorf("the diagram in the package comment lacks %s", s)
		}
	}
}

func TestSettledStatesNeedNoMoreWork(t *testing.T) {
	t.Parallel()
	for _, s := range device.States() {
		want := slices.Contains([]device.State{device.InSync, device.Failed, device.RolledBack, device.Unsupported}, s)
		if s.Settled() != want {
			t.Errorf("%s settled is %t", s, s.Settled())
		}
	}
}
