package gnmitree

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends v as JSON_IETF has it.
func (v Value) AppendJSON(b []byte) []byte { return v.append(b, EncodingJSONIETF) }

// append writes v as JSON, by RFC 7951 for EncodingJSONIETF: 64 bits and decimals as strings.
func (v Value) append(b []byte, e Encoding) []byte {
	quote := e == EncodingJSONIETF
	switch v.kind {
	case KindString:
		return appendString(b, v.text)
	case KindBool:
		return strconv.AppendBool(b, v.num == 1)
	case KindInt64, KindInt32:
		return quoted(b, quote && v.kind == KindInt64, func(b []byte) []byte { return strconv.AppendInt(b, v.signed(), 10) })
	case KindUint64, KindUint32:
		return quoted(b, quote && v.kind == KindUint64, func(b []byte) []byte { return strconv.AppendUint(b, v.num, 10) })
	case KindDecimal:
		return quoted(b, quote, func(b []byte) []byte { return appendDecimal(b, math.Float64frombits(v.num), quote) })
	case KindBytes:
		return appendString(b, base64.StdEncoding.EncodeToString([]byte(v.text)))
	case KindJSON:
		return append(b, v.text...)
	case KindList:
		b = append(b, '[')
		for i, m := range v.list {
			if i > 0 {
				b = append(b, ',')
			}
			b = m.append(b, e)
		}
		return append(b, ']')
	default:
		return append(b, "null"...)
	}
}

func quoted(b []byte, quote bool, write func([]byte) []byte) []byte {
	if !quote {
		return write(b)
	}
	return append(write(append(b, '"')), '"')
}

// appendDecimal writes a number: with a point and without an exponent where YANG wants its decimal64 so, else as JSON
// does.
func appendDecimal(b []byte, f float64, yang bool) []byte {
	if !yang {
		return strconv.AppendFloat(b, f, 'g', -1, 64)
	}
	from := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	for _, c := range b[from:] {
		if c == '.' {
			return b
		}
	}
	return append(b, ".0"...)
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			out, _ := json.Marshal(s) // a string always has a form
			return append(b, out...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// Compose writes the node at a path as JSON: the value of the leaf there, or an object of the leaves below it, in their
// order. List entries that follow each other or not become one array; their keys are members. module qualifies the names
// at the top where the encoding is EncodingJSONIETF, unless it is empty. Leaves that are not at or below the node are left
// out, and with no leaves the object is empty.
func Compose(at Path, leaves []Leaf, e Encoding, module string) []byte {
	all := make([]*Leaf, len(leaves))
	for i := range leaves {
		all[i] = &leaves[i]
	}
	return compose(at, all, e, module)
}

func compose(at Path, leaves []*Leaf, e Encoding, module string) []byte {
	if len(leaves) == 1 && sameElems(at.Elems, leaves[0].Path.Elems) {
		return leaves[0].Value.append(nil, e)
	}
	c := composer{chunk: min(32, 4*len(leaves)+4)}
	root := c.branch()
	if n := len(at.Elems); n > 0 {
		root.keys = at.Elems[n-1].Keys
	}
	for _, l := range leaves {
		if len(l.Path.Elems) < len(at.Elems) || !matchElems(at.Elems, l.Path.Elems[:len(at.Elems)]) {
			continue
		}
		b := root
		for i := len(at.Elems); i < len(l.Path.Elems); i++ {
			b = c.child(b, &l.Path.Elems[i])
		}
		b.value = &l.Value
	}
	if e != EncodingJSONIETF {
		module = ""
	}
	size := 128 // of what is around the leaves
	for _, l := range leaves {
		size += 24 + len(l.Value.text)
	}
	return root.append(make([]byte, 0, size), e, module)
}

// composer makes branches, many at a time.
type composer struct {
	chunk int
	spare []branch
	key   []byte
}

func (c *composer) branch() *branch {
	if len(c.spare) == 0 {
		c.spare = make([]branch, c.chunk)
	}
	b := &c.spare[0]
	c.spare = c.spare[1:]
	return b
}

// branch is a node of a tree made of leaves. A list is a branch whose children are its entries.
type branch struct {
	name     string
	keys     []Key // of an entry
	list     bool
	value    *Value
	children []*branch
	index    map[string]*branch // of children, once there are many
}

// manyChildren is from how many children on they are found by an index.
const manyChildren = 16

func (c *composer) child(b *branch, e *Elem) *branch {
	named := c.find(b, e.Name, nil)
	if len(e.Keys) == 0 {
		return named
	}
	named.list = true
	return c.find(named, "", e.Keys)
}

// find is b's child of a name, or of keys, made if it is not there.
func (c *composer) find(b *branch, name string, keys []Key) *branch {
	n := len(b.children)
	if n > 0 && b.children[n-1].is(name, keys) {
		return b.children[n-1]
	}
	if n < manyChildren {
		for _, other := range b.children {
			if other.is(name, keys) {
				return other
			}
		}
	} else {
		c.key = elemKey(c.key[:0], Elem{name, keys})
		if other := b.index[string(c.key)]; other != nil {
			return other
		}
	}
	fresh := c.branch()
	fresh.name, fresh.keys = name, keys
	b.children = append(b.children, fresh)
	switch {
	case n+1 == manyChildren:
		b.index = make(map[string]*branch, 2*manyChildren)
		for _, other := range b.children {
			b.index[string(elemKey(nil, Elem{other.name, other.keys}))] = other
		}
	case n+1 > manyChildren:
		b.index[string(c.key)] = fresh
	}
	return fresh
}

func (b *branch) is(name string, keys []Key) bool {
	return b.name == name && slices.Equal(b.keys, keys)
}

func (b *branch) append(out []byte, e Encoding, module string) []byte {
	switch {
	case b.list:
		out = append(out, '[')
		first := true
		for _, c := range b.children {
			if c.keys == nil { // a leaf of a list without keys is no entry
				continue
			}
			if !first {
				out = append(out, ',')
			}
			first = false
			out = c.append(out, e, "")
		}
		return append(out, ']')
	case b.value != nil && len(b.children) == 0:
		return b.value.append(out, e)
	}
	out = append(out, '{')
	first := true
	name := func(n string) {
		if !first {
			out = append(out, ',')
		}
		first = false
		if module != "" {
			n = module + ":" + n
		}
		out = append(appendString(out, n), ':')
	}
	for _, k := range b.keys {
		if !b.has(k.Name) {
			name(k.Name)
			out = appendString(out, k.Value)
		}
	}
	for _, c := range b.children {
		name(c.name)
		out = c.append(out, e, "")
	}
	return append(out, '}')
}

func (b *branch) has(name string) bool {
	for _, c := range b.children {
		if c.name == name {
			return true
		}
	}
	return false
}
