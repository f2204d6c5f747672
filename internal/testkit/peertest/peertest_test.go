package peertest

import (
	"path/filepath"
	"runtime"
	"testing"
)

// judged is a test that records how it is ended.
type judged struct {
	testing.TB
	skipped, failed bool
}

func (*judged) Helper() {}

func (j *judged) Skip(...any) {
	j.skipped = true
	runtime.Goexit()
}

func (j *judged) Fatal(...any) {
	j.failed = true
	runtime.Goexit()
}

// judge runs f as a separate test.
func judge(f func(testing.TB)) *judged {
	j := &judged{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(j)
	}()
	<-done
	return j
}

func TestAMissingPeerSkipsOrFails(t *testing.T) {
	for value, fails := range map[string]bool{"": false, "1": true, "yes": true} {
		t.Setenv("FAIRLANE_REQUIRE_INTEROP", value)
		got := judge(func(t testing.TB) { Program(t, "fairlane-no-such-program") })
		if got.failed != fails || got.skipped == fails {
			t.Errorf("with %q: skipped %v, failed %v", value, got.skipped, got.failed)
		}
	}
}

func TestAProgramIsFound(t *testing.T) {
	t.Parallel()
	if path := Program(t, "sh"); !filepath.IsAbs(path) {
		t.Errorf("sh is at %q", path)
	}
}
