// Package embeddedtest opens series for tests.
package embeddedtest

import (
	"testing"

	"fairlane/service/series/embedded"
)

// Open opens series in a new folder, and closes them when the test ends.
func Open(t testing.TB, o embedded.Options) *embedded.DB {
	t.Helper()
	d, err := embedded.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
