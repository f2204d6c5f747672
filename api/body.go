package api

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"fairlane/api/gen"
)

// bodyKey is where the body of a request is kept in gin's context, as it came.
const bodyKey = "fairlane.body"

// jsonType is the media type of every body that the contract takes.
const jsonType = "application/json"

// Bodies of most operations are small; what carries whole tables may have MaxBody.
const smallBody = 256 << 10

// bodyLimit is how large the body of a route may be, in bytes.
func bodyLimit(method, route string) int64 {
	switch {
	case strings.HasSuffix(route, "/tenants"), strings.HasSuffix(route, "/tenants/:tenant"), strings.HasSuffix(route, "/simulations"),
		method == http.MethodPut && strings.HasSuffix(route, "/flows"):
		return MaxBody
	}
	return smallBody
}

// checkURL refuses what is not text in the path or in the query, as sent or after decoding: bytes that are not UTF-8,
// and the character 0, which databases do not hold.
func checkURL(u *url.URL) error {
	query, err := url.QueryUnescape(u.RawQuery)
	if err != nil {
		query = u.RawQuery // validate refuses it, and says why
	}
	for _, part := range []struct {
		in   gen.ProblemFieldIn
		text string
	}{{gen.ProblemFieldInPath, u.Path}, {gen.ProblemFieldInQuery, query}} {
		if at, what := notText(part.text); what != "" {
			return &problemError{
				code: "malformed-request", detail: fmt.Sprintf("the %s %s, %d bytes from its start", part.in, what, at),
				fields: []gen.ProblemField{{In: part.in, Pointer: "", Detail: what}},
			}
		}
	}
	return nil
}

// notText returns the first place in s, in bytes from its start, that is not UTF-8 or is the character 0, and what is
// wrong there; "" when nothing is.
func notText(s string) (at int, what string) {
	for i, r := range s {
		switch {
		case r == 0:
			return i, hasNUL
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			return i, notUTF8
		}
	}
	return 0, ""
}

// isJSON reports whether the header fields say that a body is JSON: one Content-Type, compared without regard to case
// and to parameters (RFC 9110, 8.3.1). JSON between systems is UTF-8 (RFC 8259, 8.1), so a charset may be that only.
func isJSON(h http.Header) bool {
	types := h.Values("Content-Type")
	if len(types) != 1 {
		return false
	}
	kind, params, err := mime.ParseMediaType(types[0]) // in lower case, as are the names of the parameters
	charset, given := params["charset"]
	return err == nil && kind == jsonType && (!given || strings.EqualFold(charset, "utf-8"))
}
