package phrase

import "strings"

// Names tells the first few of n names, most at the most, and how many there are besides. names may leave out what is not told.
func Names(names []string, n, most int) Text {
	names = names[:min(len(names), most)]
	return withRest(strings.Join(names, ", "), n-len(names))
}

// First is Names of what has to be told in the reader's language.
func First(things Commas, n, most int) Text {
	things = things[:min(len(things), most)]
	return withRest(things, n-len(things))
}

func withRest(list any, more int) Text {
	if more > 0 {
		return Of("{} and {} more", list, more)
	}
	return Of("{}", list)
}

// English has each sentence in English.
func English(texts []Text) []string {
	var out []string
	for _, t := range texts {
		out = append(out, t.String())
	}
	return out
}
