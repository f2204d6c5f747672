package gnmitree

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Kind is the kind of a value.
type Kind uint8

// Kinds of values. JSON_IETF encodes integers of 64 bits as strings (RFC 7951, 6.1).
const (
	KindNone   Kind = iota // no value
	KindString             // also for enumerations and identities
	KindBool
	KindInt64
	KindInt32 // 32 bits or fewer
	KindUint64
	KindUint32  // 32 bits or fewer
	KindDecimal // YANG's decimal64, as a floating-point number
	KindBytes
	KindList // of scalars: YANG's leaf-list
	KindJSON // a node above leaves, as JSON text
)

func (k Kind) String() string {
	names := [...]string{"nothing", "a string", "a boolean", "an integer", "an integer", "an unsigned integer", "an unsigned integer", "a decimal number", "bytes", "a list", "JSON"}
	if int(k) < len(names) {
		return names[k]
	}
	return "an unknown kind"
}

// Value is the value of a leaf, or the JSON of a node above leaves. The zero value is no value.
type Value struct {
	kind Kind
	num  uint64 // bool, integer, or bits of a decimal
	text string // string, bytes, JSON
	list []Value
}

// String returns a value of KindString.
func String(s string) Value { return Value{kind: KindString, text: s} }

// Bool returns a value of KindBool.
func Bool(b bool) Value {
	v := Value{kind: KindBool}
	if b {
		v.num = 1
	}
	return v
}

// Uint returns a value of KindUint64.
func Uint(n uint64) Value { return Value{kind: KindUint64, num: n} }

// Uint32 returns a value of KindUint32, for all unsigned integers of 32 bits or fewer.
func Uint32(n uint32) Value { return Value{kind: KindUint32, num: uint64(n)} }

// Int returns a value of KindInt64.
func Int(n int64) Value { return Value{kind: KindInt64, num: uint64(n)} } // bits, restored by signed

// Int32 returns a value of KindInt32, for all signed integers of 32 bits or fewer.
func Int32(n int32) Value { return Value{kind: KindInt32, num: uint64(int64(n))} } // bits, restored by signed

// Decimal returns a value of KindDecimal, or no value for NaN and infinities.
func Decimal(f float64) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Value{}
	}
	return Value{kind: KindDecimal, num: math.Float64bits(f)}
}

// Bytes returns a value of KindBytes.
func Bytes(b []byte) Value { return Value{kind: KindBytes, text: string(b)} }

// List returns a value of KindList. Its members should be scalars.
func List(members ...Value) Value { return Value{kind: KindList, list: slices.Clone(members)} }

// JSON returns a value of KindJSON. The text must be valid; ParseJSON checks it.
func JSON(text []byte) Value { return Value{kind: KindJSON, text: string(text)} }

// JSONText is JSON for a text in a string.
func JSONText(text string) Value { return Value{kind: KindJSON, text: text} }

// Kind returns the kind of v.
func (v Value) Kind() Kind { return v.kind }

// List returns the members of a list, which must not be changed, and nil for other values.
func (v Value) List() []Value { return v.list }

// JSON returns the text of a value of KindJSON, and nil for other values.
func (v Value) JSON() []byte {
	if v.kind != KindJSON {
		return nil
	}
	return []byte(v.text)
}

// Equal reports whether v and w have the same kind and value; the width of an integer does not matter.
func (v Value) Equal(w Value) bool {
	return wide(v.kind) == wide(w.kind) && v.num == w.num && v.text == w.text && slices.EqualFunc(v.list, w.list, Value.Equal)
}

func wide(k Kind) Kind {
	switch k {
	case KindInt32:
		return KindInt64
	case KindUint32:
		return KindUint64
	default:
		return k
	}
}

// AsString returns the text of a string.
func (v Value) AsString() (string, error) {
	if v.kind != KindString {
		return "", fmt.Errorf("value is %s (%s), want a string", v.kind, v)
	}
	return v.text, nil
}

// AsBool returns a boolean. It also accepts the strings "true" and "false", which some clients write.
func (v Value) AsBool() (bool, error) {
	switch {
	case v.kind == KindBool:
		return v.num == 1, nil
	case v.kind == KindString && v.text == "true":
		return true, nil
	case v.kind == KindString && v.text == "false":
		return false, nil
	}
	return false, fmt.Errorf("value is %s (%s), want true or false", v.kind, v)
}

// AsUint returns an unsigned integer. It accepts any nonnegative integer, and decimal digits in a string, as RFC 7951 encodes
// 64 bits.
func (v Value) AsUint() (uint64, error) {
	switch v.kind {
	case KindUint64, KindUint32:
		return v.num, nil
	case KindInt64, KindInt32:
		if n := v.signed(); n >= 0 {
			return uint64(n), nil
		}
	case KindString:
		if n, err := strconv.ParseUint(v.text, 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("value is %s (%s), want an integer from 0 to 18446744073709551615", v.kind, v)
}

// AsInt returns a signed integer. It accepts integers and strings, like AsUint.
func (v Value) AsInt() (int64, error) {
	switch v.kind {
	case KindInt64, KindInt32:
		return v.signed(), nil
	case KindUint64, KindUint32:
		if v.num <= math.MaxInt64 {
			return int64(v.num), nil
		}
	case KindString:
		if n, err := strconv.ParseInt(v.text, 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("value is %s (%s), want an integer from -9223372036854775808 to 9223372036854775807", v.kind, v)
}

// AsDecimal returns a finite number. It accepts any number, and a number in a string, as RFC 7951 encodes decimals.
func (v Value) AsDecimal() (float64, error) {
	switch v.kind {
	case KindDecimal:
		return math.Float64frombits(v.num), nil
	case KindInt64, KindInt32:
		return float64(v.signed()), nil
	case KindUint64, KindUint32:
		return float64(v.num), nil
	case KindString:
		if f, err := strconv.ParseFloat(v.text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f, nil
		}
	}
	return 0, fmt.Errorf("value is %s (%s), want a number", v.kind, v)
}

// AsBytes returns bytes. It also accepts base64 in a string, as RFC 7951 encodes them.
func (v Value) AsBytes() ([]byte, error) {
	switch v.kind {
	case KindBytes:
		return []byte(v.text), nil
	case KindString:
		if b, err := base64.StdEncoding.DecodeString(v.text); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("value is %s (%s), want bytes", v.kind, v)
}

func (v Value) signed() int64 { return int64(v.num) } // the bits stored by Int

// shown is the largest length of a value in a message.
const shown = 64

// String formats v for display: as JSON_IETF, truncated if it is long.
func (v Value) String() string {
	if v.kind == KindNone {
		return "nothing"
	}
	b := v.append(nil, EncodingJSONIETF)
	if len(b) <= shown {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b[:shown], nil)) + "…"
}
