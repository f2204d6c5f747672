package phrase

// Noun is the id of a counted noun; its template has the number n.
type Noun string

// Of returns the phrase for n items.
func (w Noun) Of(n int) Text { return Of(string(w), "n", n) }

// Nouns used by more than one package.
const (
	Ports    Noun = "count.port"
	Switches Noun = "count.switch"
)
