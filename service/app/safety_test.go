package app

import (
	"path/filepath"
	"strings"
	"testing"

	"fairlane/service/site"
)

func TestADatabaseHasOneManager(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fairlane.db")
	first, err := openManager(t.Context(), path, &site.Access{}, workOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openManager(t.Context(), path, &site.Access{}, workOptions{}); err == nil || !strings.Contains(err.Error(), "in use by another manager") {
		t.Errorf("second manager: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := openManager(t.Context(), path, &site.Access{}, workOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
