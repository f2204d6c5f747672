package phrase

// Names lists the first names of n, at most most, and counts the rest. names may omit those that are not listed.
func Names(names []string, n, most int) Text {
	names = names[:min(len(names), most)]
	return withRest(names, n-len(names))
}

// First is Names for items whose text depends on the language.
func First(things Commas, n, most int) Text {
	things = things[:min(len(things), most)]
	return withRest(things, n-len(things))
}

func withRest(list any, more int) Text {
	if more > 0 {
		return Of("list.more", "list", list, "more", more)
	}
	return Of("list.whole", "list", list)
}

// English returns each sentence in English.
func English(texts []Text) []string {
	var out []string
	for _, t := range texts {
		out = append(out, t.String())
	}
	return out
}
