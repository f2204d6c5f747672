package gnmitree

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends v as JSON_IETF.
func (v Value) AppendJSON(b []byte) []byte { return v.append(b, EncodingJSONIETF) }

// append appends v as JSON; EncodingJSONIETF follows RFC 7951, with 64-bit integers and decimals as strings.
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

// appendDecimal appends a number: in the form of YANG's decimal64, with a point and without an exponent, or as in JSON.
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
			out, _ := json.Marshal(s) // encoding a string cannot fail
			return append(b, out...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// Compose encodes the node at a path as JSON: the value of the leaf there, or an object of the leaves below it, in their order.
// Entries of a list become one array, even if they are not consecutive; their keys are members. module is the prefix of the
// top-level names with EncodingJSONIETF; empty means no prefix. Leaves that are not at or below the node are ignored, and
// without leaves the object is empty.
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
	size := 128 // for the text around the leaves
	for _, l := range leaves {
		size += 24 + len(l.Value.text)
	}
	return root.append(make([]byte, 0, size), e, module)
}

// composer allocates branches in blocks.
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

// branch is a node in a tree of leaves. A list is a branch whose children are its entries.
type branch struct {
	name     string
	keys     []Key // only in a list entry
	list     bool
	value    *Value
	children []*branch
	index    map[string]*branch // of children, if there are many
}

// manyChildren is the number of children from which an index is used.
const manyChildren = 16

func (c *composer) child(b *branch, e *Elem) *branch {
	named := c.find(b, e.Name, nil)
	if len(e.Keys) == 0 {
		return named
	}
	named.list = true
	return c.find(named, "", e.Keys)
}

// find returns the child of b with a name or keys, and creates it if it is missing.
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
			if c.keys == nil { // a leaf directly in a list is not an entry
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
