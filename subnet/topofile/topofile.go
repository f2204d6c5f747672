// Package topofile reads and writes fabrics as text: the topology files of ibnetdiscover and ibsim, and Fairlane's own
// YAML. Input is bounded, and every fault names its file and line and what is allowed there.
package topofile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"fairlane/internal/phrase"
	"fairlane/subnet"
)

// Bounds of the input.
const (
	MaxSize = 64 << 20 // bytes of a file
	MaxLine = 64 << 10 // bytes of a line
)

// ParseError is a fault in a file. Field, Found and Allowed are the field, its value and the valid values; Err, when not
// nil, is a fault of the fabric as a whole that was traced to the line.
type ParseError struct {
	File    string
	Setting string // the setting with the fault, if it replaces a value of the file
	Line    int    // from 1; 0 for a fault that belongs to no line
	Field   string
	Found   phrase.Text
	Allowed phrase.Text
	Err     error
}

var _ phrase.Sentence = (*ParseError)(nil)

// maxFound truncates long texts in messages.
const maxFound = 60

// Error returns "file:line: field: found "x": want y".
func (e *ParseError) Error() string {
	if e.Err != nil {
		return e.at().String() + ": " + e.Err.Error()
	}
	return e.Sentence().String()
}

// Sentence returns the fault for readers of any language.
func (e *ParseError) Sentence() phrase.Text {
	if e.Err != nil {
		return phrase.Of("labelled", "label", e.at(), "text", e.Err)
	}
	return phrase.Of("topofile.fault", "at", e.at(), "field", fieldText(e.Field), "found", e.Found, "want", e.Allowed)
}

func (e *ParseError) at() phrase.Text {
	switch {
	case e.Setting != "":
		return phrase.Of("topofile.setting", "setting", e.Setting)
	case e.Line > 0:
		return phrase.Verbatim(fmt.Sprintf("%s:%d", e.File, e.Line))
	}
	return phrase.Verbatim(e.File)
}

// Unwrap returns Err.
func (e *ParseError) Unwrap() error { return e.Err }

// Read reads a fabric in either format: YAML when the first line that is neither empty nor a comment is a YAML key, a
// document mark or a brace, else the text of ibnetdiscover and ibsim. name is the file's name for messages; without
// directory and extension it is the fabric's name unless the file has one. Faults in the file are a *ParseError.
func Read(name string, r io.Reader) (*subnet.Fabric, error) {
	data, err := readAll(name, r)
	if err != nil {
		return nil, err
	}
	if looksLikeYAML(data) {
		return parseYAML(name, data)
	}
	return parseIbnet(name, data)
}

// ReadIbnetdiscover reads the output of ibnetdiscover, and the hand-written dialect of ibsim: node ids without GUIDs,
// "Hca", w= and s= options, module prefixes, aliases, GUID bases. Missing GUIDs and link speeds are generated as in
// ibsim. It rejects ibsim's "include" and "do" lines, which need other files or a running simulator.
func ReadIbnetdiscover(name string, r io.Reader) (*subnet.Fabric, error) {
	data, err := readAll(name, r)
	if err != nil {
		return nil, err
	}
	return parseIbnet(name, data)
}

// ReadYAML reads Fairlane's own format; see docs/fabric-files.md and the JSON schema
// docs/schema/fabric.schema.json.
func ReadYAML(name string, r io.Reader) (*subnet.Fabric, error) {
	data, err := readAll(name, r)
	if err != nil {
		return nil, err
	}
	return parseYAML(name, data)
}

func readAll(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > MaxSize {
		return nil, &ParseError{File: name, Field: "file size", Found: phrase.Of("topofile.size"), Allowed: phrase.Of("topofile.want-size")}
	}
	if at, line := longLine(data); at > 0 {
		return nil, &ParseError{File: name, Line: at, Field: "line", Found: Quoted(string(line)), Allowed: phrase.Of("topofile.want-line-size")}
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

// longLine returns the number and the start of the first line that is too long, or 0.
func longLine(data []byte) (int, []byte) {
	for n := 1; len(data) > 0; n++ {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			i = len(data)
		}
		if i > MaxLine {
			return n, data[:maxFound+1]
		}
		data = data[min(i+1, len(data)):]
	}
	return 0, nil
}

func looksLikeYAML(data []byte) bool {
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, MaxLine+2)
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, _, colon := strings.Cut(line, ":")
		return line[0] == '{' || strings.HasPrefix(line, "---") || line[0] == '%' ||
			colon && strings.Trim(key, `"abcdefghijklmnopqrstuvwxyz_`) == ""
	}
	return false
}

// fabricName returns the file's name without directory and extension, truncated to a valid name.
func fabricName(file string) string {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	name := strings.ToValidUTF8(strings.TrimSuffix(base, path.Ext(base)), "?")
	for len(name) > subnet.MaxDomain {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}

// build builds the fabric, and maps a fault that New finds to its line.
func build(file, name string, nodes []subnet.Node, nodeLines []int, links []subnet.Link, linkLines []int) (*subnet.Fabric, error) {
	f, err := subnet.New(name, nodes, links)
	var fault *subnet.BuildError
	if !errors.As(err, &fault) {
		return f, err
	}
	line := 0
	switch {
	case fault.Node >= 0:
		line = nodeLines[fault.Node]
	case fault.Link >= 0:
		line = linkLines[fault.Link]
	}
	return nil, &ParseError{File: file, Line: line, Err: fault}
}
