package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	case method == http.MethodPut && (strings.HasSuffix(route, "/tenants") || strings.HasSuffix(route, "/flows")),
		strings.HasSuffix(route, "/tenants"), strings.HasSuffix(route, "/tenants/:tenant"),
		strings.HasSuffix(route, "/simulations"):
		return MaxBody
	}
	return smallBody
}

// checkText refuses what is no text of ours: bytes that are not UTF-8 and the character 0, which databases do not hold.
func checkText(what, s string) error {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return &problemError{code: "malformed-request", detail: what + " is not UTF-8 text, or has the character 0"}
	}
	return nil
}

// checkJSON refuses a JSON body that is not one whole JSON text in UTF-8, or deeper than any of ours, and says where
// it breaks.
func checkJSON(contentType string, body []byte) error {
	if contentType != "application/json" || len(body) == 0 {
		return nil
	}
	if at, ok := tooDeep(body); ok {
		return malformed(body, at, fmt.Sprintf("has objects and lists more than %d deep in each other", maxDepth))
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
		return malformed(body, at, "is not UTF-8")
	}
	if at := nulEscape(body); at >= 0 {
		return malformed(body, at, "has the character 0")
	}
	if json.Valid(body) {
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

func malformed(body []byte, at int, what string) error {
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
