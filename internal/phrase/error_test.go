package phrase

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"fairlane/internal/quantity"
)

// TestQuantityErrorsAgreeWithTheCatalogue compares the catalogue with a package whose errors have English
// texts of their own.
func TestQuantityErrorsAgreeWithTheCatalogue(t *testing.T) {
	t.Parallel()
	parse := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"rate":            parse(quantity.ParseBitRate("much")),
		"rate in no unit": parse(quantity.ParseBitRate("40")),
		"duration":        parse(quantity.ParsePicoseconds("1 h")),
		"weight":          parse(quantity.ParseWeight("abc")),
		"number":          parse(quantity.WeightFromFloat(0)),
		"decimals":        parse(quantity.WeightFromFloat(1.0005)),
		"range":           quantity.Weight(0).Validate(),
	} {
		if got := OfError(err); got.IsVerbatim() || got.String() != err.Error() {
			t.Errorf("%s: the sentence %s is %q, the error %q", name, got.ID, got, err)
		}
	}
}

// inner puts its text before that of another error, as some libraries do.
type inner struct{ error }

func (e inner) Error() string { return "it: " + e.error.Error() + "!" }
func (e inner) Unwrap() error { return e.error }

func TestErrorsKeepTheSentencesThatTheyWrap(t *testing.T) {
	t.Parallel()
	turns, pinned := Because(fs.ErrNotExist, Of("plan.sl-pinned")), &Error{Text: Ports.Of(2)}
	for name, c := range map[string]struct {
		err  error
		want string // in another language
	}{
		"a sentence":               {turns, "zo gewild"},
		"none":                     {fs.ErrNotExist, "file does not exist"},
		"wrapped without words":    {inner2{turns}, "zo gewild"},
		"behind a label":           {fmt.Errorf("a.yaml:3: %w", turns), "a.yaml:3: zo gewild"},
		"before other words":       {fmt.Errorf("%w (%d)", turns, 3), "zo gewild (3)"},
		"between words":            {inner{turns}, "it: zo gewild!"},
		"a label that is one":      {fmt.Errorf("%w: %w", pinned, turns), "2 poorten: zo gewild"},
		"two of them":              {fmt.Errorf("%w beside %w", turns, pinned), "zo gewild beside 2 poorten"},
		"joined":                   {errors.Join(turns, fs.ErrNotExist, pinned), "zo gewild / file does not exist / 2 poorten"},
		"joined without a word":    {errors.Join(fs.ErrNotExist, fs.ErrExist), "file does not exist; file already exists"},
		"joined behind a label":    {fmt.Errorf("a: %w", errors.Join(turns, pinned)), "a: zo gewild / 2 poorten"},
		"its text does not repeat": {silent{turns}, "no more"},
	} {
		got := OfError(c.err)
		if got.In(dutch) != c.want {
			t.Errorf("%s: got %q, want %q", name, got.In(dutch), c.want)
		}
	}
}

type inner2 struct{ error }

func (e inner2) Unwrap() error { return e.error }

type silent struct{ error }

func (silent) Error() string   { return "no more" }
func (e silent) Unwrap() error { return e.error }
