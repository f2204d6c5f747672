package topofile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fairlane/subnet/ibsim/ibsimtest"
	"fairlane/subnet/ident"
)

// discoverOnIbsim runs Debian's ibsim on a topology text and returns what Debian's ibnetdiscover
// prints from a host of it.
func discoverOnIbsim(t *testing.T, text []byte, from ident.GUID) []byte {
	t.Helper()
	return discoverOnIbsimAs(t, text, fmt.Sprintf("H-%016x", uint64(from)))
}

// discoverOnIbsimAs is discoverOnIbsim with the host's id as given in the text.
func discoverOnIbsimAs(t *testing.T, text []byte, host string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "net")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return []byte(ibsimtest.Start(t, file).Tool(t, host, "ibnetdiscover"))
}
