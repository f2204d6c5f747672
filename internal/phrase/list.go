package phrase

import "strings"

// Names lists the first names of n, most at the most, and counts the rest. names may leave out what is not listed.
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

// Meant adds to a refusal what a mistyped name may have meant; nothing when near is empty.
func Meant(refused Text, near string) Text {
	if near == "" {
		return refused
	}
	return Of("did-you-mean", "text", refused, "near", strings.Split(near, ", "))
}
