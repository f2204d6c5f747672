package store

import (
	"encoding/json"

	"fairlane/internal/phrase"
)

// A text has two columns: its English, for people who read the database and for rows older than message ids, and the
// localisable text.

// phraseColumn returns the column of a text; nil for an empty one.
func phraseColumn(t phrase.Text) *string {
	if t.ID == "" {
		return nil
	}
	return new(t.Canonical())
}

// said returns a text. Without its own column it is the English one.
func said(english string, column *string) phrase.Text {
	if column != nil {
		var t phrase.Text
		if err := json.Unmarshal([]byte(*column), &t); err == nil && t.ID != "" {
			return t
		}
	}
	return phrase.Or(english, nil)
}
