package phrase

// Noun is the id of what is counted; its template has the number n.
type Noun string

// Of is the phrase for n of them.
func (w Noun) Of(n int) Text { return Of(string(w), "n", n) }

// Nouns that more than one package counts.
const (
	Ports    Noun = "count.port"
	Switches Noun = "count.switch"
)
