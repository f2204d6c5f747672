// Package tenantfile reads and writes the YAML file in which an operator lists tenants, their weights, classes and
// attachments, and their flows. Names of hosts have the forms of subnet.Fabric.ResolvePort. Each fault is reported with
// file, line, field, the value found and the values allowed; unknown keys, anchors, aliases and more than one document
// in a file are faults.
package tenantfile

import (
	"errors"
	"strconv"

	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Limits of a file.
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
	Line    int // from 1; 0 if the fault has no line
	Field   phrase.Text
	Found   phrase.Text
	Allowed phrase.Text // the zero Text if Found says it
}

var _ phrase.Sentence = (*ParseError)(nil)

// Error returns the fault as "tenants.yaml:7: weight \"0\": want a number from 0.001 to 1000000".
func (e *ParseError) Error() string { return e.Sentence().String() }

// Sentence returns the fault as a sentence in any language.
func (e *ParseError) Sentence() phrase.Text {
	at := e.File
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line)
	}
	if e.Allowed.ID == "" {
		return phrase.Of("tenantfile.fault-whole", "at", at, "field", e.Field, "text", e.Found)
	}
	return phrase.Of("tenantfile.fault", "at", at, "field", e.Field, "found", e.Found, "want", e.Allowed)
}

// subject is the subject of a fault: a key of the file, or one of the words below.
type subject string

// Subjects that are not keys of the file.
const (
	theAlias          subject = "anchor or alias"
	theAttachment     subject = "attachment"
	theAttachmentPort subject = "attachment port"
	theClass          subject = "class"
	theClassName      subject = "class name"
	theDocument       subject = "document"
	theFile           subject = "file"
	theFlow           subject = "flow"
	theSize           subject = "size"
	theSyntax         subject = "syntax"
	theTenant         subject = "tenant"
)

// text returns the thing as text for a message. It is called only for faults, since a file may have a million flows.
func (x subject) text() phrase.Text {
	switch x {
	case theAlias:
		return phrase.Of("tenantfile.alias")
	case theAttachment:
		return phrase.Of("kind.attachment")
	case theAttachmentPort:
		return phrase.Of("tenantfile.attachment-port")
	case theClass:
		return phrase.Of("kind.class")
	case theClassName:
		return phrase.Of("tenantfile.class-name")
	case theDocument:
		return phrase.Of("tenantfile.document")
	case theFile:
		return phrase.Of("tenantfile.file")
	case theFlow:
		return phrase.Of("tenantfile.flow")
	case theSize:
		return phrase.Of("tenantfile.size")
	case theSyntax:
		return phrase.Of("tenantfile.syntax")
	case theTenant:
		return phrase.Of("kind.tenant")
	}
	return phrase.Verbatim(string(x))
}

// Values allowed at each place; those of faults with figures are built where the fault is found.
var (
	wantClass     = phrase.Of("tenantfile.want-class")
	wantGroup     = phrase.Of("tenantfile.want-group")
	wantList      = phrase.Of("want.list")
	wantName      = phrase.Of("tenantfile.want-name")
	wantPKey      = phrase.Of("want.range", "min", "0x0001", "max", "0xffff")
	wantPort      = phrase.Of("tenantfile.want-port")
	wantQPs       = phrase.Of("want.range", "min", 1, "max", tenants.MaxQPs)
	wantSL        = phrase.Of("want.range", "min", 0, "max", ident.NumSLs-1)
	wantTenant    = phrase.Of("tenantfile.want-tenant")
	wantVersion   = phrase.Verbatim(strconv.Itoa(fileFormat))
	wantWeight    = phrase.Of("tenantfile.want-weight")
	wantDemand    = phrase.Of("tenantfile.want-demand")
	wantGuarantee = phrase.Of("tenantfile.want-guarantee")
	wantCap       = phrase.Of("tenantfile.want-cap")
)

// faults collects ParseErrors of one file.
type faults struct {
	file string
	errs []error
}

func (f *faults) add(line int, field subject, found, allowed phrase.Text) {
	f.addText(line, field.text(), found, allowed)
}

func (f *faults) addText(line int, field, found, allowed phrase.Text) {
	if len(f.errs) < maxErrors {
		f.errs = append(f.errs, &ParseError{f.file, line, field, found, allowed})
	}
}

// fault reports a ParseError that ends reading.
func (f *faults) fault(line int, field subject, found, allowed phrase.Text) error {
	return &ParseError{f.file, line, field.text(), found, allowed}
}

func (f *faults) err() error { return errors.Join(f.errs...) }

// quoted returns a text of the file in quotes.
func quoted(s string) phrase.Text { return phrase.Verbatim(quote(s)) }

// quote limits how much of the file a message repeats.
func quote(s string) string {
	if len(s) > maxQuoted {
		s = s[:maxQuoted] + "..."
	}
	return strconv.Quote(s)
}
