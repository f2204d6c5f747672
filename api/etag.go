package api

import (
	"fmt"
	"strconv"
	"strings"

	"fairlane/api/gen"
	"fairlane/internal/control"
)

// etag is the entity tag of a version.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// anyVersion stands for If-Match: *.
const anyVersion int64 = -1

// ifMatch reads the version that a change was made against. The tags of this API are strong and
// single; a weak or foreign one can match nothing, so it is a fault, not a mismatch.
func ifMatch(h *gen.IfMatch) (int64, error) {
	if h == nil || strings.TrimSpace(*h) == "" {
		return 0, &problemError{code: "precondition-required", detail: `send If-Match with the ETag of the version you change, or with *`}
	}
	text := strings.TrimSpace(*h)
	if text == "*" {
		return anyVersion, nil
	}
	inner, open := strings.CutPrefix(text, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	v, err := strconv.ParseInt(inner, 10, 64)
	if !open || !closed || err != nil || v < 0 {
		return 0, &problemError{code: "invalid", detail: "If-Match is not an ETag of this API", fields: []gen.ProblemField{{
			In: gen.ProblemFieldInHeader, Pointer: "If-Match", Detail: fmt.Sprintf("found %q: want one quoted version such as %q, or *", clip(text), etag(3))}}}
	}
	return v, nil
}

// rowVersion is what the use cases of versioned rows take: 0 for any.
func rowVersion(h *gen.IfMatch) (int64, error) {
	v, err := ifMatch(h)
	switch {
	case err != nil:
		return 0, err
	case v == anyVersion:
		return 0, nil
	case v == 0: // rows count from 1: a tag of 0 matches none
		return anyVersion, nil
	}
	return v, nil
}

// page reads limit and cursor. Cursors are opaque to clients: a prefix tells them from guesses.
func page(limit *gen.Limit, cursor *gen.Cursor) (control.Page, error) {
	var p control.Page
	if limit != nil {
		p.Limit = *limit
	}
	if cursor == nil || *cursor == "" {
		return p, nil
	}
	after, ok := strings.CutPrefix(*cursor, "c.")
	if !ok || after == "" {
		return p, &problemError{code: "invalid", detail: "the cursor is not one of this API", fields: []gen.ProblemField{{
			In: gen.ProblemFieldInQuery, Pointer: "cursor", Detail: fmt.Sprintf("found %q: want a next_cursor as a list gave it", clip(*cursor))}}}
	}
	p.After = after
	return p, nil
}

func cursor(after string) *string {
	if after == "" {
		return nil
	}
	c := "c." + after
	return &c
}
