package store

import (
	"encoding/json"

	"fairlane/internal/phrase"
)

// A sentence has two columns: its English, for people who look into the database and for rows from before message ids, and the sentence itself.

// putSaid is the column of a sentence; nil for none.
func putSaid(t phrase.Text) *string {
	if t.ID == "" {
		return nil
	}
	return new(t.Canonical())
}

// said reads a sentence. Without a column of its own it is its English.
func said(english string, column *string) phrase.Text {
	if column != nil {
		var t phrase.Text
		if err := json.Unmarshal([]byte(*column), &t); err == nil && t.ID != "" {
			return t
		}
	}
	return phrase.Or(english, nil)
}
