package osmfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Marker comments around Fairlane's part of a file. The digest covers the lines between them.
const (
	beginMark = "# fairlane begin sha256="
	endMark   = "# fairlane end"
)

// MaxSize bounds the files that are read, in bytes.
const MaxSize = 4 << 20

// ErrMarkers is wrapped when the marker comments of a file do not pair up.
var ErrMarkers = errors.New("marker comments do not pair up")

// Block is a file split at Fairlane's part.
type Block struct {
	Found  bool
	Before string // the text before the begin marker, or the whole file without markers
	Body   string // the lines between the markers
	After  string // the text after the end marker
	Line   int    // of the begin marker, from 1; 0 without markers
	last   int    // line of the end marker
	Edited bool   // the body was edited: its digest differs from the marker's
}

// FindBlock finds Fairlane's part of a file. An error wraps ErrMarkers and names the line.
func FindBlock(text string) (Block, error) {
	b := Block{Before: text}
	at, digest, bodyAt := 0, "", 0
	line := 0
	for l := range strings.Lines(text) {
		line++
		word := strings.TrimRight(l, "\r\n")
		switch {
		case strings.HasPrefix(word, beginMark):
			if b.Found {
				return Block{Before: text}, fmt.Errorf("%w: line %d begins a second part, the first began at line %d", ErrMarkers, line, b.Line)
			}
			b.Found, b.Line, b.Before = true, line, text[:at]
			digest, bodyAt = strings.TrimPrefix(word, beginMark), at+len(l)
		case word == endMark:
			if !b.Found || b.After != "" || digest == "" {
				return Block{Before: text}, fmt.Errorf("%w: line %d ends a part that did not begin", ErrMarkers, line)
			}
			b.Body, b.After, b.last = text[bodyAt:at], text[at+len(l):], line
			b.Edited = digest != Digest(b.Body)
			digest = ""
		}
		at += len(l)
	}
	if b.Found && digest != "" {
		return Block{Before: text}, fmt.Errorf("%w: the part that begins at line %d has no end", ErrMarkers, b.Line)
	}
	return b, nil
}

// holds reports whether a line, counted from 1, is in Fairlane's part.
func (b Block) holds(line int) bool {
	return b.Found && line >= b.Line && line <= b.last
}

// With returns the file with another body; an empty body removes the markers too. A missing line end after the body, or
// before the markers, is added.
func (b Block) With(body string) string {
	if body == "" {
		return b.Before + b.After
	}
	body = endLine(body)
	return endLine(b.Before) + beginMark + Digest(body) + "\n" + body + endMark + "\n" + b.After
}

func endLine(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// Digest returns the SHA-256 of a text in hexadecimal digits.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
