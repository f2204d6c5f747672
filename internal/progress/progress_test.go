package progress

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestALineIsRewrittenInPlace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &Line{w: &out}
	p.Show("12 of 20")
	p.Show("done")
	p.Clear()
	if want := "\r12 of 20\rdone    \r    \r"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}

// Wide characters count twice, and a line that would wrap is shortened.
func TestLinesAreMeasuredInColumns(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &Line{w: &out, columns: 9}
	p.Show("下发 7")
	p.Show("12 of 20 devices")
	p.Clear()
	if want := "\r下发 7\r12 of 2…\r        \r"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}

func TestWithoutATerminalNothingIsShown(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := On(&out)
	p.Show("12 of 20")
	p.Every(time.Millisecond, func(time.Duration) string { return "still" })()
	p.Clear()
	if out.Len() > 0 {
		t.Errorf("wrote %q", out.String())
	}
}

func TestProgressIsShownUntilItIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := &Line{w: &out}
		stop := p.Every(time.Second, func(elapsed time.Duration) string { return fmt.Sprint(elapsed) })
		time.Sleep(2500 * time.Millisecond)
		stop()
		if want := "\r0s\r1s\r2s\r  \r"; out.String() != want {
			t.Errorf("wrote %q, want %q", out.String(), want)
		}
	})
}
