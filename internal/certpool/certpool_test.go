package certpool

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"fairlane/internal/testkit/filetest"
	"fairlane/internal/testkit/tlstest"
)

func TestAuthoritiesAreReadFromTheirFile(t *testing.T) {
	t.Parallel()
	a := tlstest.New(t)
	if pool, err := Read(a.File); err != nil || !pool.Equal(a.Pool) {
		t.Errorf("the authority's own file: %v", err)
	}
	for name, text := range map[string]string{"empty": "", "a text": "secret", "a key": "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"} {
		path := filetest.Write(t, "ca.pem", text)
		pool, err := Read(path)
		if pool != nil || !errors.Is(err, ErrNone) || !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	if _, err := Read(t.TempDir() + "/absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
