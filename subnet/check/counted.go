package check

import "fairlane/internal/phrase"

// Units that findings count.
var (
	countPlace   = phrase.Noun("count.place")
	countHost    = phrase.Noun("count.host")
	countAdapter = phrase.Noun("count.channel-adapter")
	countLID     = phrase.Noun("count.lid")
)
