package phrase

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// In JSON a sentence is {"id": ..., "params": {name: value}}. A value is a string; an integer; {"bps": n}, {"ps": n} or
// {"percent": x}; a list of names; a sentence; or {"texts": [sentences], "join": id}.

// maxDepth limits the nesting of sentences that are decoded.
const maxDepth = 32

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	out := struct {
		ID     string           `json:"id"`
		Params map[string]Value `json:"params,omitempty"`
	}{ID: t.ID}
	if len(t.Params) > 0 {
		out.Params = make(map[string]Value, len(t.Params))
	}
	for _, p := range t.Params {
		out.Params[p.Name] = p.Value
	}
	return json.Marshal(out)
}

// Canonical returns the sentence as JSON: the same bytes for the same id and parameters.
func (t Text) Canonical() string {
	b, err := json.Marshal(t)
	if err != nil {
		return t.ID // strings and numbers can always be encoded
	}
	return string(b)
}

// UnmarshalJSON decodes the output of MarshalJSON. The format before ids, {"template": ...}, becomes the zero Text:
// such data also contains the English text.
func (t *Text) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	got, err := textFrom(v, 0)
	if err != nil {
		return err
	}
	*t = got
	return nil
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.Kind {
	case KindInt:
		return json.Marshal(v.N)
	case KindRate:
		return json.Marshal(map[string]int64{"bps": v.N})
	case KindTime:
		return json.Marshal(map[string]int64{"ps": v.N})
	case KindPercent:
		return []byte(`{"percent":` + Percent(v.N).number() + `}`), nil
	case KindNames:
		return json.Marshal(append([]string{}, v.Names...))
	case KindTexts:
		if len(v.Texts) == 1 && v.Join == "" {
			return json.Marshal(v.Texts[0])
		}
		return json.Marshal(struct {
			Texts []Text `json:"texts"`
			Join  string `json:"join,omitempty"`
		}{append([]Text{}, v.Texts...), v.Join})
	default:
		return json.Marshal(v.Plain)
	}
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (v *Value) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return err
	}
	got, err := valueFrom(x, 0)
	if err != nil {
		return err
	}
	*v = got
	return nil
}

var errForm = errors.New(`a sentence: want {"id": text, "params": object}`)

func textFrom(v any, depth int) (Text, error) {
	fields, ok := v.(map[string]any)
	if !ok || depth > maxDepth {
		return Text{}, errForm
	}
	if _, old := fields["template"]; old {
		return Text{}, nil
	}
	id, ok := fields["id"].(string)
	if !ok {
		return Text{}, errForm
	}
	t := Text{ID: id}
	params, ok := fields["params"].(map[string]any)
	if !ok && fields["params"] != nil {
		return Text{}, errForm
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value, err := valueFrom(params[name], depth+1)
		if err != nil {
			return Text{}, fmt.Errorf("%s of %s: %w", name, id, err)
		}
		t.Params = append(t.Params, Param{name, value})
	}
	return t, nil
}

func valueFrom(v any, depth int) (Value, error) {
	switch v := v.(type) {
	case string:
		return Value{Plain: v}, nil
	case json.Number:
		n, err := v.Int64()
		return Value{Kind: KindInt, N: n}, err
	case []any:
		return namesFrom(v)
	case map[string]any:
		return objectFrom(v, depth)
	}
	return Value{}, fmt.Errorf("found %T: want a string, a number, a list or an object", v)
}

func namesFrom(list []any) (Value, error) {
	out := Value{Kind: KindNames}
	for _, x := range list {
		name, ok := x.(string)
		if !ok {
			return Value{}, fmt.Errorf("found %T in a list of names: want strings", x)
		}
		out.Names = append(out.Names, name)
	}
	return out, nil
}

func objectFrom(fields map[string]any, depth int) (Value, error) {
	for unit, kind := range map[string]Kind{"bps": KindRate, "ps": KindTime} {
		if n, ok := fields[unit].(json.Number); ok {
			whole, err := n.Int64()
			return Value{Kind: kind, N: whole}, err
		}
	}
	if n, ok := fields["percent"].(json.Number); ok {
		x, err := n.Float64()
		if err == nil && math.Abs(x) > 1e12 {
			err = fmt.Errorf("%v percent: want less", n)
		}
		return Value{Kind: KindPercent, N: int64(math.Round(x * 1000))}, err
	}
	list, ok := fields["texts"].([]any)
	if !ok {
		t, err := textFrom(fields, depth)
		return Value{Kind: KindTexts, Texts: []Text{t}}, err
	}
	out := Value{Kind: KindTexts}
	out.Join, _ = fields["join"].(string)
	for _, x := range list {
		t, err := textFrom(x, depth)
		if err != nil {
			return Value{}, err
		}
		out.Texts = append(out.Texts, t)
	}
	return out, nil
}
