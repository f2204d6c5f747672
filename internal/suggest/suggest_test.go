package suggest_test

import (
	"strings"
	"testing"

	"fairlane/internal/suggest"
)

func TestSuggestions(t *testing.T) {
	t.Parallel()
	names := []string{"gold", "silver", "bronze", "golf", "storage"}
	for want, list := range map[string]string{
		"glod": "gold", "gold ": "gold", "slver": "silver", "storgae": "storage", "iron": "", "": "", "bronze": "bronze",
		strings.Repeat("x", 100): "",
	} {
		if got := strings.Join(suggest.Names(want, names), " "); got != list {
			t.Errorf("%q may mean %q, want %q", want, got, list)
		}
	}
	if got := suggest.Quoted("glod", names); got != `"gold"` {
		t.Errorf("quoted %s", got)
	}
}
