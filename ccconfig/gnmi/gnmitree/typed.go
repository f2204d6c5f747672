package gnmitree

import (
	"fmt"
	"math"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// Encoding is the encoding of values.
type Encoding = gnmi.Encoding

// Encodings of values.
const (
	EncodingJSON     = gnmi.Encoding_JSON
	EncodingJSONIETF = gnmi.Encoding_JSON_IETF
	EncodingProto    = gnmi.Encoding_PROTO
)

// FromTyped converts a value from its wire form. It accepts scalars, lists of scalars, and both kinds of JSON; it returns an
// error for ASCII, messages and empty values.
func FromTyped(t *gnmi.TypedValue) (Value, error) { return fromTyped(t, maxJSONDepth) }

func fromTyped(t *gnmi.TypedValue, depth int) (Value, error) {
	switch v := t.GetValue().(type) {
	case *gnmi.TypedValue_JsonVal:
		return parseJSON(v.JsonVal, depth)
	case *gnmi.TypedValue_JsonIetfVal:
		return parseJSON(v.JsonIetfVal, depth)
	case *gnmi.TypedValue_LeaflistVal:
		list := make([]Value, len(v.LeaflistVal.GetElement()))
		for i, m := range v.LeaflistVal.GetElement() {
			var err error
			if list[i], err = scalar(m); err != nil {
				return Value{}, fmt.Errorf("member %d of a list: %w", i, err)
			}
		}
		return Value{kind: KindList, list: list}, nil
	default:
		return scalar(t)
	}
}

func scalar(t *gnmi.TypedValue) (Value, error) {
	switch v := t.GetValue().(type) {
	case *gnmi.TypedValue_StringVal:
		return String(v.StringVal), nil
	case *gnmi.TypedValue_IntVal:
		return Int(v.IntVal), nil
	case *gnmi.TypedValue_UintVal:
		return Uint(v.UintVal), nil
	case *gnmi.TypedValue_BoolVal:
		return Bool(v.BoolVal), nil
	case *gnmi.TypedValue_BytesVal:
		return Bytes(v.BytesVal), nil
	case *gnmi.TypedValue_DoubleVal:
		return finite(v.DoubleVal)
	case nil:
		return Value{}, fmt.Errorf("there is no value")
	default:
		if f, ok := oldNumber(t); ok {
			return finite(f)
		}
		return Value{}, fmt.Errorf("value is a %T, want a scalar, a list of scalars, json_val or json_ietf_val", v)
	}
}

func finite(f float64) (Value, error) {
	v := Decimal(f)
	if v.kind == KindNone {
		return v, fmt.Errorf("value is %g, want a finite number", f)
	}
	return v, nil
}

// Typed converts v to its wire form. A node above leaves has no scalar form, so it is JSON_IETF even with EncodingProto.
func (v Value) Typed(e Encoding) *gnmi.TypedValue {
	switch {
	case e == EncodingJSON:
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: v.append(nil, e)}}
	case e == EncodingJSONIETF || v.kind == KindJSON:
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: v.append(nil, EncodingJSONIETF)}}
	}
	switch v.kind {
	case KindString:
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: v.text}}
	case KindBool:
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_BoolVal{BoolVal: v.num == 1}}
	case KindInt64, KindInt32:
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_IntVal{IntVal: v.signed()}}
	case KindUint64, KindUint32:
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_UintVal{UintVal: v.num}}
	case KindDecimal:
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_DoubleVal{DoubleVal: math.Float64frombits(v.num)}}
	case KindBytes:
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_BytesVal{BytesVal: []byte(v.text)}}
	case KindList:
		list := make([]*gnmi.TypedValue, len(v.list))
		for i, m := range v.list {
			list[i] = m.Typed(e)
		}
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_LeaflistVal{LeaflistVal: &gnmi.ScalarArray{Element: list}}}
	default:
		return nil
	}
}
