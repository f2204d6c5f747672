package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// bodyKey is where the body of a request is kept in gin's context, as it came.
const bodyKey = "fairlane.body"

// maxDepth bounds how deep objects and lists of a body may lie in each other; the contract needs 6.
const maxDepth = 32

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

// checkURL refuses what is no text of ours: bytes that are not UTF-8 and the character 0, which databases do not hold.
func checkURL(u *url.URL) error {
	if s := u.Path + u.RawQuery; !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return &problemError{code: "malformed-request", detail: "the URL is not UTF-8 text, or has the character 0"}
	}
	return nil
}

// checkJSON refuses a JSON body that is not one whole JSON text in UTF-8, or deeper than any of ours, or that says
// something twice, and says where.
func checkJSON(contentType string, body []byte) error {
	if contentType != "application/json" || len(body) == 0 {
		return nil
	}
	if at, ok := tooDeep(body); ok {
		return malformed(body, at+1, fmt.Sprintf("has objects and lists more than %d deep in each other", maxDepth))
	}
	if !utf8.Valid(body) {
		at := 0
		for at < len(body) {
			r, n := utf8.DecodeRune(body[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return malformed(body, at+1, "is not UTF-8")
	}
	if at := nulEscape(body); at >= 0 {
		return malformed(body, at+1, "has the character 0")
	}
	if json.Valid(body) {
		if name, at, twice := repeated(body); twice {
			return malformed(body, at+1, fmt.Sprintf("has the field %s twice", clip(name)))
		}
		return nil
	}
	var v json.RawMessage
	var syntax *json.SyntaxError
	at := len(body)
	if err := json.Unmarshal(body, &v); errors.As(err, &syntax) {
		at = min(int(syntax.Offset), len(body))
	}
	return malformed(body, at, "stops being JSON")
}

// malformed tells the place of a body's at-th byte, counted from 1.
func malformed(body []byte, at int, what string) error {
	at = min(at, len(body))
	line := 1 + bytes.Count(body[:at], []byte("\n"))
	column := at - bytes.LastIndexByte(body[:at], '\n') - 1
	return &problemError{code: "malformed-body", detail: fmt.Sprintf("the body %s at line %d, column %d", what, line, max(column, 1))}
}

// tooDeep returns where nesting first exceeds maxDepth. It looks at brackets outside of strings only, in one pass and
// without memory, before anything recursive sees the body.
func tooDeep(body []byte) (at int, deep bool) {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted:
			switch c {
			case '\\':
				i++
			case '"':
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return i, true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return 0, false
}

// nulEscape returns where a string writes the character 0 as \u0000, or -1.
func nulEscape(body []byte) int {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(body[i:], []byte(`\u0000`)) {
			return i
		}
		i++ // what is escaped begins no escape
	}
	return -1
}

// repeated finds a field that an object of a valid JSON text has twice: of two values each reader could take another
// (RFC 8259, 4). It returns the name as written and where it stands the second time.
func repeated(body []byte) (name string, at int, twice bool) {
	var open []map[string]bool // the objects, nil for lists, that lie around
	key := false               // whether the next text names a field
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{':
			open, key = append(open, map[string]bool{}), true
		case '[':
			open, key = append(open, nil), false
		case '}', ']':
			open, key = open[:len(open)-1], false
		case ',':
			key = len(open) > 0 && open[len(open)-1] != nil
		case ':':
			key = false
		case '"':
			end := endOfText(body, i)
			if key {
				word := string(body[i:end])
				if bytes.IndexByte(body[i:end], '\\') >= 0 { // the same name can be written in several ways
					_ = json.Unmarshal(body[i:end], &word)
					word = `"` + word + `"`
				}
				fields := open[len(open)-1]
				if fields[word] {
					return word, i, true
				}
				fields[word] = true
			}
			i = end - 1
		}
	}
	return "", 0, false
}

// endOfText returns what follows the text that begins at a quotation mark.
func endOfText(body []byte, at int) int {
	for at++; body[at] != '"'; at++ {
		if body[at] == '\\' {
			at++
		}
	}
	return at + 1
}
