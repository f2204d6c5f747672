package adopt

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	"fairlane/internal/phrase"
)

// lineAt returns the line, from 1, of an offset in a text.
func lineAt(text string, offset int64) int {
	return 1 + strings.Count(text[:min(max(offset, 0), int64(len(text)))], "\n")
}

// jsonError adds the line to an error of the JSON decoder.
func jsonError(file, text string, offset int64, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = max(offset, syntax.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		offset = int64(len(text))
	}
	return &ParseError{File: file, Line: lineAt(text, offset), Found: phrase.Verbatim(err.Error()), Allowed: phrase.Verbatim("JSON")}
}

// notIn returns the members of an object for which a structure has no field, sorted.
func notIn(members map[string]json.RawMessage, structure any) []string {
	typ := reflect.TypeOf(structure).Elem()
	known := map[string]bool{}
	for i := range typ.NumField() {
		tag, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		known[tag] = true
	}
	var out []string
	for name := range members {
		if !known[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
