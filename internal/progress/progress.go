// Package progress shows people how far a long command is, on one line of their terminal.
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

// Line is one line on a terminal that is rewritten in place; elsewhere it prints nothing.
type Line struct {
	mu      sync.Mutex
	w       io.Writer
	columns int // of the terminal; 0 is not known
	width   int // in columns, of what is shown
}

// On is a line on w.
func On(w io.Writer) *Line {
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return &Line{}
	}
	return &Line{w: w, columns: texttable.Columns(w, func(string) string { return "" })}
}

// Shown reports whether there is a terminal for the line.
func (p *Line) Shown() bool { return p.w != nil }

// Show puts the text in place of the one before.
func (p *Line) Show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil {
		return
	}
	if p.columns > 0 {
		text = texttable.Clip(text, p.columns-1) // a line that wraps cannot be rewritten
	}
	width := texttable.Width(text)
	pad := strings.Repeat(" ", max(0, p.width-width))
	_, _ = fmt.Fprintf(p.w, "\r%s%s", text, pad) // words for people: a broken terminal changes nothing
	p.width = width
}

// Clear empties the line, so that something else can be printed.
func (p *Line) Clear() {
	p.Show("")
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil {
		_, _ = fmt.Fprint(p.w, "\r")
	}
}

// Every shows a text now and again every so often, until stop is called, which empties the line. Nothing runs where there is no terminal.
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

// Left is about how long the rest of something takes of which a part, up to 1, is done since it was begun.
func Left(begun time.Time, part float64) time.Duration {
	return time.Duration(float64(time.Since(begun)) * (1 - part) / max(part, 1e-9)).Round(time.Second)
}
