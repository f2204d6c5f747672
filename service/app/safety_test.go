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
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	again, err := openManager(t.Context(), path, &site.Access{}, workOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.close(); err != nil {
		t.Error(err)
	}
}
