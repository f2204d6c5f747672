package phrase

import (
	"strings"

	"fairlane/internal/quantity"
)

var _ Sentence = (*Error)(nil)

// Error is an error with a sentence for every language. Its text is the sentence in English.
type Error struct {
	Text
	Cause error // for errors.Is and errors.As; may be nil
}

// Because returns an error with a sentence that already states its cause.
func Because(cause error, said Text) error { return &Error{said, cause} }

// Error returns the sentence in English.
func (e *Error) Error() string { return e.String() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Sentence returns the error as a sentence.
func (e *Error) Sentence() Text { return e.Text }

// Sentence is an error that is a sentence: its text is the sentence in English.
type Sentence interface {
	error
	Sentence() Text
}

// OfError returns an error as a sentence, as far as it is known: its own sentence, or its text with the sentences of
// the errors that it wraps in their places. The rest, such as a file name or an error of the operating system, is
// verbatim.
func OfError(err error) Text {
	switch e := err.(type) { //nolint:errorlint // this walks the tree
	case Sentence:
		return e.Sentence()
	case *quantity.Error:
		return ofQuantity(e)
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return around(err.Error(), []error{inner})
		}
	case interface{ Unwrap() []error }:
		return around(err.Error(), e.Unwrap())
	}
	return Verbatim(err.Error())
}

// around returns a text with the sentences of the errors that it contains, in their order.
func around(text string, inner []error) Text {
	parts, said, joined := []Text{}, false, true
	rest := text
	for _, err := range inner {
		before, after, found := strings.Cut(rest, err.Error())
		if !found {
			continue
		}
		part := OfError(err)
		said = said || !part.IsVerbatim()
		if len(parts) == 0 {
			joined = before == ""
		} else {
			joined = joined && (before == "\n" || before == "; ")
		}
		if before != "" {
			parts = append(parts, Verbatim(before))
		}
		parts, rest = append(parts, part), after
	}
	switch {
	case !said:
		return Verbatim(text)
	case joined && rest == "":
		return listed(parts)
	case rest != "":
		parts = append(parts, Verbatim(rest))
	}
	return sequence(parts)
}

// listed returns the sentences among parts, which list separators separate.
func listed(parts []Text) Text {
	var list []Text
	for i := 0; i < len(parts); i += 2 {
		list = append(list, parts[i])
	}
	if len(list) == 1 {
		return list[0]
	}
	return Of("list.whole", "list", list)
}

// sequence joins parts. A part that ends in a colon is a label, whose colon depends on the language.
func sequence(parts []Text) Text {
	if len(parts) == 1 {
		return parts[0]
	}
	if colon := parts[1]; len(parts) > 2 && colon.IsVerbatim() && colon.Params[0].Value.Plain == ": " {
		return Of("labelled", "label", parts[0], "text", sequence(parts[2:]))
	}
	first, rest := parts[0], sequence(parts[1:])
	if first.IsVerbatim() {
		if label, ok := strings.CutSuffix(first.Params[0].Value.Plain, ": "); ok && label != "" {
			return Of("labelled", "label", Verbatim(label), "text", rest)
		}
	}
	return Of("sequence", "first", first, "rest", rest)
}

// ofQuantity returns the sentence for an error of package quantity, which this package imports and which therefore
// cannot build sentences itself.
func ofQuantity(e *quantity.Error) Text {
	switch e.Want {
	case quantity.WantRate:
		return Of("quantity.rate", "found", e.Found)
	case quantity.WantRateUnit:
		return Of("quantity.rate-unit", "found", e.Found)
	case quantity.WantDuration:
		return Of("quantity.duration", "found", e.Found)
	case quantity.WantDecimals:
		return Of("quantity.decimals", "found", e.Found)
	default:
		return Of("quantity.weight", "found", e.Found)
	}
}
