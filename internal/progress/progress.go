// Package progress shows the progress of a long command on one line of the terminal.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"fairlane/internal/texttable"
)

// Line is a line on a terminal that is rewritten in place; without a terminal it prints nothing.
type Line struct {
	mu      sync.Mutex
	w       io.Writer
	columns int // of the terminal; 0: unknown
	width   int // of the shown text, in columns
}

// On returns a line on w.
func On(w io.Writer) *Line {
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return &Line{}
	}
	return &Line{w: w, columns: texttable.Columns(w, func(string) string { return "" })}
}

// Shown reports whether the line has a terminal.
func (p *Line) Shown() bool { return p.w != nil }

// Show replaces the text.
func (p *Line) Show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil {
		return
	}
	if p.columns > 0 {
		text = texttable.Clip(text, p.columns-1) // a wrapped line cannot be rewritten
	}
	width := texttable.Width(text)
	pad := strings.Repeat(" ", max(0, p.width-width))
	_, _ = fmt.Fprintf(p.w, "\r%s%s", text, pad) // a broken terminal does not affect the result
	p.width = width
}

// Clear clears the line, so that other text can be printed.
func (p *Line) Clear() {
	p.Show("")
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil {
		_, _ = fmt.Fprint(p.w, "\r")
	}
}

// Every shows a text now and then at intervals d, until stop is called, which clears the line. Without a terminal it
// does nothing.
func (p *Line) Every(d time.Duration, text func(elapsed time.Duration) string) (stop func()) {
	if p.w == nil {
		return func() {}
	}
	begun, quit, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			p.Show(text(time.Since(begun)))
			select {
			case <-quit:
				p.Clear()
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

// Left estimates the remaining time of a task of which part, up to 1, has been done since it began.
func Left(begun time.Time, part float64) time.Duration {
	return time.Duration(float64(time.Since(begun)) * (1 - part) / max(part, 1e-9)).Round(time.Second)
}
