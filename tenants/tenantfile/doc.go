// Package tenantfile reads and writes the YAML file in which an operator lists tenants,
// their weights, classes and attachments, and the flows they run. Hosts are named as
// subnet.Fabric.ResolvePort accepts them. Every fault is reported with file, line, field,
// what was found and what is allowed; unknown keys, anchors, aliases and several documents in a
// file are faults.
package tenantfile

import (
	"errors"
	"fmt"
)

// Bounds of a file.
const (
	MaxBytes   = 16 << 20
	maxErrors  = 50
	maxQuoted  = 80
	maxPorts   = 65_536
	fileFormat = 1
)

// ParseError is one fault in a file.
type ParseError struct {
	File    string
	Line    int // from 1; 0 when the fault is not at a line
	Field   string
	Found   string
	Allowed string
}

// Error prints the fault as "tenants.yaml:7: weight \"0\": want a number from 0.001 to 1000000".
func (e *ParseError) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	s := at + ": " + e.Field
	if e.Found != "" {
		s += " " + e.Found
	}
	if e.Allowed != "" {
		s += ": want " + e.Allowed
	}
	return s
}

// faults collects ParseErrors of one file.
type faults struct {
	file string
	errs []error
}

func (f *faults) add(line int, field, found, allowed string) {
	if len(f.errs) < maxErrors {
		f.errs = append(f.errs, &ParseError{f.file, line, field, found, allowed})
	}
}

func (f *faults) err() error { return errors.Join(f.errs...) }

// quote bounds what a message repeats of the file.
func quote(s string) string {
	if len(s) > maxQuoted {
		s = s[:maxQuoted] + "..."
	}
	return fmt.Sprintf("%q", s)
}
