package reconcile_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"fairlane/service/reconcile"
)

// TestMovesAreExactlyTheTable walks every pair of states. Columns are in the order of States:
// unknown in-sync pending applying verifying drifted failed rolled-back unsupported.
func TestMovesAreExactlyTheTable(t *testing.T) {
	t.Parallel()
	table := map[reconcile.State]string{
		reconcile.Unknown:     ".xx..xx.x",
		reconcile.InSync:      "..xx.xx..",
		reconcile.Pending:     "xx.x..x.x",
		reconcile.Applying:    "x...x.x.x",
		reconcile.Verifying:   "xx.x..xx.",
		reconcile.Drifted:     ".xx...x..",
		reconcile.Failed:      ".xxx.x...",
		reconcile.RolledBack:  "..x..x...",
		reconcile.Unsupported: "..x......",
	}
	for from, row := range table {
		for i, to := range reconcile.States() {
			if got, want := reconcile.CanMove(from, to), row[i] == 'x'; got != want {
				t.Errorf("%s to %s: allowed is %t, want %t", from, to, got, want)
			}
		}
	}
	if len(table) != len(reconcile.States()) {
		t.Errorf("%d states, table has %d", len(reconcile.States()), len(table))
	}
	if reconcile.CanMove("nonsense", reconcile.Pending) {
		t.Error("an unknown state may move")
	}
}

func TestEveryStateCanBeReachedAndLeft(t *testing.T) {
	t.Parallel()
	reached := []reconcile.State{reconcile.Unknown}
	for i := 0; i < len(reached); i++ {
		for _, to := range reconcile.States() {
			if reconcile.CanMove(reached[i], to) && !slices.Contains(reached, to) {
				reached = append(reached, to)
			}
		}
	}
	for _, s := range reconcile.States() {
		if !slices.Contains(reached, s) {
			t.Errorf("%s cannot be reached", s)
		}
		// Whatever happened to a device, the next rollout can take it up.
		if s != reconcile.Pending && s != reconcile.Applying && s != reconcile.Verifying && !reconcile.CanMove(s, reconcile.Pending) {
			t.Errorf("no rollout can take up a device that is %s", s)
		}
	}
}

func TestOnlyVerifiedStatesFollowARead(t *testing.T) {
	t.Parallel()
	for _, to := range []reconcile.State{reconcile.InSync, reconcile.RolledBack} {
		if reconcile.CanMove(reconcile.Applying, to) {
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
	for _, s := range reconcile.States() {
		want := slices.Contains([]reconcile.State{reconcile.InSync, reconcile.Failed, reconcile.RolledBack, reconcile.Unsupported}, s)
		if s.Settled() != want {
			t.Errorf("%s settled is %t", s, s.Settled())
		}
	}
}
