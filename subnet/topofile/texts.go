package topofile

import (
	"strconv"
	"strings"

	"fairlane/internal/phrase"
)

// Texts for a missing value and for an excess value.
var (
	none = phrase.Of("topofile.none")
	more = phrase.Of("topofile.more")
)

// Quoted returns a value of a file in quotes, truncated for messages.
func Quoted(s string) phrase.Text {
	if len(s) > maxFound {
		s = s[:maxFound] + "..."
	}
	return phrase.Verbatim(strconv.Quote(s))
}

// fault returns a text as an error.
func fault(said phrase.Text) error { return &phrase.Error{Text: said} }

// fieldText returns the name of a place in a file. Keys are the same in every language; words are translated.
func fieldText(field string) phrase.Text {
	if name, ok := strings.CutPrefix(field, "unknown key in "); ok {
		return phrase.Of("topofile.unknown-key", "where", fieldText(name))
	}
	if name, ok := strings.CutPrefix(field, "repeated key in "); ok {
		return phrase.Of("topofile.key-again", "where", fieldText(name))
	}
	if name, ok := strings.CutPrefix(field, "column "); ok {
		return phrase.Of("topofile.column", "name", name)
	}
	return word(field)
}

func word(field string) phrase.Text {
	switch field {
	case "file size":
		return phrase.Of("topofile.file-size")
	case "file":
		return phrase.Of("topofile.file")
	case "line":
		return phrase.Of("topofile.whole-line")
	case "node":
		return phrase.Of("topofile.node")
	case "node id":
		return phrase.Of("topofile.node-id")
	case "link":
		return phrase.Of("topofile.link")
	case "port number":
		return phrase.Of("topofile.port-number")
	case "repeated port number":
		return phrase.Of("topofile.port-number-again")
	case "number of ports":
		return phrase.Of("topofile.port-count")
	case "remote node":
		return phrase.Of("topofile.remote-node")
	case "remote port":
		return phrase.Of("topofile.remote-port")
	case "remote alias":
		return phrase.Of("topofile.remote-alias")
	case "alias":
		return phrase.Of("topofile.alias")
	case "port GUID":
		return phrase.Of("topofile.port-guid")
	case "port GUID of the remote":
		return phrase.Of("topofile.remote-guid")
	case "link option":
		return phrase.Of("topofile.link-option")
	case "link options":
		return phrase.Of("topofile.link-options")
	case "link width and speed":
		return phrase.Of("topofile.link-width-speed")
	case "w (enabled widths)":
		return phrase.Of("topofile.enabled-widths")
	case "s (enabled speeds)":
		return phrase.Of("topofile.enabled-speeds")
	case "remote lid":
		return phrase.Of("topofile.remote-lid")
	case "v (VL code)":
		return phrase.Of("topofile.vl-code")
	case "header":
		return phrase.Of("topofile.table-header")
	}
	return phrase.Verbatim(field)
}
