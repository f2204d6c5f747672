package app

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// progress is one line on a terminal that is rewritten in place; elsewhere it prints nothing.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	width int
}

func newProgress(w io.Writer) *progress {
	if !isTerminal(w) {
		w = nil
	}
	return &progress{w: w}
}

func (p *progress) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil {
		return
	}
	pad := strings.Repeat(" ", max(0, p.width-len(text)))
	_, _ = fmt.Fprintf(p.w, "\r%s%s", text, pad) // words for people: a broken terminal changes nothing
	p.width = len(text)
}

func (p *progress) clear() {
	p.show("")
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil {
		_, _ = fmt.Fprint(p.w, "\r")
	}
}

// timeLeft is about how long the rest of something takes of which a part, up to 1, is done since it was begun.
func timeLeft(begun time.Time, part float64) time.Duration {
	return time.Duration(float64(time.Since(begun)) * (1 - part) / max(part, 1e-9)).Round(time.Second)
}

// isTerminal reports whether w is a character device.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
