package cmdline

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestLineOfJSONErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"{\n\"a\": 1,\n\"a\" 2}", ":3"},
		{"{\n\"a\": \"one\"\n}\n", ":2"},
		{"{\n\"a\": 1,\n", ":2"}, // truncated
		{"", ""},                 // no line
		{"{\n\"b\": 1}", ""},     // the decoder names the field but not its position
	} {
		d := json.NewDecoder(strings.NewReader(c.text))
		d.DisallowUnknownFields()
		var to struct{ A int }
		err := d.Decode(&to)
		if err == nil {
			t.Fatalf("%q was decoded", c.text)
		}
		if got := JSONLine([]byte(c.text), err); got != c.want {
			t.Errorf("%q: %v: at %q, want %q", c.text, err, got, c.want)
		}
	}
}
