package api

import (
	"context"
	"strconv"
	"strings"

	"fairlane/api/gen"
	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// etag returns the entity tag of a version.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// ifMatch returns the version that a change is based on, or control.AnyVersion. The tags of this API are strong and
// single; a weak or foreign one can never match, so it is a fault, not a mismatch.
func ifMatch(h *gen.IfMatch) (int64, error) {
	if h == nil || strings.TrimSpace(*h) == "" {
		return 0, &problemError{code: "precondition-required", said: phrase.Of("problem.if-match-missing")}
	}
	text := strings.TrimSpace(*h)
	if text == "*" {
		return control.AnyVersion, nil
	}
	inner, open := strings.CutPrefix(text, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	v, err := strconv.ParseInt(inner, 10, 64)
	if !open || !closed || err != nil || v < 0 {
		return 0, faulty(phrase.Of("problem.if-match-foreign"), gen.ProblemFieldInHeader, "If-Match", phrase.Of("problem.if-match-want", "found", clip(text), "example", etag(3)))
	}
	return v, nil
}

// rowVersion returns the version for use cases of versioned rows: 0 for any.
func rowVersion(h *gen.IfMatch) (int64, error) {
	v, err := ifMatch(h)
	switch {
	case err != nil:
		return 0, err
	case v == control.AnyVersion:
		return 0, nil
	case v == 0: // no row has version 0 or -1, since versions count from 1
		return -1, nil
	}
	return v, nil
}

// page returns limit and cursor. Cursors are opaque to clients: a prefix distinguishes them from guesses.
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
		return p, faulty(phrase.Of("problem.cursor-foreign"), gen.ProblemFieldInQuery, "cursor", phrase.Of("problem.cursor-want", "found", clip(*cursor)))
	}
	p.After = after
	return p, nil
}

// listed returns a page of one of the service's lists in the contract's form; of names the list.
func listed[K, A, B any](
	ctx context.Context, of K, limit *gen.Limit, from *gen.Cursor, list func(context.Context, K, control.Page) ([]A, string, error), out func(A) B,
) ([]B, *string, error) {
	p, err := page(limit, from)
	if err != nil {
		return nil, nil, err
	}
	rows, next, err := list(ctx, of, p)
	return mapped(rows, out), cursor(next), err
}

func cursor(after string) *string {
	if after == "" {
		return nil
	}
	c := "c." + after
	return &c
}
