package cmdline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/subnet"
	"fairlane/tenants"
	"fairlane/tenants/tenantfile"
)

// ReadFile reads a file of at most most bytes; kind is the expected content, for errors.
func ReadFile(kind phrase.Text, path string, most int) ([]byte, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	defer func() { _ = r.Close() }() // read only
	var b bytes.Buffer
	if at, err := r.Stat(); err == nil && at.Size() <= int64(most) {
		b.Grow(int(at.Size()) + bytes.MinRead) // allocate once: doubling would take three times the size of the file
	}
	if _, err := b.ReadFrom(io.LimitReader(r, int64(most)+1)); err != nil {
		return nil, usage.Wrap(phrase.Because(err, phrase.Of("file.read", "file", kind, "reason", err)))
	}
	if b.Len() > most {
		return nil, usage.Of(phrase.Of("file.too-large", "kind", kind, "file", path, "max", most>>20))
	}
	return b.Bytes(), nil
}

// ReadTenants reads a tenant file against a fabric and completes the attachments.
func ReadTenants(path string, topo *subnet.Fabric) ([]tenants.Tenant, []tenants.Flow, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, nil, usage.Wrap(err)
	}
	defer func() { _ = r.Close() }() // read only
	ts, flows, err := tenantfile.Read(path, r, topo)
	if err != nil {
		return nil, nil, usage.Wrap(err)
	}
	return tenants.Attach(ts, flows), flows, nil
}

// JSONLine returns ":LINE" for the error of a JSON decoder, if the error has a position; for a truncated text, the last
// line.
func JSONLine(text []byte, err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	at := int64(-1)
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	case errors.Is(err, io.ErrUnexpectedEOF):
		at = int64(len(bytes.TrimRight(text, "\n")))
	}
	if at < 0 || at > int64(len(text)) {
		return ""
	}
	return fmt.Sprintf(":%d", 1+bytes.Count(text[:at], []byte{'\n'}))
}
