package phrase

// Noun has the words for one and for several of a kind: in some languages they differ.
type Noun struct {
	one     Text
	several func(n int) Text
}

// NewNoun takes the words for one, and those for several.
func NewNoun(one Text, several func(n int) Text) Noun { return Noun{one, several} }

// Of tells that there are n.
func (w Noun) Of(n int) Text {
	if n == 1 {
		return w.one
	}
	return w.several(n)
}

// Nouns that more than one package counts.
var (
	Ports    = NewNoun(Of("1 port"), func(n int) Text { return Of("{} ports", n) })
	Switches = NewNoun(Of("1 switch"), func(n int) Text { return Of("{} switches", n) })
)
