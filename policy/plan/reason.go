package plan

import (
	"sync"

	"fairlane/internal/phrase"
)

// Reason explains one setting: its field, value, unit and legal range, the rule and formula of the value, and any clamping. Its texts are in
// English and part of a plan's name; Said returns them as sentences.
type Reason struct {
	Field   string `json:"field"` // such as "sl[3].timer", "cct", "threshold"
	Value   string `json:"value"`
	Unit    string `json:"unit,omitempty"`  // such as "1.024 us"; empty is a plain number
	Range   string `json:"range,omitempty"` // legal values, such as "1..65535"
	Tenant  string `json:"tenant,omitempty"`
	Rule    string `json:"rule"`    // stable code, such as "product-rule"
	Formula string `json:"formula"` // with the numbers filled in
	Clamped string `json:"clamped,omitempty"`
}

// ReasonSaid is the texts of a reason as sentences. nil stands for a text without words, such as "1..65535", and for a text that this version
// of Fairlane does not write, as in plans of an earlier one.
type ReasonSaid struct {
	Field, Value, Unit, Range, Formula, Clamped *phrase.Text
}

// Said returns the texts as sentences. A plan has a hundred thousand reasons, which sentences would make a third larger; their texts, whose
// templates are in the catalogue, identify the sentences as well.
func (r *Reason) Said() ReasonSaid {
	return ReasonSaid{
		Field: readField(r.Field), Value: readValue(r.Value), Unit: readUnit(r.Unit),
		Range: readRange(r.Range), Formula: readFormula(r.Formula), Clamped: readLimit(r.Clamped),
	}
}

var (
	readField   = reader("reason.field.")
	readValue   = reader("reason.value.")
	readUnit    = reader("reason.unit.")
	readRange   = reader("reason.range.")
	readFormula = reader("reason.formula.")
	readLimit   = reader("reason.limit.")
)

// reader returns a function that reads texts with the templates whose ids have a prefix. It loads them with the first text.
func reader(prefix string) func(string) *phrase.Text {
	load := sync.OnceValue(func() *phrase.Reader { return phrase.NewReader(prefix) })
	return func(text string) *phrase.Text {
		said, ok := load().Read(text)
		if !ok {
			return nil
		}
		return &said
	}
}
