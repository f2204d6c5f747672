package gnmitree

import (
	"fmt"
	"slices"
	"strings"
)

// ParsePath parses a path in the form of gnmic (gNMI path strings): "/nics/nic[name=a]/state", with or without a leading slash,
// with an optional origin as in "sonic-db:/CONFIG_DB/localhost". A backslash escapes the next character: it is required before
// "]" and "\" in values, and before "/", "[", "=" and "\" in names.
func ParsePath(text string) (Path, error) {
	p := Path{}
	rest := text
	if at := strings.IndexAny(text, `:/[\`); at > 0 && strings.HasPrefix(text[at:], ":/") {
		p.Origin, rest = text[:at], text[at+1:]
	}
	rest = strings.TrimPrefix(rest, "/")
	for rest != "" {
		e, left, err := parseElem(rest)
		if err != nil {
			return Path{}, fmt.Errorf("path %q: %w", text, err)
		}
		p.Elems = append(p.Elems, e)
		if left == "" {
			break
		}
		if rest = left[1:]; rest == "" {
			return Path{}, fmt.Errorf("path %q ends in a slash, want an element after it", text)
		}
	}
	return p, nil
}

// parseElem parses one element; the rest is empty or starts with a slash.
func parseElem(text string) (Elem, string, error) {
	name, rest, err := word(text, "/[")
	if err != nil {
		return Elem{}, "", err
	}
	if name == "" {
		return Elem{}, "", fmt.Errorf("an element without a name at %q", text)
	}
	e := Elem{Name: name}
	for strings.HasPrefix(rest, "[") {
		var k Key
		if k, rest, err = parseKey(rest[1:]); err != nil {
			return Elem{}, "", fmt.Errorf("element %q: %w", name, err)
		}
		if _, twice := e.Key(k.Name); twice {
			return Elem{}, "", fmt.Errorf("element %q has key %q twice", name, k.Name)
		}
		e.Keys = append(e.Keys, k)
	}
	if rest != "" && rest[0] != '/' {
		return Elem{}, "", fmt.Errorf("element %q is followed by %q, want a slash or a key in brackets", name, rest)
	}
	slices.SortFunc(e.Keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return e, rest, nil
}

// parseKey parses name=value], including the bracket.
func parseKey(text string) (Key, string, error) {
	name, rest, err := word(text, "=]")
	if err != nil {
		return Key{}, "", err
	}
	if name == "" || !strings.HasPrefix(rest, "=") {
		return Key{}, "", fmt.Errorf("a key at %q, want [name=value]", text)
	}
	value, rest, err := word(rest[1:], "]")
	if err != nil {
		return Key{}, "", err
	}
	if rest == "" {
		return Key{}, "", fmt.Errorf("key %q has no closing bracket", name)
	}
	return Key{name, value}, rest[1:], nil
}

// word reads up to the first unescaped character of end.
func word(text, end string) (w, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			if i++; i == len(text) {
				return "", "", fmt.Errorf("a backslash at the end of %q, want a character after it", text)
			}
		case strings.IndexByte(end, text[i]) >= 0:
			return b.String(), text[i:], nil
		}
		b.WriteByte(text[i])
	}
	return b.String(), "", nil
}

// String formats p for ParsePath, with a leading slash.
func (p Path) String() string {
	return string(p.append(make([]byte, 0, 24*len(p.Elems)+len(p.Origin)+1)))
}

func (p Path) append(b []byte) []byte {
	if p.Origin != "" {
		b = append(b, p.Origin...)
		b = append(b, ':')
	}
	if len(p.Elems) == 0 {
		return append(b, '/')
	}
	for _, e := range p.Elems {
		b = append(b, '/')
		b = escape(b, e.Name, `/[\`)
		for _, k := range e.Keys {
			b = append(b, '[')
			b = escape(b, k.Name, `=]\`)
			b = append(b, '=')
			b = escape(b, k.Value, `]\`)
			b = append(b, ']')
		}
	}
	return b
}

// escape appends text with a backslash before each of the characters in special.
func escape(b []byte, text, special string) []byte {
	for i := range len(text) {
		if strings.IndexByte(special, text[i]) >= 0 {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return b
}
