package control

import (
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
)

// Scope narrows a token to an object and an action, "*" for any.
type Scope struct{ Object, Action string }

// MaxScopes bounds the scopes of one token.
const MaxScopes = 32

// String prints "OBJECT:ACTION".
func (s Scope) String() string { return s.Object + ":" + s.Action }

// ParseScope parses the form that String prints, such as "tenant:read", "*:read" or "rollout:*".
func ParseScope(text string) (Scope, error) {
	object, action, ok := strings.Cut(text, ":")
	if !ok || !scopeWord(object) || !scopeWord(action) {
		return Scope{}, &phrase.Error{Text: phrase.Of("problem.scope", "found", strconv.Quote(Clipped(text)))}
	}
	return Scope{object, action}, nil
}

func scopeWord(s string) bool {
	return s == "*" || s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") == ""
}

// Covers reports whether the scope allows an action on an object.
func (s Scope) Covers(object, action string) bool {
	return (s.Object == "*" || s.Object == object) && (s.Action == "*" || s.Action == action)
}

// InScope reports whether the principal's token allows an action on an object.
func (p Principal) InScope(object, action string) bool {
	return p.Scopes == nil || slices.ContainsFunc(p.Scopes, func(s Scope) bool { return s.Covers(object, action) })
}

// Clipped truncates input that an error quotes.
func Clipped(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "..."
	}
	return s
}
