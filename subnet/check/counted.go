package check

import "fairlane/internal/phrase"

// What findings count.
var (
	countPlace   = phrase.NewNoun(phrase.Of("1 place"), func(n int) phrase.Text { return phrase.Of("{} places", n) })
	countHost    = phrase.NewNoun(phrase.Of("1 host"), func(n int) phrase.Text { return phrase.Of("{} hosts", n) })
	countAdapter = phrase.NewNoun(phrase.Of("1 channel adapter"), func(n int) phrase.Text { return phrase.Of("{} channel adapters", n) })
	countLID     = phrase.NewNoun(phrase.Of("1 LID"), func(n int) phrase.Text { return phrase.Of("{} LIDs", n) })
)
